"""Limits of a mean by betting: as written out by hand, right at all times together, and lawful."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn.errors import SettingsError
from assistlearn.evaluation.pilots import BETS, HALVINGS, ConfidenceSequence, log_capital

EXACT = 2.0**-HALVINGS
values = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)
alphas = st.floats(0.01, 0.5)


def capital_by_hand(seen: list[float], candidate: float) -> float:
    """What a capital of 1 becomes: an equal part of it on each bet, one value after the other."""
    parts = []
    for bet in BETS:
        capital = 1 / len(BETS)
        for x in seen:
            capital *= 1 + bet / candidate * (x - candidate)
        parts.append(capital)
    return math.fsum(parts)


def limits_by_hand(seen: list[float], alpha: float, candidates: np.ndarray) -> tuple[float, float]:
    """The candidates that no look after any value has left out, by going through all of them."""
    kept = []
    for m in candidates:
        stays = True
        for n in range(1, len(seen) + 1):
            above = capital_by_hand(seen[:n], m)
            below = capital_by_hand([1 - x for x in seen[:n]], 1 - m)
            stays &= above < 2 / alpha and below < 2 / alpha
        if stays:
            kept.append(m)
    return min(kept), max(kept)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_limits_are_those_of_the_game_written_out(alpha):
    rng = np.random.default_rng(1)
    seen = rng.choice([0.5, 1.0, 0.0, 0.62], p=[0.6, 0.2, 0.05, 0.15], size=16).tolist()
    sequence = ConfidenceSequence(alpha)
    for x in seen:
        sequence.hear(np.array([x]))
    candidates = np.arange(1, 150) / 150
    lower, upper = limits_by_hand(seen, alpha, candidates)
    assert lower - 1 / 150 <= sequence.limits.lower <= lower
    assert upper <= sequence.limits.upper <= upper + 1 / 150


@given(values, st.floats(0.01, 1.0))
def test_the_capital_is_that_of_the_game_written_out(seen, candidate):
    ours = log_capital(np.array(seen), np.ones(len(seen)), candidate)
    np.testing.assert_allclose(ours, math.log(capital_by_hand(seen, candidate)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("draw", ["differences", "uniform", "rare"])
def test_few_sequences_ever_leave_the_true_mean_out_however_often_one_looks(draw):
    """Looked at after every value of 1,000. At 20 %, so that too many would show: three standard errors are 0.07."""
    rng, n_sequences, alpha = np.random.default_rng(2), 300, 0.2
    draws = {
        "differences": (lambda n: rng.choice([0.0, 0.5, 1.0], p=[0.05, 0.9, 0.05], size=n), 0.5),
        "uniform": (lambda n: rng.random(n), 0.5),
        "rare": (lambda n: (rng.random(n) < 0.02).astype(float), 0.02),
    }
    drawn, mean = draws[draw]
    missed = 0
    for _ in range(n_sequences):
        x = drawn(1000)
        missed += any(_ever(side, m) >= 2 / alpha for side, m in ((x, mean), (1 - x, 1 - mean)))
    assert missed / n_sequences <= alpha + 0.07


def _ever(x: np.ndarray, mean: float) -> float:
    """The largest capital on the way, against the true mean."""
    grown = np.cumsum(np.log(1 - BETS + np.outer(x / mean, BETS)), axis=0)
    return float(np.exp(grown).mean(axis=1).max())


@given(st.lists(values, min_size=1, max_size=6), alphas)
def test_limits_only_ever_close_in(blocks, alpha):
    sequence = ConfidenceSequence(alpha)
    before = sequence.limits
    for block in blocks:
        after = sequence.hear(np.array(block))
        assert before.lower <= after.lower
        assert after.upper <= before.upper
        before = after


@given(values, alphas)
def test_the_limits_of_the_mirror_image_are_the_mirror_image_of_the_limits(seen, alpha):
    x = np.array(seen)
    here, there = ConfidenceSequence(alpha).hear(x), ConfidenceSequence(alpha).hear(1 - x)
    np.testing.assert_allclose((here.lower, here.upper), (1 - there.upper, 1 - there.lower), atol=4 * EXACT)


@given(values, alphas, st.floats(-5.0, 5.0), st.floats(0.1, 8.0))
def test_moved_and_stretched_values_have_moved_and_stretched_limits(seen, alpha, low, width):
    x = np.array(seen)
    plain = ConfidenceSequence(alpha).hear(x)
    moved = ConfidenceSequence(alpha, low, low + width).hear(np.clip(low + width * x, low, low + width))
    np.testing.assert_allclose(moved, low + width * np.array(plain), atol=1e-6)


@given(values, alphas, st.randoms(use_true_random=False))
def test_the_order_of_the_values_does_not_matter(seen, alpha, chance):
    shuffled = chance.sample(seen, len(seen))
    first, second = ConfidenceSequence(alpha).hear(np.array(seen)), ConfidenceSequence(alpha).hear(np.array(shuffled))
    np.testing.assert_allclose(first, second, atol=1e-9)


@given(values, alphas)
def test_less_risk_takes_a_wider_interval(seen, alpha):
    x = np.array(seen)
    wide, close = ConfidenceSequence(alpha / 2).hear(x), ConfidenceSequence(alpha).hear(x)
    assert wide.lower <= close.lower + EXACT
    assert close.upper <= wide.upper + EXACT


@given(values, alphas)
def test_the_mean_of_the_values_is_never_left_out_at_the_first_look(seen, alpha):
    sequence = ConfidenceSequence(alpha)
    lower, upper = sequence.hear(np.array(seen))
    assert sequence.n == len(seen)
    assert lower - 1e-12 <= sequence.mean <= upper + 1e-12


@settings(max_examples=5)
@given(st.sampled_from([-1.001, 1.5, math.nan, math.inf]))
def test_values_outside_of_their_range_are_refused(value):
    with pytest.raises(SettingsError, match=r"between -1\.0 and 1\.0"):
        ConfidenceSequence(0.05, -1.0, 1.0).hear(np.array([0.0, value]))


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, math.nan])
def test_a_risk_that_is_none_is_refused(alpha):
    with pytest.raises(SettingsError, match="alpha"):
        ConfidenceSequence(alpha)
