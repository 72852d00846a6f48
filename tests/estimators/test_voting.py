"""Scores, probabilities and stages say the same thing in different units."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import AssistLearnWarning
from tests.core import paper
from tests.estimators.data import birds, pair
from tests.learners.classifiers import Memory, Opposite
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)
METHODS = ["ascii", "simple", "ensemble"]
AGENTS = [("a", TREE, [0, 1]), ("b", GaussianNB(), [2, 3]), ("c", TREE, [3, 4, 5])]


def fitted(data=birds, n_rounds: int = 4, **options) -> AssistedClassifier:
    X, y = data()
    return AssistedClassifier(AGENTS, n_rounds=n_rounds, random_state=0, **(PAPERS | options)).fit(X[::2], y[::2])


@pytest.mark.parametrize("method", METHODS)
def test_the_agents_scores_add_up_to_the_decision(method: str):
    X, _ = birds()
    clf = fitted(method=method)
    scores = clf.agent_scores(X)
    assert list(scores) == ["a", "b", "c"]
    np.testing.assert_allclose(sum(scores.values()), clf.decision_function(X), atol=1e-12)
    for own in scores.values():
        assert own.shape == (len(X), 4)
        np.testing.assert_allclose(own.sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("options", [*({"method": method} for method in METHODS), {"combine": "sum"}, {}], ids=str)
def test_for_two_classes_the_scores_of_each_agent_are_exact_negatives(options):
    X, y = pair()
    agents = [("a", LogisticRegression(C=1e6), [0, 1]), ("b", GaussianNB(), [2, 3, 4, 5])]
    clf = AssistedClassifier(agents, n_rounds=3, random_state=0, **options).fit(X, y)
    for own in clf.agent_scores(X).values():
        assert np.array_equal(own[:, 0], -own[:, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssistLearnWarning)  # votes for such people are unlike those of training
        far = clf.agent_scores(np.full_like(X, 1e3))
    for own in far.values():
        assert np.array_equal(own[:, 0], -own[:, 1])


@pytest.mark.parametrize("method", METHODS)
def test_for_two_classes_the_decision_is_the_second_column_of_the_sum_and_minus_the_first(method: str):
    X, _ = pair()
    clf = fitted(pair, method=method)
    total = sum(clf.agent_scores(X).values())
    assert clf.decision_function(X).shape == (len(X),)
    np.testing.assert_allclose(total[:, 1], clf.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(total[:, 0], -clf.decision_function(X), atol=1e-12)
    assert np.array_equal(clf.predict(X), np.where(clf.decision_function(X) > 0, 1, -1))


@pytest.mark.parametrize("method", ["ascii", "simple"])
def test_an_agents_scores_are_its_own_models_weighted_label_codes(method: str):
    X, _ = birds()
    clf = fitted(method=method)
    for name, columns in [("a", [0, 1]), ("b", [2, 3]), ("c", [3, 4, 5])]:
        expected = np.zeros((len(X), 4))
        weights = [c.model_weight for c in clf.contributions_ if c.agent == name]
        for weight, kept in zip(weights, clf.agents_[name].models, strict=True):
            answers = kept.model.predict(X[:, columns])
            expected += weight * np.array([paper.label_code(code, 4) for code in answers])
        rounded = 1e-10 if name == "a" else 2.0**-15 * sum(weights)  # a helper tells its votes in 16 bits
        np.testing.assert_allclose(clf.agent_scores(X)[name], expected, atol=rounded)


@pytest.mark.parametrize("data", [birds, pair])
@pytest.mark.parametrize("method", METHODS)
def test_probabilities_sum_to_one_and_agree_with_the_answers(method: str, data):
    X, _ = data()
    clf = fitted(data, method=method)
    p = clf.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert (p >= 0).all()
    assert np.array_equal(clf.predict(X), clf.classes_[p.argmax(axis=1)])


@pytest.mark.parametrize("method", ["ascii", "simple"])
def test_probabilities_are_the_softmax_of_the_scaled_scores(method: str):
    X, _ = birds()
    clf = fitted(method=method)
    odds = np.exp(clf.decision_function(X) * 3 / 4)
    np.testing.assert_allclose(clf.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), rtol=1e-9)


def test_one_model_right_on_a_share_of_the_ignorance_says_so():
    X, y = birds()
    clf = AssistedClassifier([AGENTS[0]], n_rounds=1, method="ascii").fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X).max(axis=1), clf.contributions_[0].mean_reward)


@pytest.mark.parametrize("data", [birds, pair])
@pytest.mark.parametrize("method", METHODS)
def test_the_last_stage_is_the_end_and_every_stage_is_a_shorter_run(method: str, data):
    X, y = data()
    clf = fitted(data, method=method)
    stages = {
        "predict": list(clf.staged_predict(X)),
        "decision_function": list(clf.staged_decision_function(X)),
        "predict_proba": list(clf.staged_predict_proba(X)),
    }
    scores = list(clf.staged_score(X, y))
    assert len(scores) == clf.n_rounds_ == 4
    for n_rounds in (1, 2, 4):
        shorter = fitted(data, n_rounds=n_rounds, method=method)
        for name, staged in stages.items():
            expected = getattr(shorter, name)(X)
            if expected.dtype.kind == "f" and name != "predict":
                np.testing.assert_allclose(staged[n_rounds - 1], expected, atol=1e-12)
            else:
                assert np.array_equal(staged[n_rounds - 1], expected)
        assert scores[n_rounds - 1] == pytest.approx(shorter.score(X, y))


@pytest.mark.parametrize("method", METHODS)
def test_stages_count_only_the_agents_that_have_had_a_turn(method: str):
    """One more agent joins in every round."""
    X, y = birds()

    def joining(round, agents, rng):
        return agents[:round]

    def run(n_rounds: int) -> AssistedClassifier:
        clf = AssistedClassifier(AGENTS, method=method, order=joining, n_rounds=n_rounds, random_state=0)
        return clf.fit(X, y)

    for n_rounds, staged in enumerate(run(3).staged_predict_proba(X), start=1):
        np.testing.assert_allclose(staged, run(n_rounds).predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("method", [*METHODS, "soft"])
def test_the_last_stage_is_the_end_for_samples_of_which_an_agent_holds_none(method: str):
    """The models of an agent that abstains everywhere keep their weights: others are compared with them."""
    X, _ = birds()
    clf = fitted(method=method, missing_agent="abstain")
    X = X.copy()
    X[:, 2:4] = np.nan  # all columns of b
    for name in ("decision_function", "predict_proba", "predict"):
        *_, last = getattr(clf, f"staged_{name}")(X)
        assert np.array_equal(last, getattr(clf, name)(X)), name


def test_staged_scores_can_be_weighted():
    X, y = birds()
    clf = fitted()
    weight = np.random.RandomState(0).rand(len(y))
    expected = [accuracy_score(y, labels, sample_weight=weight) for labels in clf.staged_predict(X)]
    assert list(clf.staged_score(X, y, sample_weight=weight)) == expected


@pytest.mark.parametrize("method", METHODS)
def test_a_round_that_an_agent_sat_out_is_staged_all_the_same(method: str):
    X, y = birds()
    codes = np.unique(y, return_inverse=True)[1]
    table = np.c_[X, codes]
    clf = AssistedClassifier([*AGENTS, ("idle", Opposite(), [6])], method=method, n_rounds=3, random_state=0)
    clf.fit(table, y)
    assert not any(c.agent == "idle" for c in clf.contributions_)
    assert np.array_equal(list(clf.staged_predict(table))[-1], clf.predict(table))


def test_the_ensemble_is_the_majority_vote_of_separate_adaboosts():
    X, y = birds()
    clf = fitted(method="ensemble", n_rounds=8)
    ballots = []
    for name, learner, columns in AGENTS:
        alone = AdaBoostClassifier(learner, n_estimators=8, random_state=0).fit(X[::2, columns], y[::2])
        weights = [c.model_weight for c in clf.contributions_ if c.agent == name]
        np.testing.assert_allclose(weights, alone.estimator_weights_[: len(alone.estimators_)], rtol=1e-10)
        ballots.append(alone.predict(X[:, columns]))
    answers, ballots = clf.predict(X), np.array(ballots)
    n_ties = 0
    for answer, votes in zip(answers, ballots.T, strict=True):
        labels, counts = np.unique(votes, return_counts=True)
        best = labels[counts == counts.max()]
        n_ties += len(best) > 1
        assert answer in best
    assert n_ties < len(X) / 2  # a majority has decided most


def test_a_loud_agent_decides_a_sum_of_scores_but_not_a_majority():
    y = np.tile([0, 1], 50)
    noisy = np.where(np.arange(100) % 5 == 0, 1 - y, y)  # each right on 80 %
    X = np.c_[y, noisy, noisy].astype(float)
    agents = [("perfect", Memory(), [0]), ("b", Memory(), [1]), ("c", Memory(), [2])]

    def answers(method: str) -> np.ndarray:
        return AssistedClassifier(agents, method=method, n_rounds=1).fit(X, y).predict(X)

    assert np.array_equal(answers("simple"), y)
    assert np.array_equal(answers("ensemble"), noisy)


def test_an_unfitted_model_says_so():
    clf = AssistedClassifier(AGENTS, method="ascii")
    for ask in (clf.predict, clf.predict_proba, clf.decision_function, clf.agent_scores):
        with pytest.raises(NotFittedError):
            ask(np.zeros((1, 6)))
    with pytest.raises(NotFittedError):
        next(clf.staged_predict(np.zeros((1, 6))))
