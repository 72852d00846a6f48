"""Many trees in one booster: the models of all rounds answer in a single pass over the rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from assistlearn.core.votes import Codes
from assistlearn.learners.hist.booster import BLOCK, KNOWN_FORMATS, load_xgboost, margins_of
from assistlearn.learners.together import blocks
from assistlearn.learners.weighting import take_rows

if TYPE_CHECKING:
    from assistlearn.learners.hist.tree import HistTreeClassifier


def can_join() -> bool:
    """Whether the installed XGBoost writes its trees in a known way."""
    major, minor, *_ = load_xgboost().__version__.split(".")
    return (int(major), int(minor)) in KNOWN_FORMATS


class JointTrees:
    """One XGBoost booster that holds several classification trees, each with an output of its own: its class code.

    The answers are exactly those of the trees one by one; what is saved is a pass over the rows for each of them.

    Parameters
    ----------
    trees : sequence of HistTreeClassifier
        Fitted to the same columns and classes, with one tree each.
    """

    def __init__(self, trees: Sequence[HistTreeClassifier]) -> None:
        documents = [_document(tree) for tree in trees]
        coded = [_with_codes(_model(document)["trees"][0], number) for number, document in enumerate(documents)]
        joint = json.dumps(_joined(documents[0], coded)).encode()
        self._trees = trees
        self._booster = load_xgboost().Booster({"nthread": trees[0]._n_threads()}, model_file=bytearray(joint))

    def predict(self, X: Any) -> Codes:
        """Return the classes that every tree answers, of shape (n_trees, n_rows)."""
        X = self._trees[0]._checked_new(X)
        n_trees, n_rows = len(self._trees), _num_samples(X)
        classes = self._trees[0].classes_
        out = np.empty((n_trees, n_rows), dtype=_compact(classes))
        for rows in blocks(n_rows, BLOCK):
            codes = margins_of(self._booster, take_rows(X, rows)).reshape(-1, n_trees).T
            out[:, rows] = classes[codes.astype(np.intp)]
        return out


def _compact(classes: NDArray[Any]) -> np.dtype[Any]:
    """Return the smallest data type that holds the classes."""
    return (
        np.min_scalar_type(int(classes.max())) if classes.dtype.kind in "iu" and classes.min() >= 0 else classes.dtype
    )


def _document(tree: HistTreeClassifier) -> Any:
    assert tree.booster_ is not None
    return json.loads(tree.booster_.tobytes())


def _model(document: Any) -> Any:
    return document["learner"]["gradient_booster"]["model"]


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
    model = _model(document) | {
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
