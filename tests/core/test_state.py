"""The ignorance stays a distribution for however long; the model weight is that of the paper's own forms."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assistlearn.core import State
from tests.core import paper
from tests.core.strategies import Problem, problems


def assert_distribution(ignorance: np.ndarray) -> None:
    assert np.isfinite(ignorance).all()
    assert (ignorance >= 0).all()
    assert ignorance.sum() == pytest.approx(1.0, abs=1e-12)


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
def test_two_thousand_rounds_keep_it_a_distribution(rewards, interchange: bool, n_classes: int):
    """Also when useless models are applied all the same: the arithmetic must not depend on who sits out."""
    n, n_agents = 20, 2
    rng = np.random.RandomState(0)
    state = State.start(n, n_classes, interchange=interchange)
    for turn in range(2_000 * n_agents):
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


EXACT = {"rtol": 1e-10, "atol": 1e-10}


@given(problems())
def test_the_first_agents_weight_is_equation_9(problem: Problem):
    state = State.start(len(problem.labels), problem.n_classes, problem.start)
    expected = paper.first_agents_weight(problem.start, problem.rewards[0], problem.n_classes)
    np.testing.assert_allclose(state.judge(problem.rewards[0]).model_weight, expected, **EXACT)


@given(problems(min_models=2, max_models=2))
def test_the_second_agents_weight_is_the_n_ab_form_of_proposition_2(problem: Problem):
    first, second = problem.rewards
    w = problem.start / problem.start.sum()
    first_weight = paper.first_agents_weight(w, first, problem.n_classes)
    w = paper.updated(w, first, first_weight)
    expected = paper.second_agents_weight(w, first_weight, first, second, problem.n_classes)

    state = State.start(len(problem.labels), problem.n_classes, problem.start)
    state.apply(first, state.judge(first).model_weight)
    np.testing.assert_allclose(state.judge(second).model_weight, expected, **EXACT)


@given(problems(min_models=1, max_models=6))
def test_every_agents_weight_is_equation_13_with_its_label_codes(problem: Problem):
    state = State.start(len(problem.labels), problem.n_classes, problem.start)
    w = problem.start / problem.start.sum()
    earlier: list[tuple[float, np.ndarray]] = []
    for answers, reward in zip(problem.answers, problem.rewards, strict=True):
        expected = paper.model_weight_13(w, problem.labels, earlier, answers, problem.n_classes)
        weight = state.judge(reward).model_weight
        np.testing.assert_allclose(weight, expected, **EXACT)
        state.apply(reward, weight)
        w = paper.updated(w, reward, expected)
        earlier.append((expected, answers))
        np.testing.assert_allclose(state.ignorance(), w, **EXACT)


@given(problems(min_models=2, max_models=6))
def test_a_new_round_forgets_the_errors_of_the_last_one(problem: Problem):
    state = State.start(len(problem.labels), problem.n_classes, problem.start)
    for reward in problem.rewards[:-1]:
        state.apply(reward, state.judge(reward).model_weight)
    state.begin_round()
    last = problem.rewards[-1]
    wrong = float(state.ignorance()[~last].sum())
    assume(wrong > 1e-4)  # 1 - mean reward, as the paper's formula has it, is rounded where it is next to nothing
    expected = paper.first_agents_weight(state.ignorance(), last, problem.n_classes)
    np.testing.assert_allclose(state.judge(last).model_weight, expected, **EXACT)


@given(problems(min_models=2, max_models=6))
def test_ascii_simple_looks_at_the_ignorance_alone(problem: Problem):
    state = State.start(len(problem.labels), problem.n_classes, problem.start, interchange=False)
    w = problem.start / problem.start.sum()
    for reward in problem.rewards:
        expected = paper.first_agents_weight(w, reward, problem.n_classes)
        weight = state.judge(reward).model_weight
        np.testing.assert_allclose(weight, expected, **EXACT)
        state.apply(reward, weight)
        w = paper.updated(w, reward, expected)


@given(problems(min_models=1, max_models=4))
def test_ascii_simples_weight_minimises_the_exponential_loss(problem: Problem):
    """The loss along the new model is flat at its weight, up to SAMME's constant factor (K-1)^2 / K."""
    k = problem.n_classes
    state = State.start(len(problem.labels), k, interchange=False)
    scores = np.zeros((len(problem.labels), k))
    codes = np.array([paper.label_code(c, k) for c in range(k)])
    for answers, reward in zip(problem.answers, problem.rewards, strict=True):
        weight = state.judge(reward).model_weight
        state.apply(reward, weight)
        best = weight * (k - 1) ** 2 / k

        def loss(step: float, scores: np.ndarray = scores, answers: np.ndarray = answers) -> float:
            margins = (codes[problem.labels] * (scores + step * codes[answers])).sum(axis=1)
            return float(np.exp(-margins / k).sum())

        assert loss(best) <= min(loss(best - 0.01), loss(best + 0.01))
        scores = scores + best * codes[answers]


@given(st.integers(2, 50), st.integers(1, 30))
def test_a_model_as_good_as_chance_is_useless_and_a_better_one_is_not(n_classes: int, copies: int):
    reward = np.tile(np.arange(n_classes) == 0, copies)  # right on exactly 1 / K
    assert State.start(len(reward), n_classes).judge(reward).useless
    reward[1] = True
    verdict = State.start(len(reward), n_classes).judge(reward)
    assert verdict.useless is False or n_classes == 2  # with two classes and one copy it is perfect instead
    assert verdict.model_weight > 0.0


def test_chance_by_any_sum_of_parts_is_useless():
    """Rounding must not decide whether a model is worth keeping: 0.1 + 0.2 + 0.3 + ... halves exactly on paper."""
    for n in range(4, 400, 4):
        weights = np.tile([0.1, 0.2, 0.3, 0.6], n // 4)
        reward = np.tile([True, True, True, False], n // 4)
        assert State.start(n, 2, weights).judge(reward).useless
        assert State.start(n, 2, weights).judge(~reward).useless


@pytest.mark.parametrize(
    ("weights", "n_classes"),
    [
        ([1.0, 1.0], 2),
        ([1.0] * 10, 5),
        ([1.0, 2.0, 0.0, 0.0, 3.0], 2),
        (np.ones(100_000), 3),
    ],
    ids=["two", "ten", "some without weight", "many"],
)
def test_a_perfect_models_weight_is_that_of_one_that_errs_on_half_a_sample_that_counts(weights, n_classes):
    counts = np.array(weights) > 0.0
    verdict = State.start(len(weights), n_classes, np.array(weights)).judge(counts)  # wrong where nothing counts
    share = 0.5 / counts.sum()
    assert verdict.perfect
    assert verdict.mean_reward == 1.0
    assert verdict.model_weight == pytest.approx(math.log((1 - share) / share * (n_classes - 1)), abs=1e-9)


def test_a_single_counting_sample_still_gives_a_perfect_model_a_positive_weight():
    verdict = State.start(3, 2, np.array([1.0, 0.0, 0.0])).judge(np.array([True, False, False]))
    assert verdict.perfect
    assert not verdict.useless
    assert math.isfinite(verdict.model_weight)


def test_a_model_that_is_right_nowhere_is_useless_with_a_finite_weight():
    verdict = State.start(4, 3).judge(np.zeros(4, dtype=bool))
    assert verdict.useless
    assert not verdict.perfect
    assert verdict.mean_reward == 0.0
    assert math.isfinite(verdict.model_weight)


@given(problems(min_models=3, max_models=3), st.data())
def test_an_agent_is_judged_on_the_samples_it_holds_as_if_there_were_no_others(problem: Problem, data: st.DataObject):
    n = len(problem.labels)
    held = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    held[data.draw(st.integers(0, n - 1))] = True
    whole = State.start(n, problem.n_classes, problem.start)
    part = State.start(int(held.sum()), problem.n_classes, problem.start[held])
    for reward in problem.rewards[:-1]:  # what went before concerns everybody
        whole.apply(reward, 0.7)
        part.apply(reward[held], 0.7)
    reward = problem.rewards[-1] | ~held  # an agent that abstains is never wrong
    ours, expected = whole.judge(reward, held=held), part.judge(reward[held])
    assert ours.perfect == expected.perfect
    np.testing.assert_allclose(ours.model_weight, expected.model_weight, **EXACT)
    np.testing.assert_allclose(ours.mean_reward, expected.mean_reward, **EXACT)


def test_an_agent_that_holds_no_sample_is_useless():
    nobody = np.zeros(3, dtype=bool)
    verdict = State.start(3, 2).judge(np.ones(3, dtype=bool), held=nobody)
    assert verdict.useless
    assert verdict.mean_reward == 0.0


@given(problems(min_models=1, max_models=1))
def test_judging_changes_nothing(problem: Problem):
    state = State.start(len(problem.labels), problem.n_classes, problem.start)
    state.apply(problem.rewards[0], 0.3)
    before = state.ignorance()
    assert state.judge(problem.rewards[0]) == state.judge(problem.rewards[0], before)
    assert np.array_equal(before, state.ignorance())
    assert state.judge(problem.rewards[0]) == state.judge(problem.rewards[0], before, overwrite=True)
