"""When training stops, why, and what is kept."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, Contribution, StopReason
from assistlearn.errors import SettingsError
from tests.estimators.data import birds, pair
from tests.learners.classifiers import Opposite
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)
METHODS = ["ascii", "simple", "ensemble"]


def two(**options) -> AssistedClassifier:
    return AssistedClassifier([("a", TREE, slice(0, 3)), ("b", GaussianNB(), slice(3, 6))], **(PAPERS | options))


def test_all_rounds_are_done_if_nothing_speaks_against_it():
    X, y = birds()
    clf = two(n_rounds=7, random_state=0).fit(X, y)
    assert clf.stop_reason_ is StopReason.ALL_ROUNDS_DONE
    assert clf.n_rounds_ == 7
    assert [c.round for c in clf.contributions_] == [t for t in range(1, 8) for _ in "ab"]
    assert [c.agent for c in clf.contributions_] == ["a", "b"] * 7
    assert [c.turn for c in clf.contributions_] == list(range(1, 15))
    assert clf.holdout_scores_ == []


def test_contributions_are_frozen_records_of_what_everybody_may_know():
    X, y = birds()
    contribution = two(n_rounds=1, random_state=0).fit(X, y).contributions_[0]
    assert isinstance(contribution, Contribution)
    with pytest.raises(AttributeError):
        contribution.model_weight = 3.0
    right = TREE.fit(X[:, :3], y).score(X[:, :3], y)
    assert contribution.mean_reward == pytest.approx(right)
    assert contribution.accuracy == pytest.approx(right)
    assert contribution.perfect is False


def test_a_weak_initiator_may_be_helped():
    X, y = birds()
    table = np.c_[X, np.unique(y, return_inverse=True)[1]]
    clf = AssistedClassifier([("a", Opposite(), [6]), ("b", TREE, slice(0, 6))], n_rounds=3, method="ascii").fit(
        table, y
    )
    assert {c.agent for c in clf.contributions_} == {"b"}
    assert clf.score(table, y) > 0.5


def held_out(**options) -> AssistedClassifier:
    X, y = birds()
    return two(**{"n_rounds": 30, "holdout": 0.3, "patience": 3, "random_state": 4, **options}).fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_the_hold_out_rule_stops_after_patience_and_cuts_back_to_the_best_round(method: str):
    X, y = birds()
    clf = held_out(method=method)
    assert clf.stop_reason_ is StopReason.HOLDOUT_STOPPED_IMPROVING
    best = int(np.argmax(clf.holdout_scores_)) + 1  # the first of the best
    assert clf.n_rounds_ == best
    assert len(clf.holdout_scores_) == best + 3
    assert max(c.round for c in clf.contributions_) == best
    assert sum(len(agent.models) for agent in clf.agents_.values()) == len(clf.contributions_)
    aside = clf.ignorance_ == 0
    np.testing.assert_allclose(list(clf.staged_score(X[aside], y[aside])), clf.holdout_scores_[:best])


@pytest.mark.parametrize("method", METHODS)
def test_a_run_with_a_hold_out_is_a_run_on_the_other_samples(method: str):
    X, y = birds()
    clf = held_out(method=method, patience=50, n_rounds=6)
    train = clf.ignorance_ > 0
    assert 0.25 < 1 - train.mean() < 0.35
    assert clf.stop_reason_ is StopReason.ALL_ROUNDS_DONE
    assert len(clf.holdout_scores_) == 6
    plain = two(n_rounds=6, random_state=4, method=method).fit(X[train], y[train])
    assert clf.contributions_ == tuple(c for c in plain.contributions_ if c.round <= clf.n_rounds_)
    np.testing.assert_allclose(clf.ignorance_[train], plain.ignorance_)
    if clf.n_rounds_ == 6:
        assert np.array_equal(clf.predict(X), plain.predict(X))


def test_the_hold_out_respects_initial_weights():
    X, y = pair()
    weight = np.random.RandomState(0).rand(len(y))
    clf = two(holdout=0.3, n_rounds=1, random_state=0).fit(X, y, sample_weight=weight)
    train = clf.ignorance_ > 0
    plain = two(n_rounds=1, random_state=0).fit(X[train], y[train], sample_weight=weight[train])
    assert clf.contributions_ == plain.contributions_


def test_a_hold_out_of_nothing_is_refused():
    with pytest.raises(SettingsError, match=r"holdout=0.1 of 6 samples leaves nothing"):
        two(holdout=0.1).fit(np.random.RandomState(0).rand(6, 6), [0, 1, 2, 0, 1, 2])
