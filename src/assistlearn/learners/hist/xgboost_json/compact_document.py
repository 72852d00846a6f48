"""Write a compact tree as XGBoost writes its own trees, and read it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assistlearn.learners.hist.booster import Margins
from assistlearn.learners.hist.compact.bins import Bins
from assistlearn.learners.hist.compact.compact_tree import CompactTree, Split
from assistlearn.learners.hist.xgboost_json.frozen import Frozen, model_in, read_document, write_document
from assistlearn.learners.hist.xgboost_json.tree_audit import NO_CATEGORIES
from assistlearn.learners.hist.xgboost_json.versions import WRITTEN_VERSION

NO_PARENT = 2**31 - 1


def written(tree: CompactTree, bins: Bins, objective: Mapping[str, Any]) -> Frozen:
    """Return a compact tree as the bytes of a booster of XGBoost."""
    n_columns, n_classes = len(bins.cuts), tree.weights.shape[1]
    n_outputs = n_classes if n_classes > 2 else 1
    model = {
        "cats": NO_CATEGORIES,
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "1"},
        "iteration_indptr": [0, 1],
        "tree_info": [0],
        "trees": [_tree(tree, bins, n_outputs)],
    }
    sizes = {
        "base_score": f"[{','.join(['0E0'] * n_outputs)}]",
        "boost_from_average": "0",
        "num_class": "0",
        "num_feature": str(n_columns),
        "num_target": str(n_outputs),
    }
    learner = {
        "attributes": {},
        "feature_names": [],
        "feature_types": [],
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": sizes,
        "objective": dict(objective),
    }
    return write_document({"learner": learner, "version": list(WRITTEN_VERSION)})


def splits_of(frozen: Frozen, bins: Bins) -> list[Split | None]:
    """Return the splits of a tree that was written by :func:`written` and grown on the same bins."""
    tree = _only_tree(frozen)
    out: list[Split | None] = []
    for node, left in enumerate(tree["left_children"]):
        column, value = tree["split_indices"][node], np.float32(tree["split_conditions"][node])
        bin = int(np.searchsorted(bins.cuts[column], value)) + 1
        split = Split(column, bin, left, bool(tree["default_left"][node]), tree["loss_changes"][node])
        out.append(None if left == -1 else split)
    return out


def values_of(frozen: Frozen) -> Margins:
    """Return the raw scores of every node, of shape (n_nodes,) or (n_nodes, n_outputs)."""
    tree = _only_tree(frozen)
    values = np.array(tree["base_weights"], dtype=np.float32)
    n_outputs = int(tree["tree_param"]["size_leaf_vector"])
    return values.reshape(-1, n_outputs) if n_outputs > 1 else values


def _only_tree(frozen: Frozen) -> Any:
    return model_in(read_document(frozen))["trees"][0]


def _tree(tree: CompactTree, bins: Bins, n_outputs: int) -> dict[str, Any]:
    splits, shares = tree.splits, tree.shares()
    values = shares[:, 1:] if n_outputs == 1 else shares
    leaves = [node for node, split in enumerate(splits) if split is None]
    parents = [-1 if n_outputs > 1 else NO_PARENT] * len(splits)
    for node, split in enumerate(splits):
        if split is not None:
            parents[split.left] = parents[split.left + 1] = node
    # Where a leaf has several values, the number of its right child says where they are.
    place = {node: number if n_outputs > 1 else -1 for number, node in enumerate(leaves)}
    ends = [
        values[node, 0] if split is None else bins.cuts[split.column][split.bin - 1]
        for node, split in enumerate(splits)
    ]
    nothing: dict[str, list[Any]] = {
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
    }
    fields = {
        "base_weights": values.ravel().tolist(),
        "default_left": [int(split is not None and split.missing_left) for split in splits],
        "id": 0,
        "left_children": [-1 if split is None else split.left for split in splits],
        "loss_changes": [0.0 if split is None else split.gain for split in splits],
        "parents": parents,
        "right_children": [place[node] if split is None else split.left + 1 for node, split in enumerate(splits)],
        "split_conditions": [float(end) for end in ends],
        "split_indices": [0 if split is None else split.column for split in splits],
        "split_type": [0] * len(splits),
        "sum_hessian": tree.weights.sum(axis=1).tolist(),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(len(bins.cuts)),
            "num_nodes": str(len(splits)),
            "size_leaf_vector": str(n_outputs),
        },
    }
    if n_outputs > 1:
        fields["leaf_weights"] = values[leaves].ravel().tolist()
    return fields | nothing
