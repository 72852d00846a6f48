"""What the hold-out samples say of a fitted estimator, against scikit-learn and against fits of one's own."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import accuracy_score, confusion_matrix, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.agent.agent import Agent
from assistlearn.estimators import classifier
from assistlearn.evaluation.metrics import METRICS
from assistlearn.evaluation.words import TITLES
from assistlearn.plan import Metric
from tests.attacks.lying_agent import lying

TREE = DecisionTreeClassifier(max_depth=2)
METHODS = {
    "ascii": {"method": "ascii", "n_rounds": 4},
    "ensemble": {"method": "ensemble", "n_rounds": 3},
    "soft": {"method": "soft", "combine": "sum", "models_per_turn": 1, "n_rounds": 3},
    "learned": {"method": "soft", "combine": "learned", "models_per_turn": 1, "n_rounds": 1},
}


@pytest.fixture(scope="module", params=METHODS)
def fitted(request):
    X, y = (load_wine if request.param == "learned" else load_breast_cancer)(return_X_y=True)
    X = X[:, [0, 4, 1, 2, 6, 7, 9, 11]]
    agents = [("clinic", TREE, slice(0, 2)), ("lab", TREE, slice(2, 5)), ("scans", TREE, slice(5, 8))]
    clf = AssistedClassifier(agents, holdout=0.3, random_state=0, **METHODS[request.param]).fit(X, y)
    return clf, X, y, clf.ignorance_ == 0.0


def test_the_report_is_about_the_samples_that_were_held_out(fitted):
    clf, X, y, aside = fitted
    assert clf.report_.n_samples == aside.sum() == pytest.approx(0.3 * len(y), abs=2)
    coarse = 0.05  # hold-out answers are said in fewer bits than votes in prediction
    assert clf.report_.assisted["accuracy"] == pytest.approx(
        accuracy_score(y[aside], clf.predict(X[aside])), abs=coarse
    )
    table = confusion_matrix(y[aside], clf.predict(X[aside]))
    assert np.abs(np.array(clf.report_.confusion) - table).sum() <= 4
    np.testing.assert_allclose(clf.report_.recalls, np.diagonal(table) / table.sum(axis=1), atol=2 * coarse)
    if len(clf.classes_) == 2:
        auc = roc_auc_score(y[aside], clf.decision_function(X[aside]))
        assert clf.report_.assisted["roc_auc"] == pytest.approx(auc, abs=0.02)


def test_alone_is_the_initiator_by_itself_with_as_many_models(fitted):
    clf, X, y, _ = fitted
    alone = clf.alone("clinic").set_params(n_rounds=len(clf.contributions_)).fit(X, y)
    assert clf.report_.models_alone == len(clf.contributions_)
    assert clf.report_.alone["accuracy"] == pytest.approx(alone.holdout_scores_[alone.n_rounds_ - 1], abs=0.02)
    difference = clf.report_.differences["accuracy"]
    assert difference.value == pytest.approx(clf.report_.assisted["accuracy"] - clf.report_.alone["accuracy"])
    assert difference.low < difference.value < difference.high


def test_shares_sum_to_what_helpers_votes_bring(fitted):
    shares = fitted[0].report_.shares
    assert [share.helper for share in shares.helpers] == ["lab", "scans"]
    assert sum(share.accuracy.value for share in shares.helpers) == pytest.approx(shares.accuracy.value, abs=1e-12)


def test_without_hold_out_samples_or_helpers_there_is_no_report():
    X, y = load_wine(return_X_y=True)
    X = X[:, :5]
    one = [("clinic", TREE, [0, 1, 2])]
    assert AssistedClassifier(one, method="ascii", holdout=0.3, random_state=0).fit(X, y).report_ is None
    two = [*one, ("lab", TREE, [3, 4])]
    assert AssistedClassifier(two, method="ascii", n_rounds=2, random_state=0).fit(X, y).report_ is None


def test_a_helper_that_makes_it_worse_is_named_and_left_out_or_kept():
    """A helper whose columns are noise, known by heart: the paper's method believes it, the hold-out samples do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=600) > 0).astype(int)
    agents = [("clinic", TREE, [0, 1]), ("noise", DecisionTreeClassifier(random_state=0), [2, 3])]
    settings = {"method": "ascii", "n_rounds": 3, "holdout": 0.4, "random_state": 0}
    clf = AssistedClassifier(agents, **settings).fit(X, y)
    assert (clf.report_.worse, clf.report_.left_out, list(clf.agents_)) == (["noise"], ["noise"], ["clinic"])
    kept = AssistedClassifier(agents, worse_agent="keep", **settings).fit(X, y)
    assert (kept.report_.worse, kept.report_.left_out, list(kept.agents_)) == (["noise"], [], ["clinic", "noise"])
    assert clf.report_.assisted["accuracy"] > kept.report_.assisted["accuracy"]


@pytest.mark.parametrize("metric", ["accuracy", "log_loss", "roc_auc"])
def test_the_metric_decides_which_round_is_the_best(metric):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, [0, 4, 1, 2, 6]]
    agents = [("clinic", TREE, slice(0, 2)), ("lab", TREE, slice(2, 5))]
    clf = AssistedClassifier(agents, method="ascii", n_rounds=6, patience=6, holdout=0.3, metric=metric, random_state=0)
    heard = clf.fit(X, y).holdout_metrics_
    assert len(heard) == 6
    best = np.argmin(heard) if metric == "log_loss" else np.argmax(heard)
    assert clf.n_rounds_ == best + 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_agent_that_is_not_believed_leaves_whether_turns_are_taken_side_by_side_or_not(monkeypatch, n_jobs):
    def made(name, *more):
        return (lying("knows the labels and guesses") if name == "lab" else Agent)(name, *more)

    monkeypatch.setattr(classifier, "Agent", made)
    X, y = load_breast_cancer(return_X_y=True)
    agents = [("clinic", TREE, slice(0, 10)), ("lab", TREE, slice(10, 20)), ("scans", TREE, slice(20, 30))]
    settings = {"method": "ensemble", "reward": "out-of-fold", "n_rounds": 2, "holdout": 0.3, "random_state": 0}
    clf = AssistedClassifier(agents, n_jobs=n_jobs, **settings).fit(X, y)
    assert (list(clf.left_), clf.report_.left_out, list(clf.agents_)) == (["lab"], ["lab"], ["clinic", "scans"])
    assert [(c.turn, c.round, c.agent) for c in clf.contributions_][:3] == [
        (1, 1, "clinic"),
        (2, 1, "scans"),
        (3, 2, "clinic"),
    ]


def test_the_plan_the_report_and_what_people_read_name_the_same_metrics():
    assert set(get_args(Metric)) == set(METRICS) == set(TITLES)
