"""A crafted tree is found before anyone predicts with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn.errors import UntrustedFileError
from assistlearn.learners.model import audit

X, y = load_wine(return_X_y=True)


def crafted(tree: Any, change: Callable[[np.ndarray], None]) -> Any:
    """Return a tree of scikit-learn's with other nodes."""
    kind, arguments, state = tree.__reduce__()
    nodes = state["nodes"].copy()
    change(nodes)
    copy = kind(*arguments)
    copy.__setstate__(state | {"nodes": nodes})
    return copy


def child_outside(nodes: np.ndarray) -> None:
    nodes["left_child"][0] = len(nodes)


def child_far_below(nodes: np.ndarray) -> None:
    nodes["right_child"][0] = -1_000_000


def circle(nodes: np.ndarray) -> None:
    nodes["left_child"][0] = 0


def column_outside(nodes: np.ndarray) -> None:
    nodes["feature"][0] = X.shape[1]


CRAFTS = [child_outside, child_far_below, circle, column_outside]


@pytest.mark.parametrize("change", CRAFTS)
def test_a_crafted_tree_is_refused_wherever_it_stands(change):
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    tree.tree_ = crafted(tree.tree_, change)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    forest.estimators_[1].tree_ = crafted(forest.estimators_[1].tree_, change)
    for model in (tree, forest, [{"deep": (make_pipeline(StandardScaler(), tree),)}]):
        with pytest.raises(UntrustedFileError, match="a file: a tree"):
            audit(model, "a file")


@pytest.mark.parametrize(
    ("field", "value"),
    [("left", 10_000), ("right", 0), ("feature_idx", X.shape[1])],
    ids=["outside", "circle", "column"],
)
def test_a_crafted_tree_of_a_boosted_ensemble_is_refused(field, value):
    model = HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(X, y)
    model._predictors[1][0].nodes[field][0] = value
    with pytest.raises(UntrustedFileError, match="a file: a tree"):
        audit(model, "a file")


def test_a_tree_for_more_columns_than_its_model_has_is_refused():
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    tree.n_features_in_ = 2
    with pytest.raises(UntrustedFileError, match="a tree has 13 columns, but its model has 2"):
        audit(tree, "a file")
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    forest.n_features_in_ = 2
    with pytest.raises(UntrustedFileError, match="a forest of 2 columns"):
        audit(forest, "a file")


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_leaf_nodes=7),
        DecisionTreeClassifier(max_depth=4),
        RandomForestClassifier(3),
        HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]),
    ],
    ids=["best-first", "depth-first", "forest", "boosted"],
)
def test_honest_trees_pass(model):
    table = np.column_stack([np.arange(len(X)) % 7, X[:, 1:]])
    audit(model.fit(table, y), "a file")


def test_a_bag_whose_trees_know_some_of_the_columns_passes_and_a_crafted_tree_in_it_does_not():
    bag = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, max_features=0.5, random_state=0).fit(X, y)
    audit(bag, "a file")
    bag.estimators_[1].tree_ = crafted(bag.estimators_[1].tree_, child_outside)
    with pytest.raises(UntrustedFileError, match="child"):
        audit(bag, "a file")
