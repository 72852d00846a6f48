"""Check a booster that was read from a file, before XGBoost reads it.

XGBoost follows a model's numbers without checking them: a crafted model could send it outside its arrays. Here every
field is checked, and unknown fields are refused. The model is then written anew, so that XGBoost reads exactly what was
checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import UntrustedFileError
from assistlearn.learners.hist.xgboost_json.frozen import Frozen, model_in, read_document, write_document
from assistlearn.learners.hist.xgboost_json.versions import KNOWN_VERSIONS

NO_CATEGORIES: dict[str, list[Any]] = {"enc": [], "feature_segments": [], "sorted_idx": []}
MOST_CATEGORIES = 2**24
LARGEST = float(np.finfo(np.float32).max)
FIELDS = {
    "base_weights",
    "categories",
    "categories_nodes",
    "categories_segments",
    "categories_sizes",
    "default_left",
    "id",
    "left_children",
    "loss_changes",
    "parents",
    "right_children",
    "split_conditions",
    "split_indices",
    "split_type",
    "sum_hessian",
    "tree_param",
}


def audited(frozen: Any, n_columns: int, n_outputs: int, objective: Mapping[str, Any], source: str) -> Frozen:
    """Return a booster written anew, after checking that every field is as XGBoost would have written it.

    Parameters
    ----------
    frozen : ndarray of uint8
        The booster, from a file.
    n_columns, n_outputs : int
        How many columns and outputs its classifier has.
    objective : mapping
        The objective of its classifier, as XGBoost writes it.
    source : str
        Where the booster comes from, for error messages.

    Raises
    ------
    UntrustedFileError
        Where any field is missing, unknown or has a wrong value.
    """
    try:
        _is(isinstance(frozen, np.ndarray) and frozen.dtype == np.uint8 and frozen.ndim == 1, "not bytes")
        document = read_document(frozen)
        _check(document, n_columns, n_outputs, objective)
    except (AssertionError, ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:
        raise UntrustedFileError(
            f"{source}: its XGBoost model cannot be trusted: {error}. It was damaged, made by hand, or written by a "
            "version of XGBoost that is not known here."
        ) from error
    return write_document(document)


def _check(document: Any, n_columns: int, n_outputs: int, objective: Mapping[str, Any]) -> None:
    _has(document, {"learner", "version"})
    _is((*_ints(document["version"], 3, 0, 1_000)[:2].tolist(),) in KNOWN_VERSIONS, "a version that is not known")
    learner = document["learner"]
    _has(
        learner,
        {"attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective"},
    )
    _is(learner["attributes"] == {} and learner["feature_names"] == [], "attributes")
    _is(learner["objective"] == objective, "objective")
    types = learner["feature_types"]
    _is(types == [] or (len(types) == n_columns and set(types) <= {"c", "q"}), "feature_types")
    _has(learner["gradient_booster"], {"model", "name"})
    _is(learner["gradient_booster"]["name"] == "gbtree", "gradient_booster")
    model = model_in(document)
    _has(model, {"cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"})
    _is(model["cats"] == NO_CATEGORIES, "cats")
    trees = model["trees"]
    vector = n_outputs if n_outputs > 1 and "leaf_weights" in trees[0] else 1
    _check_sizes(learner["learner_model_param"], n_columns, n_outputs, objective["name"])
    _check_order(model, n_outputs if vector == 1 else 1)
    for number, tree in enumerate(trees):
        _is(tree["id"] == number and type(tree["id"]) is int, "id of a tree")
        _check_tree(tree, n_columns, vector)


def _check_sizes(sizes: Any, n_columns: int, n_outputs: int, objective: str) -> None:
    _has(sizes, {"base_score", "boost_from_average", "num_class", "num_feature", "num_target"})
    by_class = objective.startswith("multi:")
    _is(sizes["num_feature"] == str(n_columns), "num_feature")
    _is(sizes["num_class"] == (str(n_outputs) if by_class else "0"), "num_class")
    _is(sizes["num_target"] == ("1" if by_class else str(n_outputs)), "num_target")
    _is(sizes["boost_from_average"] in ("0", "1"), "boost_from_average")
    _floats(json.loads(sizes["base_score"]), n_outputs)
    _is(len(sizes["base_score"]) < 64 * n_outputs, "base_score")


def _check_order(model: Any, n_groups: int) -> None:
    n_trees = len(model["trees"])
    _is(n_trees > 0, "no trees")
    _is(model["gbtree_model_param"] == {"num_parallel_tree": "1", "num_trees": str(n_trees)}, "num_trees")
    _ints(model["tree_info"], n_trees, 0, n_groups)
    until = _ints(model["iteration_indptr"], None, 0, n_trees + 1)
    _is(until[0] == 0 and until[-1] == n_trees and bool((np.diff(until) >= 0).all()), "iteration_indptr")


def _check_tree(tree: Any, n_columns: int, vector: int) -> None:
    _has(tree, FIELDS | ({"leaf_weights"} if vector > 1 else set()))
    left = _ints(tree["left_children"], None, -1, len(tree["left_children"]))
    n_nodes = len(left)
    size = {
        "num_deleted": "0",
        "num_feature": str(n_columns),
        "num_nodes": str(n_nodes),
        "size_leaf_vector": str(vector),
    }
    _is(tree["tree_param"] == size, "tree_param")
    leaves = left == -1
    right = _ints(tree["right_children"], n_nodes, -1, n_nodes)
    _ints(tree["default_left"], n_nodes, 0, 2)
    _ints(tree["split_indices"], n_nodes, 0, n_columns)
    by_category = _ints(tree["split_type"], n_nodes, 0, 2) == 1
    for name in ("loss_changes", "split_conditions", "sum_hessian"):
        _floats(tree[name], n_nodes)
    _floats(tree["base_weights"], n_nodes * vector)
    _check_children(left, right, leaves, _ints(tree["parents"], n_nodes, -1, 2**31))
    if vector == 1:
        _is(bool((right[leaves] == -1).all()), "a leaf with a child")
    else:  # the number of a leaf's right child says where its values are
        _is(np.array_equal(np.sort(right[leaves]), np.arange(leaves.sum())), "leaves without values")
        _floats(tree["leaf_weights"], int(leaves.sum()) * vector)
    _check_categories(tree, np.flatnonzero(by_category))
    _is(not (by_category & leaves).any(), "split_type")


def _check_children(left: NDArray[Any], right: NDArray[Any], leaves: NDArray[Any], parents: NDArray[Any]) -> None:
    """Refuse a tree unless every node but the first is the child of exactly one earlier node."""
    inner = np.flatnonzero(~leaves)
    children = np.concatenate([left[inner], right[inner]])
    _is(np.array_equal(np.sort(children), np.arange(1, len(left))), "children")
    _is(
        bool((left[inner] > inner).all() and (right[inner] > inner).all()),
        "a child that does not come after its parent",
    )
    _is(np.array_equal(parents[left[inner]], inner) and np.array_equal(parents[right[inner]], inner), "parents")
    _is(int(parents[0]) in (-1, 2**31 - 1), "the first node's parent")


def _check_categories(tree: Any, nodes: NDArray[np.intp]) -> None:
    _is(np.array_equal(_ints(tree["categories_nodes"], len(nodes), 0, 2**31), nodes), "categories_nodes")
    categories = _ints(tree["categories"], None, 0, MOST_CATEGORIES)
    starts = _ints(tree["categories_segments"], len(nodes), 0, 2**31)
    sizes = _ints(tree["categories_sizes"], len(nodes), 1, 2**31)
    _is(bool((starts + sizes <= len(categories)).all()), "categories_segments")


def _ints(values: Any, length: int | None, least: int, below: int) -> NDArray[np.int64]:
    """Return values as an array, after checking that they are whole numbers of a range, and how many they are."""
    _is(isinstance(values, list), "a list is missing")
    if length is not None:
        _is(len(values) == length, f"{len(values)} numbers in place of {length}")
    _is(set(map(type, values)) <= {int}, "something else than whole numbers")
    _is(not values or (min(values) >= least and max(values) < below), f"a number outside {least} to {below - 1}")
    return np.array(values, dtype=np.int64)


def _floats(values: Any, length: int) -> None:
    _is(isinstance(values, list) and len(values) == length, "a list of another length")
    _is(set(map(type, values)) <= {float} and all(abs(x) <= LARGEST for x in values), "something else than numbers")


def _has(fields: Any, names: set[str]) -> None:
    _is(isinstance(fields, dict) and set(fields) == names, f"other fields than {', '.join(sorted(names))}")


def _is(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
