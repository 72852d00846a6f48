"""The arithmetic of the soft interchange, against scipy, AdaBoost's rules and itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from assistlearn.core import SoftReward, SoftState, State, votes
from assistlearn.core.loss import LOSSES, best_weight
from assistlearn.core.quantise import DTYPES, largest_level, quantise, quantise_vectors, right
from assistlearn.core.state import truth_first
from assistlearn.core.votes import LEAST, confidences, heights, score_of_truth


def soft_state(n_samples: int, n_classes: int) -> SoftState:
    return SoftState.start(n_samples, n_classes, loss="logistic", shrinkage=0.5)


def said_of(answers, codes, n_classes: int, bits: int = 8) -> SoftReward:
    """Return the reward of a model that answers with labels."""
    if n_classes == 2:
        return quantise(score_of_truth(answers, codes, 2), bits)
    return quantise_vectors(truth_first(heights(answers, n_classes), codes), bits)


@st.composite
def situations(draw: st.DrawFn):
    """Votes so far, what a model says, and initial weights; with two classes."""
    n, rng = draw(st.integers(2, 30)), np.random.RandomState(draw(st.integers(0, 10_000)))
    return rng.normal(0, 2, n), rng.normal(0.3, 1.5, n), rng.uniform(0.1, 2, n)


@pytest.mark.parametrize("loss", LOSSES)
@given(situations())
def test_the_model_weight_minimises_the_loss(loss: str, case):
    scores, said, start = case
    cap = 8.0
    found = best_weight(LOSSES[loss], np.log(start), scores, said, cap)

    def total(weight: float) -> float:  # written out, not by the code under test
        f = scores + weight * said
        if loss == "exponential":
            return float((start * np.exp(-f / 2)).sum())
        return float((start * np.log1p(np.exp(-f))).sum())

    best = minimize_scalar(total, bounds=(0, cap), method="bounded", options={"xatol": 1e-10})
    assert total(found) <= min(best.fun, total(0.0), total(cap)) * (1 + 1e-9)
    assert 0 <= found <= cap


@pytest.mark.parametrize("loss", LOSSES)
@given(situations())
def test_ignorance_is_minus_the_slope_of_the_loss(loss: str, case):
    scores, _, _ = case
    step = 1e-5
    slope = (LOSSES[loss].value(scores + step) - LOSSES[loss].value(scores - step)) / (2 * step)
    weights = np.exp(LOSSES[loss].log_ignorance(scores))
    np.testing.assert_allclose(weights / weights.sum(), slope / slope.sum(), rtol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("bits", [8, 32])
def test_labels_under_the_exponential_loss_are_ascii_simple(n_classes: int, bits: int):
    """A hard vote is a soft one: same model weights, same ignorance, turn by turn."""
    rng = np.random.RandomState(n_classes)
    n = 200
    labels = rng.randint(n_classes, size=n)
    soft = SoftState.start(n, n_classes, loss="exponential", shrinkage=1.0)
    hard = State.start(n, n_classes, interchange=False)
    for _ in range(5):
        answers = np.where(rng.rand(n) < 0.6, labels, rng.randint(n_classes, size=n))
        reward = said_of(answers, labels, n_classes, bits)
        one, other = soft.judge(reward), hard.judge(answers == labels)
        assert one.model_weight == pytest.approx(other.model_weight, rel=1e-6)
        assert one.mean_reward == pytest.approx(other.mean_reward, rel=1e-6)
        soft.apply(reward, one.model_weight)
        hard.apply(answers == labels, other.model_weight)
        np.testing.assert_allclose(soft.ignorance(), hard.ignorance(), rtol=1e-5)


def test_a_perfect_label_vote_has_the_capped_weight_of_the_hard_methods():
    labels = np.array([0, 1, 2, 1])
    soft, hard = SoftState.start(4, 3, loss="exponential", shrinkage=1.0), State.start(4, 3)
    verdict = soft.judge(said_of(labels, labels, 3))
    expected = hard.judge(np.ones(4, dtype=bool))
    assert verdict.perfect
    assert expected.perfect
    assert verdict.model_weight == pytest.approx(expected.model_weight)


@given(st.integers(2, 8), st.integers(0, 1000))
def test_a_vote_of_weight_one_stands_for_the_probabilities_themselves(n_classes: int, seed: int):
    p = np.random.RandomState(seed).dirichlet(np.ones(n_classes), size=20)
    p = np.maximum(p, LEAST)
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(votes.probabilities(confidences(p, n_classes)), np.maximum(p, LEAST), atol=0.005)


@given(st.integers(0, 1000))
def test_for_two_classes_what_is_said_is_the_vote_for_the_truth(seed: int):
    rng = np.random.RandomState(seed)
    p = rng.dirichlet(np.ones(2), size=20)
    codes = rng.randint(2, size=20)
    vote = confidences(p, 2)[np.arange(20), codes]
    np.testing.assert_allclose(score_of_truth(p, codes, 2), vote, atol=1e-12)


def test_certainty_is_clipped():
    said = score_of_truth(np.array([[1.0, 0.0]]), np.array([1]), 2)
    assert np.isfinite(said).all()
    assert said[0] == pytest.approx(-math.log(1 / LEAST), rel=0.01)


@given(st.sampled_from(sorted(DTYPES)), st.integers(0, 1000))
def test_quantised_scores_are_off_by_half_a_level_at_most(bits: int, seed: int):
    values = np.random.RandomState(seed).normal(0, 3, 50)
    said = quantise(values, bits)
    assert said.levels.dtype == DTYPES[bits]
    assert np.abs(said.levels).max() == largest_level(bits)
    assert np.abs(said.values() - values).max() <= said.scale / 2 * (1 + 1e-9)
    assert np.array_equal(right(said), said.levels > 0)


@pytest.mark.parametrize("loss", LOSSES)
@given(situations(), st.lists(st.floats(0.01, 2.0), min_size=1, max_size=5))
def test_a_state_is_rebuilt_to_the_bit_from_levels_scale_and_weight(loss: str, case, weights):
    _, said, start = case
    first = SoftState.start(len(said), 2, start, loss=loss, shrinkage=0.5)
    again = SoftState.start(len(said), 2, start, loss=loss, shrinkage=0.5)
    for number, weight in enumerate(weights):
        reward = quantise(np.roll(said, number), 8)
        first.apply(reward, weight)
        travelled = type(reward)(np.frombuffer(reward.levels.tobytes(), dtype=np.int8), float(repr(reward.scale)), 8)
        again.apply(travelled, weight)
    assert first.ignorance().tobytes() == again.ignorance().tobytes()


@pytest.mark.parametrize("make", [soft_state, State.start])
def test_samples_that_an_agent_does_not_hold_change_nothing_in_its_verdict(make):
    rng = np.random.RandomState(0)
    labels = rng.randint(3, size=60)
    answers = np.where(rng.rand(60) < 0.7, labels, (labels + 1) % 3)
    held = rng.rand(60) < 0.5

    def reward(answers, labels, state):
        if isinstance(state, State):
            return answers == labels
        return said_of(answers, labels, 3)

    small = make(int(held.sum()), 3)
    of_held = small.judge(reward(answers[held], labels[held], small))
    whole = make(60, 3)
    full = reward(answers, labels, whole)
    if isinstance(whole, State):
        full = full | ~held
    else:
        full = type(full)(np.where(held[:, np.newaxis], full.levels, 0).astype(np.int8), full.scale, full.bits)
    verdict = whole.judge(full, held=held)
    assert verdict.model_weight == pytest.approx(of_held.model_weight, rel=1e-9)
    assert verdict.mean_reward == pytest.approx(of_held.mean_reward, rel=1e-9)
    before = whole.ignorance()
    whole.apply(full, verdict.model_weight)
    outside = whole.ignorance()[~held] / before[~held]
    np.testing.assert_allclose(outside, outside[0])


def test_an_agent_that_holds_nothing_is_useless():
    state = soft_state(3, 2)
    assert state.judge(quantise(np.zeros(3), 8), held=np.zeros(3, dtype=bool)).useless


def test_a_model_that_is_more_often_wrong_than_right_is_useless():
    state = soft_state(4, 2)
    assert state.judge(quantise(np.array([1.0, -1.0, -1.0, -1.0]), 8)).useless


def test_under_the_logistic_loss_a_hopeless_sample_matters_at_most_twice_as_much_as_an_undecided_one():
    shares = {}
    for loss in LOSSES:
        state = SoftState.start(100, 2, loss=loss, shrinkage=0.5)
        for _ in range(30):
            state.apply(quantise(np.r_[-1.0, np.zeros(99)], 8), 1.0)
        shares[loss] = state.ignorance()[0]
    assert shares["logistic"] == pytest.approx(1 / (1 + 99 / 2))
    assert shares["exponential"] > 0.99
