"""Several trees in one booster, each with an output of its own: the class code that it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assistlearn.learners.hist.xgboost_json.frozen import Frozen, model_in, read_document, write_document


def joined(boosters: Sequence[Frozen]) -> Frozen:
    """Return one booster that holds the only tree of each of these; all know the same columns and classes."""
    documents = [read_document(frozen) for frozen in boosters]
    coded = [_with_codes(model_in(document)["trees"][0], number) for number, document in enumerate(documents)]
    return write_document(_joined(documents[0], coded))


def _with_codes(tree: Any, number: int) -> Any:
    """Return a tree whose leaves hold a class code in place of the classes' shares."""
    leaves = np.asarray(tree["left_children"]) == -1
    shares = np.asarray(tree["base_weights"], dtype=np.float32).reshape(len(leaves), -1)
    codes = shares.argmax(axis=1) if shares.shape[1] > 1 else shares[:, 0] > 0.5
    values = np.where(leaves, codes.astype(np.float32), np.asarray(tree["split_conditions"], dtype=np.float32))
    scalar = {key: value for key, value in tree.items() if key != "leaf_weights"}
    return scalar | {
        "id": number,
        "base_weights": values.tolist(),
        "split_conditions": values.tolist(),
        "right_children": np.where(leaves, -1, tree["right_children"]).tolist(),
        "tree_param": tree["tree_param"] | {"size_leaf_vector": "1"},
    }


def _joined(document: Any, trees: list[Any]) -> Any:
    """Return a model with these trees, one output each; everything else is as in ``document``."""
    learner = document["learner"]
    model = model_in(document) | {
        "trees": trees,
        "tree_info": list(range(len(trees))),
        "iteration_indptr": [0, len(trees)],
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
    }
    sizes = learner["learner_model_param"] | {
        "num_target": str(len(trees)),
        "base_score": f"[{','.join(['0E0'] * len(trees))}]",
    }
    booster = learner["gradient_booster"] | {"model": model}
    return document | {"learner": learner | {"gradient_booster": booster, "learner_model_param": sizes}}
