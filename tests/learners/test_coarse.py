"""Histogram boosting is handed a table that is as coarse as it would see it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from assistlearn.learners.learner import Learner
from assistlearn.learners.model import coarsened

X, Y = make_classification(2_000, 6, n_informative=4, random_state=0)


@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.booleans())
def test_a_coarse_column_keeps_the_order_of_its_values_and_what_is_missing(seed, n_bins, rounded):
    rng = np.random.default_rng(seed)
    column = rng.normal(size=300).round(1 if rounded else 9)
    column[rng.random(300) < 0.1] = np.nan
    out = coarsened(HistGradientBoostingClassifier(max_bins=n_bins), column.reshape(-1, 1))[:, 0]
    assert len(np.unique(out[np.isfinite(out)])) <= max(n_bins, 0)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(column))
    there = np.isfinite(column)
    ordered = out[there][np.argsort(column[there], kind="stable")]
    assert (np.diff(ordered) >= 0).all()


@pytest.mark.parametrize(
    "learner", [RandomForestClassifier(), HistGradientBoostingClassifier(categorical_features=[0])]
)
def test_other_learners_and_columns_of_categories_are_left_alone(learner):
    assert coarsened(learner, X) is X


def test_nobodys_table_is_changed():
    before = X.copy()
    assert coarsened(HistGradientBoostingClassifier(), X) is not X
    np.testing.assert_array_equal(X, before)


def test_boosting_is_as_right_about_new_rows_as_with_all_values():
    weights = np.random.RandomState(0).dirichlet(np.ones(1_500))
    plain = HistGradientBoostingClassifier(max_iter=30).fit(X[:1_500], Y[:1_500], sample_weight=weights * 1_500)
    learner = Learner(HistGradientBoostingClassifier(max_iter=30), "a")
    learner.prepare(X[:1_500], Y[:1_500], 0)
    model, _ = learner.fit(weights, 0, "round 1", 2)
    right = float((model.predict(X[1_500:]) == Y[1_500:]).mean())
    assert abs(right - plain.score(X[1_500:], Y[1_500:])) < 0.03
    assert right > 0.85


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_data_frame_is_as_coarse_as_an_array(frame):
    columns = {f"c{place}": X[:, place] for place in range(3)}
    out = coarsened(HistGradientBoostingClassifier(), frame(columns | {"words": ["a", "b"] * 1_000}))
    expected = coarsened(HistGradientBoostingClassifier(), X[:, :3])
    for place, name in enumerate(columns):
        np.testing.assert_array_equal(out[name].to_numpy(), expected[:, place])
    assert list(out["words"][:3]) == ["a", "b", "a"]
