"""The model weight against the paper's own forms of it: Proposition 2 and equation (13)."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assistlearn.core import State
from tests.core import paper
from tests.core.strategies import Problem, problems

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


def test_a_perfect_models_weight_is_that_of_one_that_errs_on_half_a_sample():
    for n_samples, n_classes in [(2, 2), (10, 2), (10, 5), (100_000, 3)]:
        verdict = State.start(n_samples, n_classes).judge(np.ones(n_samples, dtype=bool))
        share = 0.5 / n_samples
        assert verdict.perfect
        assert verdict.mean_reward == 1.0
        assert verdict.model_weight == pytest.approx(math.log((1 - share) / share * (n_classes - 1)), abs=1e-9)


def test_samples_without_weight_do_not_count_towards_a_perfect_model():
    weights = np.array([1.0, 2.0, 0.0, 0.0, 3.0])
    wrong_where_nothing_counts = np.array([True, True, False, True, True])
    verdict = State.start(5, 2, weights).judge(wrong_where_nothing_counts)
    assert verdict.perfect
    assert verdict.model_weight == pytest.approx(math.log(2 * 3 - 1))


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
