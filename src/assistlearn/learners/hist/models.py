"""XGBoost: loaded where it is installed; a grown booster as bytes that can be kept, checked and asked again.

The bytes are XGBoost's own JSON, because the standard library reads and writes it: a check of what comes from a file
needs no reader of ours.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import MissingExtraError, UntrustedFileError
from assistlearn.extras import install_line

Frozen: TypeAlias = NDArray[np.uint8]
Margins: TypeAlias = NDArray[np.float32]

PREDICTED_ROWS = 16_384
"""Rows that XGBoost predicts at a time: they stay in the processor's cache, and the memory needed is bounded."""

OLDEST_VERSION = (3, 2)
"""The oldest XGBoost whose models are read: what it makes of older ones is not tested."""
MOST_CATEGORY_BITS = 2**30
"""The most bits of all sets of categories: a node that is split by categories has one for each up to its highest."""
LARGEST = float(np.finfo(np.float32).max)


def load_xgboost() -> Any:
    try:
        import xgboost
    except ImportError:
        raise MissingExtraError(f"Histogram trees need XGBoost: {install_line('xgboost')}") from None
    return xgboost


def freeze(booster: Any) -> Frozen:
    """Return a booster as bytes, without its training table and without any code."""
    return np.frombuffer(booster.save_raw("json"), dtype=np.uint8).copy()


def thaw(frozen: Frozen, n_threads: int) -> Any:
    return load_xgboost().Booster({"nthread": n_threads}, model_file=bytearray(frozen.tobytes()))


# -- a booster from a file ---------------------------------------------------------------------------------------------
# XGBoost checks names, types and most lengths when it reads a model. It does not check children, parents, columns, the
# outputs of trees and the places of leaves and categories: one wrong number, and it reads outside its arrays. So these
# are checked here before it sees them. Fields that are not known here might hold such numbers, too, and are refused.


def checked(frozen: Any, n_columns: int, n_outputs: int, source: str) -> Frozen:
    """Return a booster written anew, after checking all numbers that XGBoost would follow unchecked.

    It is written anew so that XGBoost reads what was checked, even where a key was there twice. Refused is a booster
    with a field that is missing or unknown, or that leads outside.
    """
    try:
        _is(isinstance(frozen, np.ndarray) and frozen.dtype == np.uint8 and frozen.ndim == 1, "not bytes")
        document = json.loads(frozen.tobytes())
        _check_document(document, n_columns, n_outputs)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise UntrustedFileError(
            f"{source}: its XGBoost model cannot be trusted: {error}. It was damaged, made by hand, or written by a "
            "version of XGBoost that is not known here."
        ) from error
    return np.frombuffer(json.dumps(document).encode(), dtype=np.uint8).copy()


def _check_document(document: Any, n_columns: int, n_outputs: int) -> None:
    _has(document, "learner version")
    _is(tuple(_ints(document["version"], 3, 0, 1_000)) >= OLDEST_VERSION, "a version that is not known")
    learner = document["learner"]
    _has(learner, "attributes feature_names feature_types gradient_booster learner_model_param objective")
    _is(learner["attributes"] == {} and learner["feature_names"] == [], "attributes")
    types = learner["feature_types"]
    _is(types == [] or (len(types) == n_columns and set(types) <= {"c", "q"}), "feature_types")
    objective = learner["objective"]
    by_class = objective["name"] == "multi:softprob"
    _is(by_class or objective["name"] in ("reg:squarederror", "binary:logistic"), "objective")
    classes, scale = {"num_class": str(n_outputs)}, {"scale_pos_weight": "1"}
    known = {"softmax_multiclass_param": classes} if by_class else {"reg_loss_param": scale}
    _is(objective == {"name": objective["name"]} | known, "objective")
    sizes = learner["learner_model_param"]
    _has(sizes, "base_score boost_from_average num_class num_feature num_target")
    _is(sizes["num_feature"] == str(n_columns), "num_feature")
    _is(sizes["num_class"] == (str(n_outputs) if by_class else "0"), "num_class")
    _is(sizes["num_target"] == ("1" if by_class else str(n_outputs)), "num_target")
    _is(sizes["boost_from_average"] in ("0", "1"), "boost_from_average")
    _is(len(sizes["base_score"]) < 64 * n_outputs, "base_score")
    _floats(json.loads(sizes["base_score"]), n_outputs)
    _has(learner["gradient_booster"], "model name")
    _is(learner["gradient_booster"]["name"] == "gbtree", "gradient_booster")
    model = learner["gradient_booster"]["model"]
    _has(model, "cats gbtree_model_param iteration_indptr tree_info trees")
    _is(all(part == [] for part in model["cats"].values()), "cats")
    trees = model["trees"]
    vector = n_outputs if n_outputs > 1 and "leaf_weights" in trees[0] else 1
    _is(model["gbtree_model_param"] == {"num_parallel_tree": "1", "num_trees": str(len(trees))}, "num_trees")
    _ints(model["tree_info"], len(trees), 0, n_outputs if vector == 1 else 1)
    until = _ints(model["iteration_indptr"], None, 0, len(trees) + 1)
    _is(until[0] == 0 and until[-1] == len(trees) and bool((np.diff(until) >= 0).all()), "iteration_indptr")
    bits = 0
    for number, tree in enumerate(trees):
        _is(tree["id"] == number and type(tree["id"]) is int, "id of a tree")
        bits += _check_tree(tree, n_columns, vector)
    _is(bits < MOST_CATEGORY_BITS, "more categories than can be kept")


def _check_tree(tree: Any, n_columns: int, vector: int) -> int:
    """Check a tree, and return how many bits XGBoost will keep for its categories."""
    _has(
        tree,
        "base_weights categories categories_nodes categories_segments categories_sizes default_left id left_children "
        "loss_changes parents right_children split_conditions split_indices split_type sum_hessian tree_param"
        + " leaf_weights"
        * (vector > 1),
    )
    n = len(tree["left_children"])
    sizes = {"num_deleted": "0", "num_feature": n_columns, "num_nodes": n, "size_leaf_vector": vector}
    _is(tree["tree_param"] == {name: str(size) for name, size in sizes.items()}, "tree_param")
    left, right = _ints(tree["left_children"], n, -1, n), _ints(tree["right_children"], n, -1, n)
    parents = _ints(tree["parents"], n, -1, 2**31)
    _ints(tree["default_left"], n, 0, 2)
    _ints(tree["split_indices"], n, 0, n_columns)
    by_category = _ints(tree["split_type"], n, 0, 2) == 1
    for name in ("loss_changes", "split_conditions", "sum_hessian"):
        _floats(tree[name], n)
    _floats(tree["base_weights"], n * vector)

    leaves = left == -1
    inner = np.flatnonzero(~leaves)
    children = np.concatenate([left[inner], right[inner]])
    _is(np.array_equal(np.sort(children), np.arange(1, n)), "a node that is not the child of one other")
    _is(bool((children > np.tile(inner, 2)).all()), "a child that does not come after its parent")
    _is(np.array_equal(parents[children], np.tile(inner, 2)) and int(parents[0]) in (-1, 2**31 - 1), "parents")
    if vector == 1:
        _is(bool((right[leaves] == -1).all()), "a leaf with a child")
    else:  # the number of a leaf's right child says where its values are
        _is(np.array_equal(np.sort(right[leaves]), np.arange(leaves.sum())), "leaves without values")
        _floats(tree["leaf_weights"], int(leaves.sum()) * vector)

    nodes = np.flatnonzero(by_category)
    _is(not leaves[nodes].any(), "a leaf that is split")
    _is(np.array_equal(_ints(tree["categories_nodes"], len(nodes), 0, n), nodes), "categories_nodes")
    categories = _ints(tree["categories"], None, 0, MOST_CATEGORY_BITS)
    counts = _ints(tree["categories_sizes"], len(nodes), 1, len(categories) + 1)
    starts = _ints(tree["categories_segments"], len(nodes), 0, len(categories) + 1)
    _is(np.array_equal(np.append(starts, len(categories)), np.append(0, counts.cumsum())), "categories_segments")
    highest = np.maximum.reduceat(categories, starts) if len(nodes) else categories
    return int(highest.sum())


def _ints(values: Any, length: int | None, least: int, below: int) -> NDArray[np.int64]:
    """Return values as an array, after checking that they are whole numbers of a range, and how many they are."""
    _is(isinstance(values, list), "a list is missing")
    _is(length is None or len(values) == length, f"{len(values)} numbers in place of {length}")
    _is(set(map(type, values)) <= {int}, "something else than whole numbers")
    _is(not values or (min(values) >= least and max(values) < below), f"a number outside {least} to {below - 1}")
    return np.array(values, dtype=np.int64)


def _floats(values: Any, length: int) -> None:
    _is(isinstance(values, list) and len(values) == length, "a list of another length")
    _is(set(map(type, values)) <= {float} and all(abs(x) <= LARGEST for x in values), "something else than numbers")


def _has(fields: Any, names: str) -> None:
    _is(isinstance(fields, dict) and sorted(fields) == sorted(names.split()), f"other fields than {names}")


def _is(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
