import hashlib

from hypothesis import given
from hypothesis import strategies as st

from assistlearn.alignment import Ids
from assistlearn.alignment.ids import digests, key_check, key_from

SECRET = b"sixteen bytes or more"
TOKEN = bytes(range(16))


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=10))
def test_a_digest_is_keyed_blake2b_of_the_normalised_text(values):
    values = [f"p{value}p" for value in dict.fromkeys(values)]
    texts = Ids([value for value in values if values.count(value) == 1]).texts.to_list()
    key = key_from(SECRET, TOKEN)
    expected = [hashlib.blake2b(text.encode(), key=key, digest_size=16, person=b"id").digest() for text in texts]
    assert [row.tobytes() for row in digests(Ids(texts), key)] == expected


def test_digests_depend_on_the_secret_and_on_the_alignment():
    ids = Ids(["p-17"])
    keys = [key_from(SECRET, TOKEN), key_from(SECRET + b"!", TOKEN), key_from(SECRET, bytes(16))]
    assert len({digests(ids, key).tobytes() for key in keys}) == 3
    assert len({key_check(key) for key in keys}) == 3


def test_the_check_of_a_secret_is_not_the_digest_of_an_id():
    key = key_from(SECRET, TOKEN)
    state = hashlib.blake2b(key=key, digest_size=16, person=b"id").digest()  # as if an id were the empty text
    assert key_check(key) != state


def test_a_secret_may_be_longer_than_a_key_of_blake2b():
    assert key_from(bytes(1000), TOKEN) != key_from(bytes(1001), TOKEN)
