"""An initiator that has labels alone takes no turns: the helpers' votes alone are added up."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import assistlearn
from assistlearn import AssistedClassifier, StopReason, assistance_gain
from assistlearn.errors import ColumnsError, SettingsError
from tests.estimators.data import birds, pair
from tests.estimators.test_the_papers_method import AGENTS, assert_papers, by_the_paper
from tests.papers_settings import PAPERS

BANK = ("bank", None, [])
TREE = DecisionTreeClassifier(max_depth=2)
METHODS = {
    "ascii": {"method": "ascii"},
    "out-of-fold": {"method": "ascii", "reward": "out-of-fold"},
    "auto": {"method": "ascii", "reward": "auto"},
    "simple": {"method": "simple", "order": "random"},
    "ensemble": {"method": "ensemble"},
    "greedy": {"method": "ascii", "order": "greedy"},
    "balanced": {"method": "simple", "order": "strongest", "class_weight": "balanced"},
    "soft": {"method": "soft", "models_per_turn": 2},
    "soft sum": {"method": "soft", "models_per_turn": 1, "combine": "sum", "reward": "out-of-fold"},
    "label-private": {"method": "label-private", "epsilon": 3.0, "models_per_turn": 2},
}


def halves(data=load_breast_cancer):
    """Return training and test rows, and two helpers who share the columns."""
    X, y = data(return_X_y=True)
    middle = X.shape[1] // 2
    agents = [BANK, ("lab", TREE, slice(0, middle)), ("shop", TREE, slice(middle, X.shape[1]))]
    return agents, X[::2], y[::2], X[1::2], y[1::2]


@pytest.mark.parametrize("method", ["ascii", "simple"])
@pytest.mark.parametrize("data", [birds, pair])
def test_labels_and_one_helper_are_adaboost_on_the_helpers_columns(data, method):
    X, y = data()
    theirs = AdaBoostClassifier(clone(TREE), n_estimators=15, random_state=0).fit(X[::2], y[::2])
    agents = [BANK, ("lab", TREE, slice(0, X.shape[1]))]
    ours = AssistedClassifier(agents, n_rounds=15, random_state=0, **PAPERS | {"method": method}).fit(X[::2], y[::2])
    weights = np.array([c.model_weight for c in ours.contributions_])
    assert len(weights) == len(theirs.estimators_) > 3
    np.testing.assert_allclose(weights, theirs.estimator_weights_[: len(weights)], rtol=1e-10, atol=1e-10)
    scales = weights.cumsum() / (2 if len(ours.classes_) == 2 else 1)
    stages = zip(ours.staged_decision_function(X), theirs.staged_decision_function(X), scales, strict=True)
    for mine, expected, scale in stages:
        np.testing.assert_allclose(mine / scale, expected, rtol=0.0, atol=2.0**-13)  # a helper votes in 16 bits
    best = np.sort(ours.decision_function(X).reshape(len(X), -1), axis=1)
    clear = abs(best[:, -1] - (best[:, -2] if best.shape[1] > 1 else 0.0)) > 2.0**-13 * weights.sum()
    assert clear.mean() > 0.9
    assert np.array_equal(ours.predict(X)[clear], theirs.predict(X)[clear])


@pytest.mark.parametrize("method", ["ascii", "simple"])
@pytest.mark.parametrize("agents", [AGENTS["two trees"], AGENTS["four"]], ids=["two", "four"])
def test_it_is_the_papers_loop_of_the_helpers(agents, method):
    X, y = birds()
    clf = AssistedClassifier([BANK, *agents], method=method, n_rounds=6, random_state=0).fit(X, y)
    rounds = [[name for name, _, _ in agents]] * 6
    run, scores = by_the_paper(agents, X, np.unique(y, return_inverse=True)[1], rounds, simple=method == "simple")
    assert_papers(clf, run, scores, X)
    assert not clf.agent_scores(X)["bank"].any()


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    method=st.sampled_from(["ascii", "simple", "ensemble"]),
    order=st.sampled_from(["chain", "random", "strongest"]),
    n_classes=st.integers(2, 4),
)
def test_training_is_bit_for_bit_that_of_the_helpers_by_themselves(seed, method, order, n_classes):
    """Had the first helper the labels, the same models would be made, with the same weights and ignorance."""
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(60, 4)), rng.random(60)
    y = np.digitize(X @ [1, 1, -1, 1] + rng.normal(size=60), np.linspace(-1, 1, n_classes + 1)[1:-1])
    helpers = [("lab", TREE, [0, 1]), ("shop", GaussianNB(), [2, 3])]
    options = PAPERS | {"method": method, "order": order, "n_rounds": 3, "random_state": seed}
    apart = AssistedClassifier([BANK, *helpers], **options).fit(X, y, weight)
    themselves = AssistedClassifier(helpers, **options).fit(X, y, weight)
    assert apart.contributions_ == themselves.contributions_
    assert apart.ignorance_.tobytes() == themselves.ignorance_.tobytes()
    assert apart.stop_reason_ is themselves.stop_reason_


@pytest.mark.parametrize(
    ("data", "name"),
    [*((load_breast_cancer, name) for name in METHODS), *((load_wine, name) for name in ("ascii", "soft"))],
)
def test_every_method_learns_from_helpers_and_is_compared_with_the_most_frequent_class(data, name):
    agents, X, y, X_new, y_new = halves(data)
    clf = AssistedClassifier(agents, n_rounds=2, holdout=0.3, random_state=0, **METHODS[name]).fit(X, y)
    assert {c.agent for c in clf.contributions_} <= {"lab", "shop"}
    most_frequent = DummyClassifier(strategy="prior").fit(X, y)
    assert clf.score(X_new, y_new) > most_frequent.score(X_new, y_new) + 0.1
    report = clf.report_
    assert (report.alone_by_labels, report.models_alone) == (True, 0)
    assert report.alone["balanced_accuracy"] == pytest.approx(1 / len(clf.classes_))
    assert report.alone["accuracy"] == pytest.approx(most_frequent.score(X, y), abs=0.05)
    entropy = -sum(share * math.log(share) for share in clf.class_prior_)
    assert report.alone["log_loss"] == pytest.approx(entropy, abs=0.1)
    gained = report.assisted["accuracy"] - report.alone["accuracy"]
    assert report.shares.accuracy.value == pytest.approx(gained)
    shares = clf.shares(X_new, y_new)
    whole = clf.score(X_new, y_new) - most_frequent.score(X_new, y_new)
    assert sum(each.accuracy.value for each in shares.helpers) == pytest.approx(whole)


@pytest.mark.parametrize("name", ["ascii", "ensemble", "soft", "soft sum", "label-private"])
def test_of_whom_no_helper_knows_anything_the_shares_of_the_labels_are_said(name):
    agents, X, y, X_new, _ = halves()
    gone, part = X_new.copy(), X_new.copy()
    gone[3] = part[5, : X.shape[1] // 2] = np.nan
    clf = AssistedClassifier(agents, n_rounds=2, missing_agent="abstain", random_state=0, **METHODS[name]).fit(X, y)
    said = clf.predict_proba(gone)
    assert np.array_equal(said[3], clf.class_prior_)
    assert clf.predict(gone)[3] == clf.classes_[clf.class_prior_.argmax()]
    assert not np.array_equal(clf.predict_proba(part)[5], clf.class_prior_)
    kept = np.arange(len(X_new)) != 3
    assert np.array_equal(said[kept], clf.predict_proba(X_new)[kept])
    for stage in clf.staged_predict_proba(gone):
        assert np.array_equal(stage[3], clf.class_prior_)
    by_itself = clf.subset(["bank"])
    assert np.array_equal(by_itself.predict_proba(X_new), np.tile(clf.class_prior_, (len(X_new), 1)))


@pytest.mark.parametrize("method", ["ascii", "ensemble"])
def test_a_helper_that_is_worse_than_the_most_frequent_class_is_left_out(method):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), (rng.random(600) < 0.25).astype(int)
    agents = [BANK, ("noise", DecisionTreeClassifier(max_depth=6), [0, 1, 2, 3])]
    settings = PAPERS | {"method": method, "n_rounds": 3, "holdout": 0.4}
    clf = AssistedClassifier(agents, random_state=0, **settings).fit(X, y)
    assert clf.report_.worse == clf.report_.left_out == ["noise"]
    assert clf.report_.assisted == pytest.approx(clf.report_.alone)
    assert np.array_equal(clf.predict_proba(X[:3]), np.tile(clf.class_prior_, (3, 1)))


def test_initial_weights_count_in_the_shares():
    agents, X, y, X_new, _ = halves()
    weight = np.where(y == 0, 3.0, 1.0)
    clf = AssistedClassifier(agents, method="ascii", n_rounds=1, random_state=0).fit(X, y, weight)
    expected = weight[y == 0].sum() / weight.sum()
    assert clf.subset(["bank"]).predict_proba(X_new[:1])[0, 0] == pytest.approx(expected)


def test_an_order_of_ones_own_is_asked_about_the_helpers_alone():
    agents, X, y, _, _ = halves()
    asked = []

    def order(round, names, rng):
        asked.append(list(names))
        return names[::-1]

    AssistedClassifier(agents, method="ascii", n_rounds=2, order=order).fit(X, y)
    assert asked == [["lab", "shop"]] * 2


def test_the_initiator_alone_is_the_most_frequent_class_and_pooled_are_the_helpers():
    agents, X, y, X_new, _ = halves()
    clf = AssistedClassifier(agents, method="ascii", n_rounds=2, random_state=0)
    alone = clf.alone("bank").fit(X, y)
    assert set(alone.predict(X_new)) == {1}
    pooled = clf.pooled().fit(X, y)
    assert len(pooled.columns_["pooled"]) == X.shape[1]


def test_a_pilot_compares_with_the_most_frequent_class():
    agents, X, y, _, _ = halves()
    clf = AssistedClassifier(agents, method="soft", combine="sum", n_rounds=1, models_per_turn=1, random_state=0)
    worth = assistance_gain(clf, X, y, at_least=0.05, each_helper=True, random_state=0)
    assert (worth.answer, worth.alone_by_labels) == ("yes", True)
    assert worth.loss_alone == pytest.approx(1 - y.mean(), abs=0.05)
    assert "alone 0.37" in str(worth)
    assert "(the most frequent class)" in str(worth)


def test_a_saved_model_answers_the_same_again(tmp_path):
    agents, X, y, X_new, _ = halves()
    clf = AssistedClassifier(agents, n_rounds=1, models_per_turn=2, holdout=0.3, random_state=0).fit(X, y)
    assistlearn.save(clf, tmp_path / "model.skops")
    again = assistlearn.load(tmp_path / "model.skops")
    assert np.array_equal(again.predict_proba(X_new), clf.predict_proba(X_new))
    assert clone(again).agents[0] == BANK
    page = assistlearn.save_report(again, tmp_path / "page.html").read_text()
    assert "alone, the most frequent class" in page
    shown = clf._repr_html_()
    assert "labels alone" in shown
    assert "alone: the most frequent class" in shown


def test_frames_of_pandas_and_polars_give_the_same():
    _, X, y, X_new, _ = halves()
    names = [f"x{i}" for i in range(X.shape[1])]
    agents = [BANK, ("lab", TREE, names[:15]), ("shop", TREE, names[15:])]
    found = []
    for frame in (pd.DataFrame, pl.DataFrame):
        wrap = (lambda table, frame=frame: frame(table, columns=names)) if frame is pd.DataFrame else pl.from_numpy
        table, new = (wrap(each) if frame is pd.DataFrame else wrap(each, schema=names) for each in (X, X_new))
        options = {"n_rounds": 1, "models_per_turn": 2, "missing_agent": "abstain", "random_state": 0}
        found.append(AssistedClassifier(agents, **options).fit(table, y).predict_proba(new))
    assert np.array_equal(*found)


@pytest.mark.filterwarnings("ignore:y. :assistlearn.errors.AssistLearnWarning")
def test_labels_of_one_class_and_learners_that_learn_nothing_are_answered_by_the_shares():
    agents, X, y, _, _ = halves()
    one = AssistedClassifier(agents).fit(X, np.ones(len(X)))
    assert one.stop_reason_ is StopReason.ONE_CLASS
    assert set(one.predict(X)) == {1}
    nothing = [BANK, ("lab", DummyClassifier(strategy="constant", constant=1), [0])]
    with pytest.warns(assistlearn.errors.AssistLearnWarning, match="No model was kept"):
        clf = AssistedClassifier(nothing, method="simple", class_weight="balanced").fit(X[:, :1], y)
    assert np.array_equal(clf.predict_proba(X[:2, :1]), np.tile(clf.class_prior_, (2, 1)))


@pytest.mark.parametrize(
    ("agents", "words"),
    [
        ([("bank", None, [0])], r"Agent 'bank': None is not a classifier.*columns \[0\]\..*\('bank', None, \[\]\)"),
        ([("bank", None, "all")], "Agent 'bank': None is not a classifier.*columns 'all'"),
        ([BANK], "Agent 'bank' has only labels, and there is nobody to help it. Add a helper"),
        ([("bank", TREE, [0]), ("lab", None, [])], "Agent 'lab': None is not a classifier"),
    ],
)
def test_nobody_else_goes_without_an_estimator(agents, words):
    with pytest.raises(SettingsError, match=words):
        AssistedClassifier(agents).fit(np.eye(4), [0, 1, 0, 1])


def test_an_estimator_without_columns_is_refused():
    with pytest.raises(ColumnsError, match=r"Agent 'bank': its columns \[\] are empty.*labels alone.*None"):
        AssistedClassifier([("bank", TREE, []), ("lab", TREE, [0])]).fit(np.eye(4), [0, 1, 0, 1])
