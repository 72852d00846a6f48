"""Several models in a turn: boosted in private, one model to everybody else."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.core.ignorance import LOSSES
from assistlearn.core.state import SoftState
from assistlearn.core.votes import add_answers, confidences, probabilities
from assistlearn.learners import HistTreeClassifier, Honesty, Learner, folds
from assistlearn.learners.boosting import Boosting, Private, ResidualBoosting, Several
from assistlearn.learners.model import TurnSeeds
from assistlearn.methods.hard import Ascii
from assistlearn.methods.soft import Soft

X, CODES = load_wine(return_X_y=True)
X = X[:, [0, 2, 4]]  # hard to tell by these
N = len(CODES)
TWO = np.minimum(CODES, 1)
FINE = Soft("logistic", 0.5, 32)
WEIGHTED = {0: 1.0}  # trees with weights of classes are not fitted to residuals
STUMP = DecisionTreeClassifier(max_depth=1, class_weight=WEIGHTED)
TREE = DecisionTreeClassifier(max_depth=2, class_weight=WEIGHTED)
SMALL = DecisionTreeClassifier(max_depth=2)


def agent_after(
    n_turns: int, honesty: Honesty | None, estimator=STUMP, method=FINE, codes=CODES, held=None, seed=7
) -> tuple[Agent, list]:
    agent = Agent("a", estimator, honesty)
    agent.begin(TrainingSamples(X if held is None else X[held], codes, held), seed=5)
    state = method.start(N, int(codes.max()) + 1)
    seeds = TurnSeeds(seed)
    answers = []
    for number in range(1, n_turns + 1):
        turn = seed if number == 1 else seeds.of(number)
        answers.append(agent.take_turn(Turn(number, number, turn), state, method))
        if not answers[-1].verdict.useless:
            state.apply(answers[-1].reward, answers[-1].verdict.model_weight)
    return agent, answers


@pytest.mark.parametrize("codes", [CODES, TWO], ids=["three classes", "two"])
def test_boosting_in_private_makes_the_models_of_a_session_with_no_other_agent(codes):
    session, _ = agent_after(5, None, TREE, codes=codes)
    private, _ = agent_after(1, Honesty(models=5), TREE, codes=codes)
    (kept,) = private.models
    assert kept.model.estimator.kind == "boosted"
    assert list(kept.model.estimator.weights) == [alone.model_weight for alone in session.models]
    expected = np.zeros((N, codes.max() + 1))
    for one, said in session.answers(X, codes.max() + 1):
        add_answers(expected, said, one.model_weight)
    np.testing.assert_array_equal(kept.model.estimator.votes(X), expected)
    np.testing.assert_allclose(kept.model.say(X), probabilities(expected / session.total_weight), rtol=1e-12)
    np.testing.assert_array_equal(kept.model.predict(X), expected.argmax(axis=1))


@pytest.mark.parametrize("estimator", [TREE, SMALL], ids=["under weights", "on residuals"])
def test_what_they_say_together_is_judged_as_one_model(estimator):
    agent, (answer,) = agent_after(1, Honesty(models=5), estimator)
    said = agent.models[0].model.say(X.astype(np.float32))
    state = FINE.start(N, 3)
    expected = FINE.reward(said, CODES, None, 3)
    assert np.array_equal(answer.reward.levels, expected.levels)
    assert answer.verdict == state.judge(expected)


@pytest.mark.parametrize("reward", ["in-sample", "out-of-fold", "auto"])
@pytest.mark.parametrize("method", [FINE, Ascii()], ids=["soft", "hard"])
def test_one_model_per_turn_and_hard_methods_know_nothing_of_it(reward, method):
    models = 1 if method is FINE else 4
    with_it, answers = agent_after(3, Honesty(reward, 3, models=models), TREE, method)
    without, expected = agent_after(3, Honesty(reward, 3), TREE, method)
    assert [answer.verdict for answer in answers] == [answer.verdict for answer in expected]
    assert not any(hasattr(kept.model.estimator, "check_kept") for kept in with_it.models)
    np.testing.assert_array_equal(with_it.scores(X, N, 3, method), without.scores(X, N, 3, method))


@given(
    codes=st.lists(st.integers(0, 2), min_size=8, max_size=30).filter(lambda codes: len(set(codes)) > 1),
    seed=st.integers(0, 1000),
    shrinkage=st.floats(0.05, 1.0),
    loss=st.sampled_from(sorted(LOSSES)),
    n_before=st.integers(0, 2),
)
@settings(max_examples=40, deadline=None)
def test_no_step_raises_the_training_loss(codes, seed, shrinkage, loss, n_before):
    codes = np.array(codes)
    n_classes = int(codes.max()) + 1
    rng = np.random.RandomState(seed)
    learner = Learner(DecisionTreeClassifier(max_depth=1), "a")
    learner.prepare(rng.rand(len(codes), 2), codes, seed)
    method = Soft(loss, shrinkage, 8)
    state = method.start(len(codes), max(n_classes, 2))
    (present,) = state.vectors()
    present += rng.randn(*present.shape) * n_before
    losses = [mean_loss(state)]
    for number, _ in enumerate(Boosting.each(learner, state, codes, Private(state, method, seed, "round 1"))):
        losses.append(mean_loss(state))
        if number == 6:
            break
    assert (np.diff(losses) <= 1e-12 * losses[0]).all()


def mean_loss(state: SoftState) -> float:
    return float(LOSSES[state.loss].value(state.votes).mean())


@pytest.mark.parametrize("estimator", [TREE, SMALL], ids=["under weights", "on residuals"])
def test_the_state_of_the_run_is_left_as_it_is(estimator):
    state = FINE.start(N, 3)
    agent = Agent("a", estimator, Honesty("out-of-fold", 3, models=4))
    agent.begin(TrainingSamples(X, CODES), seed=5)
    agent.take_turn(Turn(1, 1, 3), state, FINE)
    assert not state.vectors()[0].any()


def honest_answers(codes, turn: Private, models: int, estimator=TREE, kind=Boosting) -> tuple[int, np.ndarray]:
    of_rows = folds.deal(codes, 3, 5)
    dealt = folds.Folds(lambda: Learner(estimator, "a"), X, codes, Honesty("out-of-fold", 3), 5, of_rows)
    return dealt.boosted(turn, models, kind)


@pytest.mark.parametrize("sample", [0, 60, 177])
@pytest.mark.parametrize(("estimator", "kind"), [(TREE, Boosting), (SMALL, ResidualBoosting)])
def test_a_samples_own_label_does_not_change_the_honest_answer_about_it(monkeypatch, sample, estimator, kind):
    monkeypatch.setattr(folds, "deal", lambda codes, n_folds, seed: np.arange(len(codes)) % n_folds)
    turn = Private(FINE.start(N, 3), FINE, 4, "round 1")  # 4: the second fold says how many
    n_models, before = honest_answers(CODES, turn, 2, estimator, kind)
    other = CODES.copy()
    other[sample] = (other[sample] + 1) % 3
    n_others, after = honest_answers(other, turn, 2, estimator, kind)
    assert n_models == n_others == 2
    np.testing.assert_array_equal(before[sample], after[sample])
    assert (before != after).any()  # those about samples of other folds do change


def test_the_number_of_models_is_the_one_with_the_most_gain_on_a_fold_that_they_have_not_seen():
    turn = Private(FINE.start(N, 3), FINE, 3, "round 1")  # 3: the first fold says how many
    aside = folds.deal(CODES, 3, seed=5) == 0
    learner = Learner(TREE, "a")
    learner.prepare(X[~aside], CODES[~aside], seed=5)
    steps = list(islice(Boosting.each(learner, turn.state.part(~aside), CODES[~aside], turn), 20))
    said = [Several("boosted", [s.model for s in steps[:n]], [s.weight for s in steps[:n]], 3) for n in range(1, 21)]
    unseen = turn.state.part(aside)
    gains = []
    for number, model in enumerate(said, 1):
        answers = steps[0].model.say(X[aside]) if number == 1 else model.predict_proba(X[aside])
        gains.append(unseen.judge(FINE.reward(answers, CODES[aside], None, 3)).gain)
    best = next(n for n in range(1, 14) if max(gains[: n + 2 + n // 2]) == gains[n - 1])
    n_models, honest = honest_answers(CODES, turn, 20)
    assert n_models == best > 1
    np.testing.assert_array_equal(honest[aside], said[best - 1].predict_proba(X[aside]))


def test_a_learner_for_which_one_model_is_best_keeps_a_plain_one_and_tries_no_more():
    fitted = []
    coarse = Soft("logistic", 0.5, 8)

    class Counted(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            fitted.append(self)
            return super().fit(X, y, sample_weight=sample_weight)

    agents = [Agent("a", Counted(), honesty) for honesty in (Honesty("auto", 3, models=10), Honesty("out-of-fold", 3))]
    for agent in agents:
        agent.begin(TrainingSamples(load_wine().data, CODES), seed=5)  # an unpruned tree is perfect on these
        for number in (1, 2):
            fitted.clear()
            agent.take_turn(Turn(number, number, number), coarse.start(N, 3), coarse)
            assert len(fitted) == 4
        assert type(agent.models[0].model.estimator) is Counted
        assert agent.honest
    weights = [[kept.model_weight for kept in agent.models] for agent in agents]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("estimator", [TREE, SMALL, HistTreeClassifier(max_depth=2), DecisionTreeClassifier()])
def test_an_agent_that_is_started_again_answers_the_same(estimator):
    honesty = Honesty("auto", 3, models=6)
    _, answers = agent_after(3, honesty, estimator)
    state = FINE.start(N, 3)
    seeds = TurnSeeds(7)
    kept: list = []
    honest = False
    for number, expected in enumerate(answers, 1):
        agent = Agent("a", estimator, honesty)  # a new one for every turn, which knows what a store keeps
        agent.begin(TrainingSamples(X, CODES), seed=5)
        agent.models.extend(kept)
        if honest:
            agent.become_honest()
        answer = agent.take_turn(Turn(number, number, 7 if number == 1 else seeds.of(number)), state, FINE)
        assert np.array_equal(answer.reward.levels, expected.reward.levels)
        assert answer.verdict == expected.verdict
        if not answer.verdict.useless:
            state.apply(answer.reward, answer.verdict.model_weight)
        kept, honest = list(agent.models), agent.honest


@pytest.mark.parametrize("estimator", [TREE, SMALL], ids=["under weights", "on residuals"])
def test_it_learns_from_the_samples_that_it_holds_alone(estimator):
    held = np.random.RandomState(0).rand(N) < 0.7
    _, (answer,) = agent_after(1, Honesty("out-of-fold", 3, models=4), estimator, held=held)
    assert not answer.reward.levels[~held].any()
    alone = Agent("a", estimator, Honesty("out-of-fold", 3, models=4))
    alone.begin(TrainingSamples(X[held], CODES[held]), seed=5)
    expected = alone.take_turn(Turn(1, 1, 7), FINE.start(int(held.sum()), 3), FINE)
    assert np.array_equal(answer.reward.levels[held], expected.reward.levels)


def test_a_forest_that_draws_its_samples_stays_with_one_model():
    agent, _ = agent_after(2, Honesty("auto", 3, models=5), RandomForestClassifier(20))
    assert all(type(kept.model.estimator) is RandomForestClassifier for kept in agent.models)


def test_a_learner_without_probabilities_is_boosted_by_its_labels():
    agent, _ = agent_after(1, Honesty("in-sample", models=3), RidgeClassifier())
    (kept,) = agent.models
    votes = sum(
        weight * confidences(part.say(X), 3)
        for part, weight in zip(kept.model.estimator.models, kept.model.estimator.weights, strict=True)
    )
    np.testing.assert_allclose(kept.model.say(X), probabilities(votes / sum(kept.model.estimator.weights)))
