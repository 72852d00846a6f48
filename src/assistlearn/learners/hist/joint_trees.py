"""Many trees in one booster: the models of all rounds answer in a single pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from assistlearn.core.blocks import blocks
from assistlearn.core.votes import Codes
from assistlearn.learners.hist.booster import PREDICTED_ROWS, margins_of
from assistlearn.learners.hist.xgboost_json.frozen import thaw
from assistlearn.learners.hist.xgboost_json.joining import joined
from assistlearn.learners.weighting import take_rows

if TYPE_CHECKING:
    from assistlearn.learners.hist.tree import HistTreeClassifier


class JointTrees:
    """One XGBoost booster that holds several classification trees, each with an output of its own: its class code.

    The answers are exactly those of the trees one by one. But they need one pass over the rows, not one for each tree.

    Parameters
    ----------
    trees : sequence of HistTreeClassifier
        Fitted to the same columns and classes, with one tree each.
    """

    def __init__(self, trees: Sequence[HistTreeClassifier]) -> None:
        self._trees = trees
        boosters = [tree.booster_ for tree in trees if tree.booster_ is not None]
        self._booster = thaw(joined(boosters), trees[0]._n_threads())

    def predict(self, X: Any) -> Codes:
        """Return the classes that every tree answers, of shape (n_trees, n_rows)."""
        X = self._trees[0]._checked_new(X)
        n_trees, n_rows = len(self._trees), _num_samples(X)
        classes = self._trees[0].classes_
        out = np.empty((n_trees, n_rows), dtype=_smallest_type(classes))
        for rows in blocks(n_rows, PREDICTED_ROWS):
            codes = margins_of(self._booster, take_rows(X, rows)).reshape(-1, n_trees).T
            out[:, rows] = classes[codes.astype(np.intp)]
        return out


def _smallest_type(classes: NDArray[Any]) -> np.dtype[Any]:
    """Return the smallest data type that holds the classes."""
    return (
        np.min_scalar_type(int(classes.max())) if classes.dtype.kind in "iu" and classes.min() >= 0 else classes.dtype
    )
