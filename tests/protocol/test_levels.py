"""Levels arrive as they left, in about as few bytes as they tell, and a second, naive reader reads the same."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import constriction
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn.core.state import ScoreVectors, in_order, quantise_vectors, truth_first
from assistlearn.core.votes import heights
from assistlearn.errors import ProtocolError
from assistlearn.protocol.arrays import Levels, pack_bits, pack_levels, plain_levels, unpack_levels
from tests.protocol.strategies import LEVEL_TYPES, SCORE_BITS, level_arrays
from tests.protocol.test_arrays import entropy, turn_taken

FAMILY = constriction.stream.model.Categorical(perfect=False)


def said_by_a_model(n: int, n_classes: int, bits: int, seed: int = 0) -> tuple[ScoreVectors, np.ndarray]:
    """Score vectors of a model that is often right, the truth first, and the labels."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    votes = rng.normal(0, 1.5, (n, n_classes)) + 2.0 * (np.arange(n_classes) == codes[:, np.newaxis])
    probabilities = np.exp(votes) / np.exp(votes).sum(axis=1, keepdims=True)
    return quantise_vectors(truth_first(heights(probabilities, n_classes), codes), bits), codes


# -- there and back --


@pytest.mark.parametrize("bits", SCORE_BITS)
def test_levels_arrive_as_they_left(bits):
    @settings(max_examples=40)
    @given(level_arrays(bits), st.floats(0.0, 1e300))
    def there_and_back(levels, scale):
        again, scale_again = unpack_levels(pack_levels(levels, bits, scale), len(levels), bits)
        assert again.dtype == levels.dtype
        assert scale_again == scale
        np.testing.assert_array_equal(again, levels)

    there_and_back()


@pytest.mark.parametrize("bits", SCORE_BITS)
def test_levels_of_every_class_arrive_as_they_left_with_labels_and_without(bits):
    @settings(max_examples=40, deadline=None)
    @given(level_arrays(bits, 600), st.integers(2, 9), st.floats(0.0, 10.0), st.integers(0), st.booleans())
    def there_and_back(levels, n_classes, scale, seed, labels):
        rows = levels[: len(levels) // n_classes * n_classes].reshape(-1, n_classes)
        truth = np.random.default_rng(seed).integers(0, n_classes, len(rows)) if labels else None
        again, _ = unpack_levels(pack_levels(rows, bits, scale, truth), rows.size, bits, n_classes, truth)
        assert again.dtype == LEVEL_TYPES[bits]
        np.testing.assert_array_equal(again.reshape(rows.shape), rows)

    there_and_back()


@pytest.mark.parametrize("bits", SCORE_BITS)
def test_plain_levels_arrive_as_they_left(bits):
    top = 2 ** (bits - 1) - 1
    for n in range(20):
        levels = np.random.default_rng(n).integers(-top, top, n, endpoint=True)
        packed = plain_levels(levels, bits, 0.5)
        assert len(packed.data) == math.ceil(n * bits / 8)
        np.testing.assert_array_equal(unpack_levels(packed, n, bits)[0], levels)


@pytest.mark.parametrize("n_classes", [3, 26, 200])
def test_many_classes_and_samples_arrive_as_they_left(n_classes):
    said, codes = said_by_a_model(1_000, n_classes, 4)
    packed = pack_levels(said.levels, 4, said.scale, codes)
    again, _ = unpack_levels(packed, said.levels.size, 4, n_classes, codes)
    np.testing.assert_array_equal(again.reshape(said.levels.shape), said.levels)


# -- a naive reader --


def read_naively(packed: Levels, n: int, n_columns: int, truth: np.ndarray) -> list[list[int]]:
    """Read coded scores one by one, class by class, with dictionaries of counts; return them, class by class."""
    n_levels = 2**packed.bits - 1
    decoder = constriction.stream.queue.RangeDecoder(np.frombuffer(packed.data, "<u4").astype(np.uint32))
    worth = [512] + [int(1024 * min(math.exp(level * packed.scale), 100.0)) for level in range(1, n_levels)]
    steps = min(n_levels, 16)
    width = packed.scale * n_levels / steps / 2
    marks = [int(1024 * min(math.exp(step * width), 100.0)) for step in range(2 * steps)]
    rest = [102_400] * n
    before = [0] * n
    counts: dict[tuple, Counter] = defaultdict(Counter)
    columns = []
    for column in range(n_columns):
        left = n_columns - 1 - column
        said: list[int] = []
        while len(said) < n:
            block = range(len(said), min(n, len(said) + max(8, n_columns // 4, len(said) // 4)))
            came = []
            for i in block:
                room = sum(mark < rest[i] for mark in marks)
                room = room if left == 0 else (room + 1) // 2
                true = bool(truth[i] == column)
                keys = (("all", true, room, min(left, 3)), (column, true, room), (column, true, room, before[i]))
                shares = naive_shares([counts[key] for key in keys], n_levels)
                came.append((keys, int(decoder.decode(FAMILY, np.array([shares]))[0])))
            for keys, level in came:
                for key in keys:
                    counts[key][level] += 1
                said.append(level)
        rest = [max(amount - worth[level], 0) for amount, level in zip(rest, said, strict=True)]
        before = [level if n_levels <= 16 else level * 16 // n_levels for level in said]
        columns.append(said)
    return columns


def naive_shares(contexts: list[Counter], n_levels: int) -> list[float]:
    shares = [1.0 / n_levels] * n_levels
    reach = max(n_levels // 16, 1)
    for came in contexts[:2]:
        near = [
            7 * came[level] + sum(came[other] for other in range(n_levels) if abs(other - level) <= reach)
            for level in range(n_levels)
        ]
        trust = 4 * (8 + 2 * reach)
        shares = [(k + trust * share) / (sum(near) + trust) for k, share in zip(near, shares, strict=True)]
    trust = 2 * (len(contexts[2]) + 1)
    total = contexts[2].total() + trust
    return [(contexts[2][level] + trust * shares[level]) / total for level in range(n_levels)]


@pytest.mark.parametrize(("n_classes", "bits"), [(3, 2), (5, 3), (4, 4), (3, 8)])
def test_a_naive_reader_reads_the_same(n_classes, bits):
    said, codes = said_by_a_model(n := 60 if bits == 8 else 120, n_classes, bits)
    packed = pack_levels(said.levels, bits, said.scale, codes)
    assert packed.coded
    columns = read_naively(packed, n, n_classes, codes)
    np.testing.assert_array_equal(np.array(columns).T - (2 ** (bits - 1) - 1), in_order(said.levels, codes))


# -- how many bytes --


@pytest.mark.parametrize("bits", SCORE_BITS)
@pytest.mark.parametrize("spread", [0.01, 0.1, 0.3, 10.0], ids=lambda spread: f"spread={spread}")
def test_a_soft_reward_costs_its_bits_and_an_eightieth_at_the_most(bits, spread):
    """8 bits: at most 8.1 on the wire, headers included; fewer where the levels tell less."""
    top = 2 ** (bits - 1) - 1
    levels = np.clip(np.random.default_rng(3).normal(0, spread * top, 100_000), -top, top).astype(np.int64)
    packed = pack_levels(levels, bits, 0.1)
    message = turn_taken(packed)
    assert 8 * len(message) / len(levels) <= bits * 8.1 / 8
    assert len(message) - len(packed.data) <= 170
    if bits <= 8:
        assert 8 * len(packed.data) <= 1.05 * entropy(levels) + 400


@pytest.mark.parametrize("n", [100, 1_000, 10_000])
def test_coded_levels_cost_their_entropy_and_some_bits_for_each_level_that_is_learned(n):
    levels = np.random.default_rng(6).choice(np.arange(-3, 4), n, p=[0.5, 0.2, 0.1, 0.05, 0.05, 0.05, 0.05])
    packed = pack_levels(levels, 3, 0.1)
    assert 8 * len(packed.data) <= entropy(levels) + 7 * math.log2(n) + 64


def test_the_votes_of_labels_cost_no_more_as_levels_than_as_bits():
    right = np.random.default_rng(5).random(100_000) < 0.8
    as_levels = len(turn_taken(pack_levels(np.where(right, 127, -14), 8, 1 / 127)))
    assert as_levels <= 1.01 * len(turn_taken(pack_bits(right)))


def test_the_last_of_two_sure_classes_costs_next_to_nothing():
    """Three classes, of which one always has nearly all: which one it is makes 1.58 bits."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 3, 5_000)
    probabilities = np.where(rng.integers(0, 3, 5_000)[:, np.newaxis] == np.arange(3), 0.98, 0.01)
    said = quantise_vectors(truth_first(heights(probabilities, 3), codes), 4)
    packed = pack_levels(said.levels, 4, said.scale, codes)
    assert 8 * len(packed.data) <= 1.02 * math.log2(3) * 5_000 + 400


@pytest.mark.parametrize("bits", [3, 4])
def test_labels_make_honest_scores_cheaper(bits):
    said, codes = said_by_a_model(2_000, 6, bits)
    with_labels = len(pack_levels(said.levels, bits, said.scale, codes).data)
    without = len(pack_levels(in_order(said.levels, codes), bits, said.scale).data)
    assert with_labels < without < entropy(said.levels.reshape(-1)) / 8


# -- what is refused --


def test_long_levels_and_no_levels_are_never_entropy_coded():
    for n, bits in ((3, 16), (3, 32), (0, 8)):
        with pytest.raises(ProtocolError, match="not entropy-coded"):
            unpack_levels(Levels(n, bits, 1.0, True, b""), n, bits)


def test_more_coded_bytes_than_the_plain_form_has_are_refused():
    with pytest.raises(ProtocolError, match="8 entropy-coded bytes came for 9 values, but the plain form needs only 5"):
        unpack_levels(Levels(9, 4, 1.0, True, bytes(8)), 9, 4)


def test_other_labels_never_break_the_reader():
    said, codes = said_by_a_model(500, 5, 4)
    packed = pack_levels(said.levels, 4, said.scale, codes)
    try:
        again, _ = unpack_levels(packed, 2_500, 4, 5, np.roll(codes, 1))
    except ProtocolError:
        return
    assert not np.array_equal(again.reshape(500, 5), said.levels)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_hostile_entropy_coded_levels_are_refused_or_read_but_never_break_the_reader(data):
    n, n_scores = data.draw(st.integers(0, 500)), data.draw(st.integers(1, 5))
    words = data.draw(st.lists(st.integers(0, 2**32 - 1) | st.sampled_from([0, 2**32 - 1]), max_size=40))
    bits = data.draw(st.sampled_from([2, 3, 4, 8]))
    scale = data.draw(st.floats(0.0, allow_nan=False, allow_infinity=False))
    truth = data.draw(st.none() | st.just(np.arange(n) % n_scores))
    hostile = Levels(n * n_scores, bits, scale, True, np.array(words, "<u4").tobytes())
    try:
        values, _ = unpack_levels(hostile, n * n_scores, bits, n_scores, truth)
    except ProtocolError:
        return
    assert len(values) == n * n_scores
    assert np.abs(values.astype(int)).max(initial=0) < 2 ** (bits - 1)
