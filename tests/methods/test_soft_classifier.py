"""AssistedClassifier with soft interchange: labels are a special case, messages are enough, votes add up."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.core import ScoreVectors
from assistlearn.errors import SettingsError
from assistlearn.plan import Plan
from tests.learners.classifiers import OnlyLabels
from tests.papers_settings import PAPERS

X, Y = load_wine(return_X_y=True)
TREE = DecisionTreeClassifier(max_depth=2)
SCALED = make_pipeline(StandardScaler(), LogisticRegression())


def soft(one=TREE, other=SCALED, **settings) -> AssistedClassifier:
    agents = [("a", one, slice(0, 6)), ("b", other, slice(6, 13))]
    return AssistedClassifier(agents, **(PAPERS | {"method": "soft", "n_rounds": 3, "random_state": 0} | settings))


def test_agents_without_probabilities_under_the_exponential_loss_are_ascii_simple():
    learner = OnlyLabels(max_depth=1)
    settings = {"loss": "exponential", "shrinkage": 1.0, "score_bits": 32, "n_rounds": 6}
    one = soft(learner, learner, **settings).fit(X, Y)
    other = soft(learner, learner, method="simple", n_rounds=6).fit(X, Y)
    weights = [[c.model_weight for c in model.contributions_] for model in (one, other)]
    np.testing.assert_allclose(*weights, rtol=1e-6)
    np.testing.assert_allclose(one.ignorance_, other.ignorance_, rtol=1e-5)
    level = sum(weights[1]) / (2**15 - 1)  # in which the votes of the second are told
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-5, atol=level)


@pytest.mark.parametrize("bits", [2, 3, 4, 8, 16, 32])
def test_a_replica_that_hears_levels_and_weights_only_ends_in_the_same_state_and_models(bits: int):
    model = soft(score_bits=bits).fit(X, Y)
    method = Plan(method="soft", score_bits=bits, reward="in-sample").make_method()
    state = method.start(len(Y), 3)  # what an agent elsewhere would hold
    seeds, prepare = np.random.RandomState(0), np.random.RandomState([0, 3])
    agents = {"a": Agent("a", TREE), "b": Agent("b", SCALED)}
    for name, columns in (("a", slice(0, 6)), ("b", slice(6, 13))):
        agents[name].begin(TrainingSamples(X[:, columns], Y), int(prepare.randint(2**31 - 1)))
    weights = []
    for number in range(6):
        answer = agents["ab"[number % 2]].take_turn(
            Turn(number + 1, number // 2 + 1, int(seeds.randint(2**31 - 1))), state, method
        )
        raw = answer.reward.levels.tobytes()
        levels = np.frombuffer(raw, dtype=answer.reward.levels.dtype).reshape(-1, 3)
        heard = ScoreVectors(levels, answer.reward.scale, bits)
        state.apply(heard, answer.verdict.model_weight)
        weights.append(answer.verdict.model_weight)
    assert weights == [c.model_weight for c in model.contributions_]
    assert state.ignorance().tobytes() == model.ignorance_.tobytes()


def test_agents_with_and_without_probabilities_work_in_one_run():
    model = soft(SCALED, LinearSVC(C=0.01)).fit(X, Y)
    assert {c.agent for c in model.contributions_} == {"a", "b"}
    labels = model.agent_scores(X)["b"]
    kept = model.agents_["b"].models
    expected = sum(k.model_weight * np.where(np.eye(3)[k.model.predict(X[:, 6:])] == 1, 1.0, -0.5) for k in kept)
    level = -np.log(0.01) * sum(k.model_weight for k in kept) / (2**8 - 2)  # in which votes are told
    np.testing.assert_allclose(labels, expected, atol=level)


def test_one_agent_whose_weight_is_one_predicts_its_own_probabilities():
    model = AssistedClassifier(
        [("a", GaussianNB(), slice(0, 13))], method="soft", n_rounds=1, shrinkage=1.0, reward="in-sample"
    ).fit(X, Y)
    (only,) = model.agents_["a"].models
    scores = model.decision_function(X) / only.model_weight
    p = np.maximum(GaussianNB().fit(X, Y).predict_proba(X), 0.01)
    logs = np.log(p / p.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(scores, 1.5 * (logs - logs.mean(axis=1, keepdims=True)), atol=1e-6)


def test_eight_bits_cost_next_to_nothing():
    coarse, fine = (soft(score_bits=bits).fit(X, Y) for bits in (8, 32))
    assert np.abs(coarse.predict_proba(X) - fine.predict_proba(X)).max() < 0.02


def test_votes_add_up_and_the_last_stage_is_the_prediction():
    model = soft().fit(X, Y)
    np.testing.assert_allclose(sum(model.agent_scores(X).values()), model.decision_function(X))
    np.testing.assert_allclose(list(model.staged_decision_function(X))[-1], model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_hold_out_samples_are_answered_with_quantised_votes():
    model = soft(holdout=0.3, n_rounds=6).fit(X, Y)
    aside = model.ignorance_ == 0
    stages = list(model.staged_score(X[aside], Y[aside]))
    assert model.holdout_scores_[model.n_rounds_ - 1] == pytest.approx(max(model.holdout_scores_))
    np.testing.assert_allclose(stages, model.holdout_scores_[: model.n_rounds_], atol=0.03)  # 8 bits may flip a tie


def test_on_digits_two_soft_rounds_are_far_ahead_of_two_of_ascii():
    A, B, a, b = train_test_split(*load_digits(return_X_y=True), random_state=0)
    pixels = np.arange(64).reshape(8, 8)
    tree = DecisionTreeClassifier(max_depth=3)
    agents = [("left", tree, pixels[:, :4].ravel()), ("right", tree, pixels[:, 4:].ravel())]
    settings = PAPERS | {"n_rounds": 2, "random_state": 0}
    hard = AssistedClassifier(agents, **settings).fit(A, a).score(B, b)
    assert AssistedClassifier(agents, **(settings | {"method": "soft"})).fit(A, a).score(B, b) > hard + 0.05


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"loss": "squared"}, "loss='squared'.*logistic"),
        ({"shrinkage": 0}, "shrinkage=0"),
        ({"shrinkage": 1.5}, "shrinkage=1.5"),
        ({"score_bits": 7}, "score_bits=7.*2, 3, 4, 8, 16, 32"),
        ({"reward": "kind"}, "reward='kind'.*out-of-fold"),
        ({"cv": 1, "reward": "auto"}, "cv=1.*at least 2"),
        ({"missing_agent": "guess"}, "missing_agent='guess'.*abstain"),
        ({"method": "ensemble", "order": "greedy"}, "greedy.*ensemble"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, says: str):
    with pytest.raises(SettingsError, match=says):
        soft(**settings).fit(X, Y)
