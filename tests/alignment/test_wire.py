"""Bytes that came in: only the expected message is accepted, and only an AlignmentError is raised."""

import contextlib
import struct
import tracemalloc

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn.alignment import roles
from assistlearn.alignment.ids import key_check, key_from
from assistlearn.errors import AlignmentError
from tests.alignment.agents import SECRET, by_hash, by_psi

TOKEN = bytes(range(16))
KINDS = [roles.HashRequest, roles.HashAnswer, roles.PsiRequest, roles.PsiAnswer, roles.SampleOrder, roles.Confirmation]
kinds = pytest.mark.parametrize("kind", KINDS)
ways = pytest.mark.parametrize("way", [by_hash, by_psi])

# A change of these bytes needs another version.
VERSION_1 = {
    roles.HashRequest(TOKEN, b"same", b"digests"): (
        "414c474e0184a474797065ab4861736852657175657374a5746f6b656ec410000102030405060708090a0b0c0d0e0f"
        "ab73616d655f736563726574c40473616d65a764696765737473c40764696765737473"
    ),
    roles.HashAnswer(TOKEN, b"held"): (
        "414c474e0183a474797065aa48617368416e73776572a5746f6b656ec410000102030405060708090a0b0c0d0e0fa4"
        "68656c64c40468656c64"
    ),
    roles.PsiRequest(TOKEN, b"points"): (
        "414c474e0183a474797065aa50736952657175657374a5746f6b656ec410000102030405060708090a0b0c0d0e0fa6"
        "706f696e7473c406706f696e7473"
    ),
    roles.PsiAnswer(TOKEN, b"own", b"both"): (
        "414c474e0184a474797065a9507369416e73776572a5746f6b656ec410000102030405060708090a0b0c0d0e0fa36f"
        "776ec4036f776ea4626f7468c404626f7468"
    ),
    roles.SampleOrder(TOKEN, b"key", b"digest", b"samples"): (
        "414c474e0185a474797065a54f72646572a5746f6b656ec410000102030405060708090a0b0c0d0e0fa36b6579c403"
        "6b6579a6646967657374c406646967657374a773616d706c6573c40773616d706c6573"
    ),
    roles.Confirmation(TOKEN, b"digest"): (
        "414c474e0183a474797065ac436f6e6669726d6174696f6ea5746f6b656ec410000102030405060708090a0b0c0d0e"
        "0fa6646967657374c406646967657374"
    ),
}


@given(st.sampled_from(KINDS), st.binary(max_size=300))
def test_random_bytes_are_refused(kind, data):
    for bytes_ in (data, roles.MARK + data, roles.MARK + bytes([roles.VERSION]) + data):
        with pytest.raises(AlignmentError, match=kind.__name__):
            roles.decode(bytes_, kind, limit=1_000)


@given(
    st.sampled_from(KINDS),
    st.recursive(st.none() | st.integers(-5, 5) | st.binary(max_size=40) | st.text(max_size=5), st.lists),
)
def test_well_formed_bytes_of_something_else_are_refused(kind, value):
    fields = dict.fromkeys(kind.__struct_fields__, value)
    for body in (value, fields | {"type": kind.__name__, "extra": 1}, fields | {"type": "Other"}):
        with pytest.raises(AlignmentError):
            roles.decode(roles.MARK + bytes([roles.VERSION]) + msgspec.msgpack.encode(body), kind, limit=100_000)


@kinds
def test_every_other_kind_is_refused(kind):
    for other in KINDS:
        data = roles.encode(other(TOKEN, *[b""] * (len(other.__struct_fields__) - 1)))
        if other is kind:
            assert roles.decode(data, kind, limit=100).token == TOKEN
        else:
            with pytest.raises(AlignmentError, match="malformed"):
                roles.decode(data, kind, limit=100)


@pytest.mark.parametrize("data", ["text", None, 17, [1, 2]])
def test_what_is_not_bytes_is_refused(data):
    with pytest.raises(AlignmentError, match="expected bytes"):
        roles.decode(data, roles.HashAnswer, limit=100)


def test_another_version_is_named():
    data = bytearray(roles.encode(roles.HashAnswer(TOKEN, b"")))
    data[4] = 9
    with pytest.raises(AlignmentError, match=r"version 9, but this agent speaks version 1\. Install the same version"):
        roles.decode(bytes(data), roles.HashAnswer, limit=100)


def test_the_size_is_looked_at_before_anything_is_decoded():
    data = roles.encode(roles.HashAnswer(TOKEN, bytes(100_000)))
    with pytest.raises(AlignmentError, match=r"bytes came in, but at most 1,512 are accepted"):
        roles.decode(data, roles.HashAnswer, limit=1_000)
    assert len(roles.decode(data, roles.HashAnswer, limit=100_000).held) == 100_000


def test_a_token_of_another_length_is_refused():
    with pytest.raises(AlignmentError, match="token has 3 bytes, not 16"):
        roles.decode(roles.encode(roles.HashAnswer(b"abc", b"")), roles.HashAnswer, limit=100)


@pytest.mark.parametrize(
    "body",
    [
        b"\x82\xa4type\xaaHashAnswer\xa5token\xc6" + struct.pack(">I", 2**32 - 1),  # says that 4 GiB follow
        b"\xdd" + struct.pack(">I", 2**32 - 1),  # an array of 2**32 - 1 items
        b"\xdf" + struct.pack(">I", 2**32 - 1),  # a map of as many
        b"\x91" * 100_000,  # arrays in arrays
    ],
)
def test_lengths_that_lie_cost_no_memory(body):
    data = roles.MARK + bytes([roles.VERSION]) + body
    tracemalloc.start()
    with pytest.raises(AlignmentError):
        roles.decode(data, roles.HashAnswer, limit=200_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize(("message", "golden"), VERSION_1.items(), ids=lambda value: type(value).__name__)
def test_bytes_of_version_1_stay_what_they_are(message, golden):
    assert roles.encode(message).hex() == golden
    assert roles.decode(bytes.fromhex(golden), type(message), limit=100) == message


def test_there_is_a_golden_message_of_every_kind():
    assert {type(message) for message in VERSION_1} == set(KINDS) == set(roles.AlignmentMessage.__subclasses__())


def exchanges(way):
    """Yield each step as a function of the bytes that come in, with the right bytes."""
    initiator, helper = way(list(range(6)), list(range(4, 9)))
    request = initiator.start()
    yield helper.answer, request
    answer = helper.answer(request)
    yield initiator.finish, answer
    initiator.finish(answer)
    order = initiator.settle()
    yield helper.agree, order
    yield initiator.confirm, helper.agree(order)


@ways
@pytest.mark.parametrize("step", range(4))
@given(data=st.data())
@settings(max_examples=25)
def test_a_step_with_spoiled_bytes_works_or_raises_an_alignment_error(way, step, data):
    take, right = list(exchanges(way))[step]
    at = data.draw(st.integers(0, len(right) - 1))
    spoiled = data.draw(
        st.one_of(
            st.just(right[:at]),
            st.just(right + right[at:]),
            st.just(right[:at] + right[at + 1 :]),
            st.integers(0, 255).map(lambda byte: right[:at] + bytes([byte]) + right[at + 1 :]),
            st.binary(max_size=20).map(lambda piece: right[:at] + piece + right[at + len(piece) :]),
        )
    )
    with contextlib.suppress(AlignmentError):
        take(spoiled)
    take(right)  # whatever came before, the right bytes are taken


SAME_SECRET = key_check(key_from(SECRET, TOKEN))


@pytest.mark.parametrize(
    ("way", "empty"), [(by_hash, roles.HashRequest(TOKEN, SAME_SECRET, b"")), (by_psi, roles.PsiRequest(TOKEN, b""))]
)
def test_a_request_without_ids_is_refused(way, empty):
    _, helper = way([1], [1])
    with pytest.raises(AlignmentError, match=r"no digests|There are 0"):
        helper.answer(roles.encode(empty))


@ways
def test_an_order_with_a_short_key_is_refused(way):
    initiator, helper = way(list(range(30)), list(range(20, 45)))
    initiator.finish(helper.answer(initiator.start()))
    good = roles.decode(initiator.settle(), roles.SampleOrder, 1_000)
    with pytest.raises(AlignmentError, match="the key has 3 bytes, not 32"):
        helper.agree(roles.encode(roles.SampleOrder(good.token, b"abc", good.digest, good.samples)))


@ways
def test_what_is_exchanged_never_shows_an_id(way):
    ours = [f"patient-{number:012d}" for number in range(30)]
    theirs = [f"patient-{number:012d}" for number in range(20, 45)]
    initiator, helper = way(ours, theirs)
    request = initiator.start()
    answer = helper.answer(request)
    held = initiator.finish(answer)
    order = initiator.settle(held)
    reply = helper.agree(order)
    for data in (request, answer, order, reply):
        assert b"patient" not in data
        assert not [text for text in ours + theirs if text[-6:].encode() in data]


def test_the_fields_of_the_messages_are_these():
    assert {kind.__name__: kind.__struct_fields__ for kind in KINDS} == {
        "HashRequest": ("token", "same_secret", "digests"),
        "HashAnswer": ("token", "held"),
        "PsiRequest": ("token", "points"),
        "PsiAnswer": ("token", "own", "both"),
        "SampleOrder": ("token", "key", "digest", "samples"),
        "Confirmation": ("token", "digest"),
    }


def test_after_psi_an_order_has_four_bytes_for_each_sample_of_the_run_and_none_for_others():
    initiator, helper = by_psi(list(range(30)), list(range(20, 45)))
    held = initiator.finish(helper.answer(initiator.start()))
    order = roles.decode(initiator.settle(held), roles.SampleOrder, 1_000)
    assert len(order.samples) == 4 * 10
    assert (np.frombuffer(order.samples, dtype="<i4") >= 0).all()
