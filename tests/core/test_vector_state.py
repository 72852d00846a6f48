"""With more than two classes the state is the vote itself: no kept turn raises its loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from assistlearn.core import SoftState, votes
from assistlearn.core.ignorance import perfect_model_weight
from assistlearn.core.quantise import ScoreVectors, largest_level, quantise, quantise_vectors, right
from assistlearn.core.state import in_order, truth_first
from assistlearn.core.votes import confidences, heights

LOSSES = ["logistic", "exponential"]


@st.composite
def rewards(draw: st.DrawFn, n: int, n_classes: int, bits: int = 4) -> ScoreVectors:
    """What models say about ``n`` samples, sensible or not."""
    most = largest_level(bits)
    levels = draw(npst.arrays(np.int8, (n, n_classes), elements=st.integers(-most, most)))
    return ScoreVectors(levels, draw(st.floats(0.01, 1.0)), bits)


@st.composite
def told(draw: st.DrawFn) -> tuple[SoftState, list[ScoreVectors]]:
    n, n_classes = draw(st.integers(1, 12)), draw(st.integers(3, 6))
    weights = draw(st.none() | npst.arrays(np.float64, n, elements=st.just(0.0) | st.floats(1e-9, 3.0)).filter(np.any))
    shrinkage = draw(st.floats(0.05, 1.0))
    state = SoftState.start(n, n_classes, weights, loss=draw(st.sampled_from(LOSSES)), shrinkage=shrinkage)
    return state, draw(st.lists(rewards(n, n_classes), min_size=1, max_size=5))


def naive_loss(state: SoftState) -> float:
    """Written out: the log loss of the softmax, or the exponential one, averaged by the initial weights."""
    scale = (state.n_classes - 1) / state.n_classes
    if state.loss == "logistic":
        losses = -np.log(softmax(scale * state.votes, axis=1)[:, 0])
    else:
        losses = np.exp(-scale * state.votes[:, 0])
    return float(np.average(losses, weights=None if state.log_start is None else np.exp(state.log_start)))


@given(told())
def test_no_kept_turn_raises_the_loss_of_the_vote(case):
    state, said = case
    for reward in said:
        before, verdict = naive_loss(state), state.judge(reward)
        assert verdict.model_weight >= 0.0
        state.apply(reward, verdict.model_weight)
        after = naive_loss(state)
        assert after <= before * (1 + 1e-9) + 1e-12
        assert before - after == pytest.approx(verdict.gain, abs=1e-9 * max(before, 1.0))


@given(told())
def test_the_weight_without_shrinkage_is_where_the_loss_is_lowest(case):
    state, said = case
    state.shrinkage = 1.0
    best = state.judge(said[0]).model_weight
    start, values = state.votes.copy(), said[0].values()

    def loss(weight: float) -> float:
        state.votes = start + weight * values
        return naive_loss(state)

    counting = len(start) if state.log_start is None else int(np.isfinite(state.log_start).sum())
    cap = perfect_model_weight(counting, state.n_classes) / max(np.abs(values).max(), 1e-12)
    found = minimize_scalar(loss, bounds=(0.0, cap), method="bounded")
    assert 0.0 <= best <= cap
    assert loss(best) <= min(found.fun, loss(0.0), loss(cap)) + 1e-7 * max(1.0, found.fun)


@pytest.mark.parametrize("loss", LOSSES)
def test_ignorance_is_what_the_loss_still_wants(loss):
    rng = np.random.RandomState(0)
    state = SoftState(rng.normal(size=(50, 4)), 4, None, loss, 0.5)
    scale = 3 / 4
    naive = {
        "logistic": 1 - softmax(scale * state.votes, axis=1)[:, 0],
        "exponential": np.exp(-scale * state.votes[:, 0]),
    }[loss]
    np.testing.assert_allclose(state.ignorance(), naive / naive.sum(), rtol=1e-12)


def test_a_very_sure_vote_leaves_ignorance_that_is_small_but_not_nothing():
    state = SoftState(np.array([[800.0, -400.0, -400.0], [0.0, 0.0, 0.0]]), 3, None, "logistic", 0.5)
    ignorance = state.ignorance()
    assert 0.0 <= ignorance[0] < 1e-300
    assert ignorance[1] == 1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_with_two_classes_it_would_be_the_state_of_one_number(loss):
    rng = np.random.RandomState(1)
    p, codes = rng.dirichlet((1, 1), size=200), rng.randint(2, size=200)
    pairs = SoftState(np.zeros((200, 2)), 2, None, loss, 0.5)
    single = SoftState.start(200, 2, loss=loss, shrinkage=0.5)
    said = confidences(p, 2)[np.arange(200), codes]
    one = single.judge(quantise(said, 32))
    two = pairs.judge(quantise_vectors(truth_first(heights(p, 2), codes), 32))
    assert two.model_weight == pytest.approx(one.model_weight, rel=1e-6)
    assert (two.gain, two.mean_reward) == pytest.approx((one.gain, one.mean_reward), rel=1e-6)


@given(st.integers(3, 7), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_rows_with_the_truth_first_come_back_in_order(n_classes, n, seed):
    rng = np.random.default_rng(seed)
    vectors, codes = rng.normal(size=(n, n_classes)), rng.integers(n_classes, size=n)
    turned = truth_first(vectors, codes)
    np.testing.assert_array_equal(turned[:, 0], vectors[np.arange(n), codes])
    np.testing.assert_array_equal(in_order(turned, codes), vectors)


@pytest.mark.parametrize("bits", [2, 3, 4, 8, 16, 32])
def test_levels_stand_for_the_votes_within_half_a_level(bits):
    p = np.random.RandomState(2).dirichlet((0.3,) * 5, size=300)
    said = quantise_vectors(heights(p, 5), bits)
    assert np.abs(said.values() - confidences(p, 5)).max() <= said.scale * 5 / 4 * (1 + 1e-9)
    np.testing.assert_allclose(said.values().sum(axis=1), 0.0, atol=1e-9)
    assert said.levels.min() == -largest_level(bits)
    assert said.levels.max() == largest_level(bits)


def test_classes_that_are_ruled_out_share_the_lowest_level():
    p = np.array([[0.97, 0.009, 0.02, 0.001], [0.5, 0.5, 0.0, 0.0]])
    np.testing.assert_array_equal(quantise_vectors(heights(p, 4), 4).levels == -7, p < 0.012)


def test_an_agent_says_nothing_about_samples_that_it_does_not_hold():
    held = np.array([True, False, True])
    said = quantise_vectors(heights(np.array([[0.9, 0.05, 0.05], [0.2, 0.2, 0.6]]), 3), 4, held)
    assert not said.levels[1].any()
    assert not said.values()[1].any()
    state = SoftState.start(3, 3, loss="logistic", shrinkage=1.0)
    verdict = state.judge(said, held=held)
    assert verdict.mean_reward == 0.5
    before = state.ignorance()
    state.apply(said, verdict.model_weight)
    assert state.ignorance()[0] < before[0]


def test_a_model_is_right_where_no_other_class_is_as_high():
    said = ScoreVectors(np.array([[3, 2, 1], [3, 3, 1], [1, 2, 3]], np.int8), 1.0, 4)
    assert right(said).tolist() == [True, False, False]


def test_a_model_that_says_the_same_of_all_and_is_right_is_perfect():
    same = ScoreVectors(np.tile(np.array([[7, -7, 0]], np.int8), (5, 1)), 0.5, 4)
    other = ScoreVectors(np.vstack([same.levels[:4], [[7, -7, 1]]]).astype(np.int8), 0.5, 4)
    state = SoftState.start(5, 3, loss="logistic", shrinkage=1.0)
    assert state.judge(same).perfect
    assert not state.judge(other).perfect


def test_the_vote_of_the_state_is_the_vote_at_prediction():
    p, codes = np.random.RandomState(3).dirichlet((1,) * 4, size=100), np.random.RandomState(4).randint(4, size=100)
    said = quantise_vectors(truth_first(heights(p, 4), codes), 32)
    np.testing.assert_allclose(votes.probabilities(in_order(said.values(), codes)), softmax_of_clipped(p), atol=1e-6)


def softmax_of_clipped(p: np.ndarray) -> np.ndarray:
    kept = np.maximum(p, 0.01)
    return kept / kept.sum(axis=1, keepdims=True)
