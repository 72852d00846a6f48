"""The ignorance stays a distribution, whatever happens to it and for however long."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.core import State
from tests.core import paper
from tests.core.strategies import Problem, problems


def assert_distribution(ignorance: np.ndarray) -> None:
    assert np.isfinite(ignorance).all()
    assert (ignorance >= 0).all()
    assert ignorance.sum() == pytest.approx(1.0, abs=1e-12)


def test_it_starts_uniform():
    assert np.array_equal(State.start(4, 2).ignorance(), np.full(4, 0.25))


@given(st.lists(st.floats(0.0, 1e12), min_size=1, max_size=30).filter(lambda w: sum(w) > 1e-6))
def test_it_starts_in_proportion_to_the_initial_weights(weights: list[float]):
    w = np.array(weights)
    ignorance = State.start(len(w), 2, w).ignorance()
    assert_distribution(ignorance)
    np.testing.assert_allclose(ignorance, w / w.sum(), rtol=1e-10, atol=1e-300)


@given(problems(min_models=1, max_models=6, mixed=False), st.lists(st.floats(0.001, 10.0), min_size=6, max_size=6))
def test_an_update_is_equations_10_and_12(problem: Problem, model_weights: list[float]):
    state = State.start(len(problem.labels), problem.n_classes, problem.start)
    expected = problem.start / problem.start.sum()
    for reward, model_weight in zip(problem.rewards, model_weights, strict=False):
        state.apply(reward, model_weight)
        expected = paper.updated(expected, reward, model_weight)
        np.testing.assert_allclose(state.ignorance(), expected, rtol=1e-10, atol=1e-15)


def test_two_parties_that_apply_the_same_rewards_hold_the_same_bits():
    rng = np.random.RandomState(0)
    rewards = rng.rand(300, 1000) < 0.7
    here, there = (State.start(1000, 3) for _ in range(2))
    for turn, reward in enumerate(rewards):
        if turn % 3 == 0:
            here.begin_round()
            there.begin_round()
        weight = here.judge(reward).model_weight
        assert there.judge(reward).model_weight == weight
        here.apply(reward, weight)
        there.apply(np.unpackbits(np.packbits(reward), count=1000).astype(bool), weight)
    assert here.ignorance().tobytes() == there.ignorance().tobytes()


def test_a_state_that_is_restored_goes_on_to_the_same_bits():
    rng = np.random.RandomState(0)
    state, other = State.start(50, 3), State.start(50, 3)
    state.apply(rng.rand(50) < 0.6, 0.8)
    other.restore([None if vector is None else vector.copy() for vector in state.vectors()])
    reward = rng.rand(50) < 0.6
    assert other.judge(reward) == state.judge(reward)
    for replica in (state, other):
        replica.apply(reward, 0.5)
        replica.begin_round()
    assert other.judge(~reward) == state.judge(~reward)
    assert other.ignorance().tobytes() == state.ignorance().tobytes()


def random_rewards(rng: np.random.RandomState, n: int, turn: int) -> np.ndarray:
    return rng.rand(n) < rng.rand()


def opposite_rewards(rng: np.random.RandomState, n: int, turn: int) -> np.ndarray:
    """The second agent is right exactly where the first is wrong: ASCII's weights double in every round (K = 2)."""
    right = np.arange(n) < 0.6 * n
    return right if turn % 2 == 0 else ~right


def one_stubborn_sample(rng: np.random.RandomState, n: int, turn: int) -> np.ndarray:
    return np.arange(n) != 0


def always_perfect(rng: np.random.RandomState, n: int, turn: int) -> np.ndarray:
    return np.ones(n, dtype=bool)


def right_on_one_sample_in_turn(rng: np.random.RandomState, n: int, turn: int) -> np.ndarray:
    return np.arange(n) == turn % n


@pytest.mark.parametrize(("interchange", "n_classes"), [(True, 2), (True, 200), (False, 3)])
@pytest.mark.parametrize(
    "rewards", [random_rewards, opposite_rewards, one_stubborn_sample, always_perfect, right_on_one_sample_in_turn]
)
def test_ten_thousand_rounds_keep_it_a_distribution(rewards, interchange: bool, n_classes: int):
    """Also when useless models are applied all the same: the arithmetic must not depend on who sits out."""
    n, n_agents = 20, 2
    rng = np.random.RandomState(0)
    state = State.start(n, n_classes, interchange=interchange)
    for turn in range(10_000 * n_agents):
        if turn % n_agents == 0:
            state.begin_round()
        reward = rewards(rng, n, turn)
        verdict = state.judge(reward)
        assert np.isfinite(verdict.model_weight)
        assert 0.0 <= verdict.mean_reward <= 1.0 + 1e-12
        if not verdict.useless:
            state.apply(reward, verdict.model_weight)
        if turn % 97 == 0:
            assert_distribution(state.ignorance())
    assert_distribution(state.ignorance())


def test_a_round_of_very_many_agents_keeps_it_a_distribution():
    """Within one round of ASCII the errors of all earlier agents multiply."""
    state = State.start(10, 2)
    state.begin_round()
    for turn in range(3000):
        reward = opposite_rewards(np.random.RandomState(0), 10, turn)
        verdict = state.judge(reward)
        if not verdict.useless:
            state.apply(reward, verdict.model_weight)
        assert_distribution(state.ignorance())


def test_a_model_that_is_right_only_where_ignorance_has_underflowed_is_judged_by_its_logarithm():
    state = State.start(2, 2)
    state.apply(np.array([True, False]), 2000.0)
    assert state.ignorance().tolist() == [0.0, 1.0]
    state.begin_round()
    right_on_the_second = np.array([False, True])
    assert state.judge(right_on_the_second).model_weight == pytest.approx(2000.0)
    assert not state.judge(right_on_the_second).perfect
    assert state.judge(~right_on_the_second).useless


def test_ten_thousand_rounds_lose_no_precision_worth_speaking_of():
    """Against the same updates summed exactly: only differences of log-ignorance count."""
    rng = np.random.RandomState(1)
    state = State.start(50, 3, interchange=False)
    errors = np.zeros(50)
    weights = []
    for _ in range(10_000):
        reward = rng.rand(50) < 0.6
        weight = state.judge(reward).model_weight
        if weight > 0:
            state.apply(reward, weight)
            weights.append((weight, ~reward))
    for weight, wrong in reversed(weights):  # in the other order
        errors += weight * wrong
    np.testing.assert_allclose(state.log_ignorance - state.log_ignorance[0], errors - errors[0], atol=1e-8)
