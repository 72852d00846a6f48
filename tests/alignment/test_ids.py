"""Ids: one rule for all, ids of several columns, digests under a secret, and which codes match."""

import datetime
import decimal
import hashlib
import unicodedata

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assistlearn.alignment import Ids, join_ids, normalise, normalise_one, split_ids
from assistlearn.alignment.ids import (
    BLANKS,
    codes_from,
    digests,
    key_check,
    key_from,
    pack,
    positions,
    refuse_repeated,
    unpack,
)
from assistlearn.errors import AlignmentError, IdsError

texts = st.text(st.characters(codec="utf-8"), max_size=12)
wholes = st.integers(-(2**53), 2**53)
good_values = st.one_of(
    texts.filter(lambda text: text.strip(BLANKS)),
    wholes,
    wholes.map(float),
    wholes.map(decimal.Decimal),
    st.dates(),
)


def texts_of(values):
    return normalise(values).to_list()


@given(good_values)
def test_an_id_that_was_normalised_stays_as_it_is(value):
    once = normalise_one(value)
    assert normalise_one(once) == once


@given(st.lists(good_values, min_size=1, max_size=30))
def test_a_mixed_column_is_normalised_value_by_value(values):
    assert texts_of(values) == [normalise_one(value) for value in values]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pl.Series, st.lists(texts.filter(lambda text: text.strip(BLANKS)), min_size=1)),
        (pl.Series, st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1)),
        (pl.Series, st.lists(wholes.map(float), min_size=1)),
        (pl.Series, st.lists(st.dates(), min_size=1)),
        (np.array, st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1)),
        (np.array, st.lists(wholes.map(float), min_size=1)),
        (pd.Series, st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1)),
        (pd.Series, st.lists(texts.filter(lambda text: text.strip(BLANKS)), min_size=1)),
    ],
)
@given(data=st.data())
def test_a_typed_column_gives_what_its_values_give_one_by_one(column, values, data):
    values = data.draw(values)
    assert texts_of(column(values)) == [normalise_one(value) for value in values]


@given(st.decimals(-(10**12), 10**12, places=0), st.integers(0, 6))
def test_a_whole_decimal_is_the_integer_whatever_its_scale(number, scale):
    column = pl.Series([number], dtype=pl.Decimal(38, scale))
    assert texts_of(column) == [str(int(number))]


@given(st.lists(st.integers(), unique=True, min_size=2))
def test_different_integers_stay_different(numbers):
    assert len(set(texts_of(numbers))) == len(numbers)


@given(texts, texts)
def test_texts_are_the_same_id_only_if_blanks_and_unicode_form_alone_differ(one, other):
    assume(one.strip(BLANKS) and other.strip(BLANKS))
    composed = [unicodedata.normalize("NFC", text) for text in (one, other)]
    without_blanks = [text.strip(BLANKS) for text in composed]
    assert (normalise_one(one) == normalise_one(other)) == (without_blanks[0] == without_blanks[1])


@given(wholes, st.text(BLANKS, max_size=3), st.text(BLANKS, max_size=3))
def test_an_integer_a_float_and_text_with_blanks_around_it_are_the_same_id(number, before, after):
    expected = [str(number)]
    assert texts_of([f"{before}{number}{after}"]) == expected
    assert texts_of(pl.Series([f"{before}{number}{after}"])) == expected
    assert texts_of(np.array([number])) == expected
    assert texts_of(np.array([float(number)])) == expected


def test_leading_zeros_case_signs_and_inner_blanks_mean_something():
    values = ["17", "0017", "+17", "17.5", "1 7", "p-17", "P-17"]
    assert texts_of(values) == values


@pytest.mark.parametrize("make", [list, pl.Series, lambda values: np.array(values, dtype=object)])
def test_a_fraction_of_zeros_means_nothing_in_text_either(make):
    written = {"17.0": "17", "-3.00": "-3", "0017.0": "0017", "1.0e3": "1.0e3", "p.0": "p.0", "1.0.0": "1.0.0"}
    assert texts_of(make([*written])) == [*written.values()]


def test_negative_zero_is_zero():
    assert texts_of(np.array([-0.0])) == ["0"]
    assert texts_of([-0.0, decimal.Decimal("-0")]) == ["0", "0"]


def test_composed_and_decomposed_letters_are_the_same_id():
    assert texts_of(["caf\u00e9"]) == texts_of(["cafe\u0301"]) == texts_of(pl.Series(["cafe\u0301 "]))


def test_a_categorical_column_is_its_text():
    assert texts_of(pl.Series(["b ", "a"], dtype=pl.Categorical)) == ["b", "a"]
    assert texts_of(pd.Series(["b ", "a"], dtype="category")) == ["b", "a"]


def test_integers_beyond_64_bits_keep_all_digits():
    assert texts_of([2**70 + 1]) == [str(2**70 + 1)]
    assert texts_of(pl.Series([2**100 + 1], dtype=pl.Int128)) == [str(2**100 + 1)]


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 2],
        ["a", "", "b"],
        ["a", " \t", "b"],
        pl.Series(["a", None, "\u3000"]),
        pl.Series(["a", "\ufeff"]),
        np.array([1.0, np.nan]),
        pl.Series([1.0, None]),
        pl.Series([None, None]),
        pl.Series([datetime.date(2024, 1, 1), None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None]),
        np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
    ],
)
def test_missing_ids_are_refused(values):
    with pytest.raises(IdsError, match=r"Agent 'lab': \d of \d ids are missing or blank \(first in row"):
        Ids(values, owner="Agent 'lab'")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([1.0, 2.5, 3.5]), r"row 2 has id 2\.5, which is not a whole number\. 2 rows"),
        ([1.0, 2.5], r"row 2 has id 2\.5, which is not a whole number"),
        (pl.Series([decimal.Decimal("1.50")]), r"not a whole number"),
        (np.array([1.0, np.inf]), r"row 2 has id inf, which is not a whole number"),
        (np.array([2.0**53 + 2]), r"float beyond 9,007,199,254,740,992"),
        (np.array([2.0**24 + 2], dtype=np.float32), r"float beyond 16,777,216"),
        ([np.float32(2.0**24 + 2)], r"float beyond 16,777,216"),
        (np.array([True]), r"which is a truth value"),
        ([False], r"which is a truth value"),
        (pl.Series([True]), r"type Boolean"),
        ([b"17"], r"type bytes"),
        (pl.Series([b"17"]), r"type Binary"),
        ([datetime.datetime(2024, 1, 1)], r"type datetime"),
        (pl.Series([datetime.datetime(2024, 1, 1)]), r"type Datetime"),
        (pd.to_datetime(pd.Series(["2024-01-01"])), r"type Timestamp"),
        (np.array(["2024-01-01"], dtype="datetime64[ns]"), r"type datetime64"),
        (np.array([3], dtype="timedelta64[ns]"), r"type timedelta64"),
        ([[1]], r"type list"),
        (np.array([[1, 2]]), r"one dimension, not 2"),
        ("abc", r"a column of values, not str"),
        (17, r"a column of values, not int"),
        (["\ud800"], r"not valid Unicode"),
        (np.array(["\ud800"]), r"not valid Unicode"),
        ([], r"no ids"),
        (pl.Series([]), r"no ids"),
        (pl.Series([], dtype=pl.String), r"no ids"),
        (np.array([], dtype=np.int64), r"no ids"),
    ],
)
def test_what_cannot_be_an_id_is_refused_with_its_row_and_reason(values, message):
    with pytest.raises(IdsError, match=message):
        Ids(values)


def test_duplicates_after_normalisation_are_counted_and_the_first_few_shown():
    values = ["a", "b", "17", "c", " b", "a\t", 17, "d", "d", "e", "a"]
    with pytest.raises(IdsError) as caught:
        Ids(values, owner="Agent 'lab', column 'patient'")
    message = str(caught.value)
    assert message.startswith("Agent 'lab', column 'patient': 4 ids occur more than once (first: ")
    assert "'a' in rows 1, 6 and 11, 'b' in rows 2 and 5, '17' in rows 3 and 7)" in message
    assert "'d'" not in message


def test_many_rows_of_one_id_are_not_all_listed():
    with pytest.raises(IdsError, match=r"1 id occurs more than once \(first: '5' in rows 1, 2, 3, \.\.\.\)"):
        Ids([5] * 1000)


def test_ids_do_not_show_in_a_repr():
    assert "p-17" not in repr(Ids(["p-17"]))


PART = st.text(st.sampled_from("ab|\\/,"), min_size=1, max_size=4)
ROWS = st.lists(st.tuples(PART, PART, PART), min_size=1, max_size=20)


@given(ROWS)
def test_the_parts_come_back_as_they_were(rows):
    columns = [pl.Series(name, values) for name, values in zip("xyz", zip(*rows, strict=True), strict=True)]
    assert [part.to_list() for part in split_ids(join_ids(columns), "xyz")] == [part.to_list() for part in columns]


@given(ROWS)
def test_different_people_have_different_ids(rows):
    columns = [pl.Series(values) for values in zip(*rows, strict=True)]
    assert join_ids(columns).n_unique() == len(set(rows))


def test_parts_are_written_by_the_one_rule():
    csv = join_ids([pl.Series(["FR ", "DE"]), pl.Series(["17.0", "007"]), pl.Series(["2024-02-29", "2000-01-01"])])
    typed = pl.DataFrame({"date": ["2024-02-29", "2000-01-01"]}).select(pl.col("date").str.to_date())["date"]
    parquet = join_ids([pl.Series(["FR", "DE"]), pl.Series([17.0, 7.0]), typed])
    assert csv.to_list() == ["FR|17|2024-02-29", "DE|007|2000-01-01"]
    assert parquet.to_list() == ["FR|17|2024-02-29", "DE|7|2000-01-01"]


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


widths = st.sampled_from([1, 7, 8, 16, 33])


@given(widths, st.data())
def test_positions_are_those_that_list_index_finds(width, data):
    codes = st.lists(st.binary(min_size=width, max_size=width), unique=True, min_size=1, max_size=20)
    pool = data.draw(codes)
    wanted = data.draw(st.lists(st.sampled_from(pool), unique=True))
    among = data.draw(st.lists(st.sampled_from(pool), unique=True))
    found = positions(codes_from(b"".join(wanted), width, "codes"), codes_from(b"".join(among), width, "codes"))
    assert found.tolist() == [among.index(code) if code in among else -1 for code in wanted]


def test_codes_that_differ_in_their_last_byte_alone_are_different():
    for width in (16, 33):
        codes = codes_from(bytes(width) + bytes(width - 1) + b"\x01", width, "codes")
        refuse_repeated(codes, "codes")
        assert positions(codes, codes[::-1]).tolist() == [1, 0]


@given(st.lists(st.binary(min_size=4, max_size=4), min_size=1, max_size=20))
def test_repeated_codes_are_refused_exactly_when_there_are_some(codes):
    joined = codes_from(b"".join(codes), 4, "codes")
    if len(set(codes)) == len(codes):
        refuse_repeated(joined, "codes")
    else:
        with pytest.raises(AlignmentError, match=rf"{len(codes) - len(set(codes))} of {len(codes)} codes are repeated"):
            refuse_repeated(joined, "codes")


def test_bytes_that_are_no_whole_number_of_codes_are_refused():
    with pytest.raises(AlignmentError, match=r"digests have 17 bytes in all, which is not a multiple of 16"):
        codes_from(bytes(17), 16, "digests")


@given(st.lists(st.booleans(), max_size=40))
def test_flags_survive_packing(flags):
    packed = pack(np.array(flags, dtype=bool))
    assert len(packed) == -(-len(flags) // 8)
    assert unpack(packed, len(flags), "flags").tolist() == flags


def test_bits_of_the_wrong_number_are_refused():
    with pytest.raises(AlignmentError, match=r"flags have 2 bytes; 8 samples need 1"):
        unpack(bytes(2), 8, "flags")
    with pytest.raises(AlignmentError, match=r"more than 3 samples"):
        unpack(b"\xff", 3, "flags")
