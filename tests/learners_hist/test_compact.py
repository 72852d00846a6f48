"""A compact tree is the same classification tree, grown on one byte for each value."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError
from assistlearn.learners import HistTreeClassifier
from assistlearn.learners.hist.compact import growing
from assistlearn.learners.hist.compact.bins import Bins
from assistlearn.learners.hist.xgboost_json.tree_audit import audited
from tests.learners_hist.tables import real_numbers, whole_numbers


def with_gaps(X, seed=1):
    return np.where(np.random.RandomState(seed).rand(*X.shape) < 0.15, np.nan, X)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gaps", [False, True])
def test_where_binning_loses_nothing_it_is_the_decision_tree(depth, n_classes, gaps):
    X, y, weight = whole_numbers(n_classes=n_classes)
    X = with_gaps(X) if gaps else X
    ours = HistTreeClassifier(depth, compact=True).fit(X, y, sample_weight=weight)
    theirs = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_lowers_the_impurity_as_far_as_xgboosts_tree_does(n_classes):
    X, y = real_numbers(20_000, n_classes)
    X = with_gaps(X)
    impurity = []
    for one_byte in (True, False):
        p = HistTreeClassifier(6, compact=one_byte).fit(X, y).predict_proba(X)
        impurity.append(1.0 - np.square(p).sum(axis=1).mean())
    assert impurity[0] == pytest.approx(impurity[1], rel=0.01)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_whichever_model_was_fitted_last_the_binned_table_gets_the_answers_that_rows_get(n_classes):
    X, y = real_numbers(3_000, n_classes)
    X = with_gaps(X)
    tree = HistTreeClassifier(compact=True)
    table = tree.prepare(X, y)
    models = [clone(tree).fit(table, y, sample_weight=np.where(y == favourite, 9.0, 1.0)) for favourite in range(2)]
    for model in [*models, *reversed(models)]:
        assert np.array_equal(model.predict_proba(table), model.predict_proba(X))
        assert np.array_equal(model.predict(table), model.predict(X))


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**-23, 2.0**500])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_scale_of_the_weights_does_not_matter_to_the_bit(scale, n_classes):
    X, y, weight = whole_numbers(n_classes=n_classes)
    one, other = (HistTreeClassifier(compact=True).fit(X, y, sample_weight=weight * by) for by in (1.0, scale))
    assert np.array_equal(one.booster_, other.booster_)


def test_a_sample_without_weight_counts_for_nothing():
    X, y, weight = whole_numbers()
    weight[::3] = 0.0
    tree = HistTreeClassifier(compact=True)
    table = tree.prepare(X, y)
    some = clone(tree).fit(table, y, sample_weight=weight)
    without = clone(tree).fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    assert np.array_equal(some.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_can_be_looked_at_in_groups(n_classes, monkeypatch):
    X, y = real_numbers(2_000, n_classes)
    whole = HistTreeClassifier(compact=True).fit(X, y)
    monkeypatch.setattr(growing, "MOST_SUMS", 3 * 5 * n_classes * 65)
    assert np.array_equal(HistTreeClassifier(compact=True).fit(X, y).booster_, whole.booster_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_missing_can_be_told_from_what_is_not(n_classes):
    y = np.arange(300) % n_classes
    X = np.where(y[:, None] == 1, np.nan, 7.0)
    tree = HistTreeClassifier(1, compact=True).fit(X, y)
    assert np.array_equal(tree.predict(X) == 1, y == 1)


def test_a_column_without_any_value_is_no_help_and_no_harm():
    X, y, weight = whole_numbers()
    more = np.column_stack([np.full(len(y), np.nan), X])
    one, other = (HistTreeClassifier(compact=True).fit(table, y, weight) for table in (X, more))
    assert np.array_equal(one.predict_proba(X), other.predict_proba(more))


@pytest.mark.parametrize("max_bin", [2, 3, 64, 255])
def test_bins_hold_about_as_many_samples_each(max_bin):
    bins = Bins(np.random.RandomState(0).normal(size=(10_000, 1)), max_bin)
    counts = np.bincount(bins.values[0])
    assert len(counts) == max_bin
    assert np.ptp(counts) <= 1


def test_its_trees_are_written_as_xgboost_writes_its_own():
    for n_classes in (2, 3):
        X, y = real_numbers(1_000, n_classes)
        tree = HistTreeClassifier(compact=True).fit(X, y)
        n_outputs = 1 if n_classes == 2 else n_classes
        kept = audited(tree.booster_, 8, n_outputs, tree._kept_objective(n_outputs), "here")
        assert np.array_equal(kept, tree.booster_)


def test_a_run_needs_few_bytes_for_each_sample():
    n = 400_000
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, 10)).astype(np.float32)
    y = (X.sum(axis=1) + rng.normal(size=n) > 0).astype(np.int8)
    tree = HistTreeClassifier(compact=True)
    clf = AssistedClassifier(
        [("a", tree, slice(0, 5)), ("b", tree, slice(5, 10))], n_rounds=2, random_state=0, method="ascii"
    )
    tracemalloc.start()
    clf.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Ten bins, three vectors of eight bytes (two of them the state's), two or three of one; and blocks of bounded size.
    assert peak < n * (10 + 3 * 8 + 3) + 6e6


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"max_depth": None}, "max_depth=12 and max_bin=255 at most, not max_depth=None and max_bin=64"),
        ({"max_depth": 13}, "not max_depth=13"),
        ({"max_bin": 256}, "max_bin=256"),
        ({"compact": "yes"}, "compact='yes' must be True or False"),
        ({"feature_types": ["c"]}, "cannot use categorical columns"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(settings, complaint):
    with pytest.raises(SettingsError, match=complaint):
        HistTreeClassifier(**{"compact": True} | settings).fit([[0.0], [1.0]], [0, 1])


def test_categories_are_refused():
    X = pd.DataFrame({"c": pd.Categorical(["p", "q"])})
    with pytest.raises(SettingsError, match="cannot use categorical columns"):
        HistTreeClassifier(compact=True).fit(X, [0, 1])
