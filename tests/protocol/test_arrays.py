"""Arrays arrive as they left, in few bytes, and whatever else arrives is refused before it costs anything."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from assistlearn.errors import ProtocolError
from assistlearn.protocol import encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import (
    MAX_CLASSES,
    Bits,
    ClassCodes,
    Levels,
    Numbers,
    pack_bits,
    pack_codes,
    pack_levels,
    pack_numbers,
    plain_levels,
    unpack_bits,
    unpack_codes,
    unpack_levels,
    unpack_numbers,
)
from tests.protocol.strategies import booleans


def entropy(values: np.ndarray) -> float:
    """Bits of information in values drawn one by one with their own shares."""
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return float(-len(values) * np.sum(shares * np.log2(shares)))


def turn_taken(reward: Bits | Levels) -> bytes:
    return encode(
        m.TurnTaken(run="r" * 80, turn=123_456, reward=reward, model_weight=1.5, mean_reward=0.9, perfect=False)
    )


# -- booleans --


@given(booleans())
def test_booleans_arrive_as_they_left(values):
    np.testing.assert_array_equal(unpack_bits(pack_bits(values), len(values)), values)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 64, 999])
@pytest.mark.parametrize("value", [False, True])
def test_equal_booleans_arrive_as_they_left(n, value):
    values = np.full(n, value)
    np.testing.assert_array_equal(unpack_bits(pack_bits(values), n), values)


def test_both_codings_are_used():
    rng = np.random.default_rng(0)
    assert pack_bits(rng.random(1_000) < 0.5).coding == "raw"
    assert pack_bits(rng.random(1_000) < 0.05).coding == "range"


SHARES = [0.0, 0.00001, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.48, 0.5, 0.52, 0.7, 0.95, 0.999, 1.0]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("n", [100_000, 1_000_003])
def test_a_reward_costs_at_most_its_entropy_and_five_per_cent(n, share):
    """The whole message has at most 1.05 bits per sample, and its data at most the entropy, 5 % and one word."""
    values = np.random.default_rng(1).random(n) < share
    packed = pack_bits(values)
    message = turn_taken(packed)
    assert 8 * len(message) <= 1.05 * n
    assert 8 * len(packed.data) <= 1.05 * entropy(values) + 32
    assert len(message) - len(packed.data) <= 160


@pytest.mark.parametrize("share", [share for share in SHARES if 0.1 <= share <= 0.9])
def test_header_and_all_a_reward_costs_its_entropy_and_five_per_cent(share):
    values = np.random.default_rng(2).random(100_000) < share
    assert 8 * len(turn_taken(pack_bits(values))) <= 1.05 * entropy(values)


# -- class codes --


@given(st.sampled_from([2, 3, 10, 255, 256, 257, 1_000, 65_535, MAX_CLASSES]), st.integers(0, 300), st.integers(0))
def test_class_codes_arrive_as_they_left(n_classes, n, seed):
    codes = np.random.default_rng(seed).integers(0, n_classes, n)
    packed = pack_codes(codes, n_classes)
    assert len(packed.data) <= n * (1 if n_classes <= 256 else 2)
    np.testing.assert_array_equal(unpack_codes(packed, n, n_classes), codes)


@pytest.mark.parametrize("n_classes", [2, 3, 6, 26])
@pytest.mark.parametrize("n", [100, 1_000, 100_000])
def test_labels_cost_their_entropy_and_some_bits_for_each_class_that_is_learned(n, n_classes):
    shares = np.random.default_rng(n_classes).dirichlet(np.ones(n_classes))
    codes = np.random.default_rng(8).choice(n_classes, n, p=shares)
    packed = pack_codes(codes, n_classes)
    assert 8 * len(packed.data) <= 1.01 * entropy(codes) + n_classes * math.log2(n) + 64


def test_codes_of_few_samples_or_very_many_classes_are_not_coded():
    assert not pack_codes(np.array([1]), 2).coded
    assert not pack_codes(np.zeros(1_000, int), 257).coded
    for hostile in (ClassCodes(0, 3, True, b""), ClassCodes(9, 257, True, b""), ClassCodes(9, 1, True, b"")):
        with pytest.raises(ProtocolError, match="not entropy-coded"):
            unpack_codes(hostile, hostile.n, hostile.n_classes)


def test_more_classes_than_two_bytes_can_tell_are_refused():
    with pytest.raises(ProtocolError, match="65537 classes"):
        pack_codes(np.zeros(3, np.int64), MAX_CLASSES + 1)


def test_a_class_code_beyond_the_classes_is_refused():
    with pytest.raises(ProtocolError, match=r"A class code is 3, but there are 3 classes \(0 to 2\)"):
        unpack_codes(ClassCodes(2, 3, False, bytes([0, 3])), 2, 3)


# -- numbers --


@given(npst.arrays(np.float64, st.integers(0, 50), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_arrive_to_the_bit(values):
    assert unpack_numbers(pack_numbers(values), len(values)).tobytes() == values.tobytes()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    packed = pack_numbers(np.array([1.0, bad, 2.0]))
    with pytest.raises(ProtocolError, match=r"1 of 3 numbers are not finite \(first at 1\)"):
        unpack_numbers(packed, 3)


# -- what is refused --

GOOD = {
    "bits": pack_bits(np.arange(100) % 3 == 0),
    "coded bits": pack_bits(np.arange(1_000) == 17),
    "equal bits": pack_bits(np.ones(1_000, bool)),
    "codes": pack_codes(np.array([2, 0, 1]), 3),
    "coded codes": pack_codes(np.arange(100) % 3, 3),
    "many codes": pack_codes(np.arange(100) % 300, 300),
    "numbers": pack_numbers(np.arange(10.0)),
    "2 bits": plain_levels(np.arange(-1, 2), 2, 0.5),
    "3 bits": plain_levels(np.arange(-3, 4), 3, 0.5),
    "4 bits": plain_levels(np.arange(-7, 8), 4, 0.5),
    "8 bits": plain_levels(np.arange(-127, 128), 8, 0.5),
    "coded levels": pack_levels(np.arange(3_000) % 5 - 2, 8, 0.5),
    "16 bits": pack_levels(np.arange(-300, 300), 16, 0.5),
    "32 bits": pack_levels(np.arange(-300, 300), 32, 0.5),
}


def unpack(array: Bits | ClassCodes | Numbers | Levels, like: Bits | ClassCodes | Numbers | Levels) -> object:
    """Unpack an array as a receiver would that expects one like the other."""
    match like:
        case Bits():
            return unpack_bits(array, like.n)
        case ClassCodes():
            return unpack_codes(array, like.n, like.n_classes)
        case Numbers():
            return unpack_numbers(array, like.n)
        case Levels():
            return unpack_levels(array, like.n, like.bits)


def changed(array, **fields):
    return type(array)(**{name: getattr(array, name) for name in array.__struct_fields__} | fields)


@pytest.mark.parametrize("name", GOOD)
def test_what_is_good_is_accepted(name):
    unpack(GOOD[name], GOOD[name])


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("n", [-1, 0, 1, 2**31, 2**63, 2**64 - 1])
def test_another_number_of_values_is_refused(name, n):
    with pytest.raises(ProtocolError, match="Expected"):
        unpack(changed(GOOD[name], n=n), GOOD[name])


def is_coded(array: Bits | ClassCodes | Numbers | Levels) -> bool:
    return getattr(array, "coded", False) or getattr(array, "coding", "raw") == "range"


@pytest.mark.parametrize("name", GOOD)
def test_data_cut_short_or_prolonged_are_refused(name):
    """An entropy coder cannot tell one word too many or too few; more it can."""
    good = GOOD[name]
    changes = [good.data[:-1], good.data[:-4], b"", good.data + b"\0", good.data + bytes(12), good.data * 4]
    for data in changes[-2:] if is_coded(good) else changes:
        with pytest.raises(ProtocolError):
            unpack(changed(good, data=data or b"more than nothing"), good)


@pytest.mark.parametrize("name", ["bits", "coded bits", "equal bits"])
@pytest.mark.parametrize("ones", [-1, 5, 1_001, 2**40])
def test_a_wrong_number_of_ones_is_refused(name, ones):
    with pytest.raises(ProtocolError):
        unpack(changed(GOOD[name], ones=ones), GOOD[name])


@pytest.mark.parametrize("name", ["4 bits", "8 bits", "coded levels", "16 bits", "32 bits"])
@pytest.mark.parametrize("scale", [math.nan, math.inf, -math.inf, -0.5])
def test_a_scale_that_cannot_be_is_refused(name, scale):
    with pytest.raises(ProtocolError, match="scale"):
        unpack(changed(GOOD[name], scale=scale), GOOD[name])


@pytest.mark.parametrize("name", ["2 bits", "3 bits", "4 bits", "8 bits", "16 bits", "32 bits"])
def test_the_lowest_level_of_all_which_nobody_uses_is_refused(name):
    good = GOOD[name]
    data = b"\0" * len(good.data) if good.bits < 8 else (b"\0" * (good.bits // 8 - 1) + b"\x80") * good.n
    with pytest.raises(ProtocolError, match="outside"):
        unpack(changed(good, data=data), good)


@pytest.mark.parametrize("name", ["4 bits", "8 bits", "coded levels", "16 bits", "32 bits"])
@pytest.mark.parametrize("bits", [-1, 0, 7, 64])
def test_another_number_of_bits_is_refused(name, bits):
    with pytest.raises(ProtocolError):
        unpack(changed(GOOD[name], bits=bits), GOOD[name])


def test_bits_beyond_the_last_must_be_zero():
    for padded in (
        changed(GOOD["bits"], data=GOOD["bits"].data[:-1] + b"\x0f"),
        changed(GOOD["2 bits"], data=b"\xff"),
        changed(GOOD["3 bits"], data=b"\xff" * 3),
        changed(GOOD["4 bits"], data=b"\xff" * 8),
    ):
        with pytest.raises(ProtocolError, match="not zero"):
            unpack(padded, padded)


@settings(max_examples=300)
@given(st.data())
def test_hostile_entropy_coded_bits_are_refused_or_read_but_never_break_the_reader(data):
    n = data.draw(st.integers(0, 5_000))
    ones = data.draw(st.sampled_from([0, 1, n // 2, n - 1, n]) | st.integers(0, max(n, 1)))
    words = data.draw(st.lists(st.integers(0, 2**32 - 1) | st.sampled_from([0, 2**32 - 1, 2**31]), max_size=40))
    hostile = Bits(n, ones, "range", np.array(words, "<u4").tobytes())
    try:
        values = unpack_bits(hostile, n)
    except ProtocolError:
        return
    assert len(values) == n
    assert int(values.sum()) == ones


@settings(max_examples=200)
@given(st.data())
def test_hostile_entropy_coded_class_codes_are_refused_or_read_but_never_break_the_reader(data):
    n, n_classes = data.draw(st.integers(0, 3_000)), data.draw(st.integers(0, 300))
    words = data.draw(st.lists(st.integers(0, 2**32 - 1) | st.sampled_from([0, 2**32 - 1]), max_size=40))
    try:
        values = unpack_codes(ClassCodes(n, n_classes, True, np.array(words, "<u4").tobytes()), n, n_classes)
    except ProtocolError:
        return
    assert len(values) == n
    assert 0 <= values.min() <= values.max() < n_classes


NEEDS_BYTES = [name for name, good in GOOD.items() if not (isinstance(good, Bits) or is_coded(good))]


@pytest.mark.parametrize(
    ("name", "shared"), [*((name, False) for name in GOOD), *((name, True) for name in NEEDS_BYTES)]
)
def test_a_claim_of_many_values_costs_no_memory_even_if_the_receiver_shares_it(name, shared):
    """Two thousand million values are claimed in a few bytes; less than 100 kB are used to find that out."""
    hostile = changed(GOOD[name], n=2**31)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            unpack(hostile, hostile if shared else GOOD[name])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000
