"""A histogram tree is the classification tree that scikit-learn grows, on bins; the ensemble is XGBoost's own."""

import subprocess
import sys

import numpy as np
import pandas  # noqa: F401  a check skips itself, with a warning, where pandas has not been imported
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from xgboost import XGBClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier
from tests.learners_hist.tables import real_numbers, whole_numbers


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gaps", [False, True])
def test_where_binning_loses_nothing_it_is_the_decision_tree(depth, n_classes, gaps):
    X, y, weight = whole_numbers(n_classes=n_classes)
    X = np.where(np.random.RandomState(1).rand(*X.shape) < 0.15 * gaps, np.nan, X)
    ours = HistTreeClassifier(max_depth=depth).fit(X, y, sample_weight=weight)
    theirs = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_a_leaf_holds_the_weighted_shares_of_the_classes():
    X, y, weight = np.zeros((6, 1)), np.array(list("aabbbc")), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 15.0])
    tree = HistTreeClassifier().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(tree.predict_proba([[0.0]]), [[0.1, 0.4, 0.5]], atol=1e-6)
    assert tree.predict([[0.0]]) == ["c"]


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1e9])
def test_the_scale_of_the_weights_does_not_matter(scale):
    X, y, weight = whole_numbers()
    one = HistTreeClassifier().fit(X, y, sample_weight=weight)
    other = HistTreeClassifier().fit(X, y, sample_weight=weight * scale)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)


def test_a_column_without_any_value_is_no_help_and_no_harm():
    X, y, weight = whole_numbers()
    more = np.column_stack([np.full(len(y), np.nan), X])
    one, other = (HistTreeClassifier().fit(table, y, weight) for table in (X, more))
    assert np.array_equal(one.predict_proba(X), other.predict_proba(more))


def test_without_a_limit_of_depth_it_learns_its_table_by_heart():
    X, y = real_numbers(200)
    assert HistTreeClassifier(max_depth=None, max_bin=256).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("n_classes", [2, 4])
def test_boosted_it_is_as_accurate_as_the_decision_tree(n_classes):
    ours, theirs = [], []
    for seed in range(4):
        X, y = real_numbers(4_000, n_classes, seed)
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
        for tree, scores in ((HistTreeClassifier(4), ours), (DecisionTreeClassifier(max_depth=4), theirs)):
            boosted = AdaBoostClassifier(tree, n_estimators=10, random_state=0).fit(X_train, y_train)
            scores.append(boosted.score(X_test, y_test))
    assert np.mean(ours) > np.mean(theirs) - 0.015  # twice the standard error of a share of 4,000 samples


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_agent_with_histogram_trees_is_adaboost_with_them(n_classes):
    X, y, _ = whole_numbers(n_classes=n_classes)
    tree = HistTreeClassifier(max_depth=2)
    ours = AssistedClassifier([("agent", tree, slice(0, 4))], n_rounds=8, random_state=0, method="ascii").fit(X, y)
    theirs = AdaBoostClassifier(tree, n_estimators=8, random_state=0).fit(X, y)
    weights = [contribution.model_weight for contribution in ours.contributions_]
    # XGBoost reads weights as float32: the trees are the same, their weights agree to that precision.
    np.testing.assert_allclose(weights, theirs.estimator_weights_[: len(weights)], rtol=1e-5)
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_a_subsample_comes_from_the_seed_and_from_nothing_else():
    X, y = real_numbers()
    tree = HistTreeClassifier(subsample=0.5)
    trees = [clone(tree).set_params(random_state=seed).fit(X, y).predict_proba(X) for seed in (1, 1, 2)]
    assert np.array_equal(trees[0], trees[1])
    assert not np.array_equal(trees[0], trees[2])


@pytest.mark.parametrize("n_jobs", [1, 2, -1, None])
def test_the_number_of_threads_changes_nothing(n_jobs):
    X, y = real_numbers()
    one = HistTreeClassifier(n_jobs=1).fit(X, y)
    assert np.array_equal(HistTreeClassifier(n_jobs=n_jobs).fit(X, y).booster_, one.booster_)


@pytest.mark.parametrize(
    ("learner", "complaint"),
    [
        (HistTreeClassifier(max_depth=0), "max_depth=0 must lie between 1 and inf"),
        (HistTreeClassifier(max_depth=2.5), "max_depth=2.5 must be a whole number"),
        (HistTreeClassifier(max_bin=1), "max_bin=1 must lie between 2 and 65536"),
        (HistTreeClassifier(subsample=1.5), "subsample=1.5 must lie between 1e-06 and 1"),
        (HistTreeClassifier(subsample="half"), "subsample='half' must be a number"),
        (HistBoostClassifier(0), "n_estimators=0 must lie between"),
        (HistBoostClassifier(learning_rate=0.0), "learning_rate=0.0 must lie between"),
        (HistBoostClassifier(reg_lambda=-1.0), "reg_lambda=-1.0 must lie between"),
        (HistBoostClassifier(min_child_weight=-1), "min_child_weight=-1 must lie between"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(learner, complaint):
    with pytest.raises(SettingsError, match=complaint):
        learner.fit([[0.0], [1.0]], [0, 1])


def test_weights_that_are_all_zero_are_refused():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    with pytest.raises(ValueError, match="at least one non-zero"):
        HistTreeClassifier().fit(X, y, sample_weight=[0.0, 0.0])
    with pytest.raises(SettingsError, match="Every sample_weight is zero"):
        HistTreeClassifier().fit(HistTreeClassifier().prepare(X, y), y, sample_weight=[0.0, 0.0])


def test_one_class_is_answered_always():
    tree = HistTreeClassifier().fit([[0.0], [1.0]], ["only", "only"])
    assert tree.predict([[5.0]]) == ["only"]
    assert tree.predict_proba([[5.0]]).tolist() == [[1.0]]


# -- the boosted ensemble


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_ensemble_answers_what_xgboosts_own_classifier_answers(n_classes):
    X, y = real_numbers(n_classes=n_classes)
    weight = np.random.RandomState(0).exponential(size=len(y))
    ours = HistBoostClassifier(12, max_depth=3, learning_rate=0.2, max_bin=64, reg_lambda=0.5)
    theirs = XGBClassifier(
        n_estimators=12, max_depth=3, learning_rate=0.2, max_bin=64, reg_lambda=0.5, tree_method="hist"
    )
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=np.ones(len(y)))
    assert not np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)  # the weights do matter
    ours.fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_the_ensemble_has_as_many_trees_as_asked_for():
    X, y = real_numbers()
    assert HistBoostClassifier(7).fit(X, np.minimum(y, 1)).n_trees_ == 7
    assert HistBoostClassifier(7).fit(X, y).n_trees_ == 21


# -- scikit-learn's contract; no check is expected to fail


def test_the_ensemble_is_stronger_than_one_tree():
    X, y = real_numbers(6_000)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    boosted, tree = (
        classifier.fit(X_train, y_train).score(X_test, y_test)
        for classifier in (HistBoostClassifier(), HistTreeClassifier())
    )
    assert boosted > tree + 0.05


@parametrize_with_checks(
    [
        HistTreeClassifier(),
        HistTreeClassifier(subsample=0.8, random_state=0),
        HistBoostClassifier(n_estimators=5),
    ]
)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


# -- XGBoost is an extra: nothing needs it but the histogram trees, and they say how to get it


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_assistlearn_does_not_import_xgboost():
    done = run("import sys, assistlearn, assistlearn.learners; sys.exit('xgboost' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_without_xgboost_all_but_histogram_trees_works_and_they_say_how_to_install_it():
    code = (
        "import sys; sys.modules['xgboost'] = None\n"
        "import assistlearn\nfrom sklearn.datasets import load_iris\n"
        "assistlearn.AssistedClassifier().fit(*load_iris(return_X_y=True))\nprint('fitted')\n"
        "assistlearn.learners.HistTreeClassifier().fit([[0.0], [1.0]], [0, 1])\n"
    )
    done = run(code)
    assert done.stdout == "fitted\n", done.stderr
    assert "MissingExtraError: Histogram trees need XGBoost: pip install 'xgboost" in done.stderr
