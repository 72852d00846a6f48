"""The soft state against scipy, AdaBoost's rules and itself, with two classes and more; and the levels it hears."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from assistlearn.core import SoftReward, SoftState, State, votes
from assistlearn.core.ignorance import LOSSES, best_weight, perfect_model_weight
from assistlearn.core.state import (
    DTYPES,
    ScoreVectors,
    in_order,
    largest_level,
    quantise,
    quantise_all_spoken,
    quantise_vectors,
    right,
    truth_first,
)
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


def test_samples_that_an_agent_does_not_hold_change_nothing_in_its_verdict():
    rng = np.random.RandomState(0)
    labels = rng.randint(3, size=60)
    answers = np.where(rng.rand(60) < 0.7, labels, (labels + 1) % 3)
    held = rng.rand(60) < 0.5

    of_held = soft_state(int(held.sum()), 3).judge(said_of(answers[held], labels[held], 3))
    whole, full = soft_state(60, 3), said_of(answers, labels, 3)
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
    state = SoftState.start(n, n_classes, weights, loss=draw(st.sampled_from(sorted(LOSSES))), shrinkage=shrinkage)
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


SCORES = npst.arrays(np.float64, st.integers(1, 40), elements=st.floats(-5.0, 5.0, allow_subnormal=False))


@given(values=SCORES, bits=st.sampled_from((2, 3, 4, 8)))
def test_every_spoken_score_has_a_level_of_its_own_sign_within_one_of_it(values, bits):
    said = quantise_all_spoken(values, bits)
    assert (said.levels != 0).all()
    assert np.abs(said.levels).max() <= largest_level(bits)
    assert ((said.levels > 0) == (values >= 0.0)).all()
    told = np.abs(values) <= said.scale * largest_level(bits) * (
        1 + 1e-9
    )  # the others are told as loud as the loudest level
    assert (np.abs(said.values() - values)[told] <= said.scale * (1 + 1e-6)).all()
    assert np.count_nonzero(~told) <= max(1, 0.01 * len(values))


@given(values=SCORES, bits=st.sampled_from((2, 4)))
def test_levels_keep_the_order_of_scores(values, bits):
    order = np.argsort(values)
    assert (np.diff(quantise_all_spoken(values, bits).levels[order]) >= 0).all()


def test_only_samples_that_an_agent_does_not_hold_have_the_level_zero():
    held = np.array([True, False, True, True])
    said = quantise_all_spoken(np.array([0.0, 3.0, -3.0]), 4, held)
    assert (said.levels == 0).tolist() == [False, True, False, False]
