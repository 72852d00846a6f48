"""Many trees that answer together: new rows are checked and read once, and not once for each tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from assistlearn.core.blocks import blocks
from assistlearn.core.votes import Codes
from assistlearn.learners.hist.booster import PREDICTED_ROWS, load_xgboost
from assistlearn.learners.hist.xgboost_json.frozen import thaw
from assistlearn.learners.weighting import take_rows

if TYPE_CHECKING:
    from assistlearn.learners.hist.tree import HistTreeClassifier


class JointTrees:
    """Several classification trees that answer together, exactly as they do one by one.

    Parameters
    ----------
    trees : sequence of HistTreeClassifier
        Fitted to the same columns and classes.
    """

    def __init__(self, trees: Sequence[HistTreeClassifier]) -> None:
        self._trees = trees
        self._boosters = [thaw(tree.booster_, trees[0]._n_threads()) for tree in trees if tree.booster_ is not None]

    def predict(self, X: Any) -> Codes:
        """Return the classes that every tree answers, of shape (n_trees, n_rows)."""
        first = self._trees[0]
        X = first._checked_new(X)
        n_rows = _num_samples(X)
        out = np.empty((len(self._trees), n_rows), dtype=_smallest_type(first.classes_))
        classes = first.classes_.astype(out.dtype)
        for rows in blocks(n_rows, PREDICTED_ROWS):
            matrix = load_xgboost().DMatrix(take_rows(X, rows), nthread=first._n_threads())
            for booster, answers in zip(self._boosters, out, strict=True):
                margins = booster.predict(matrix, output_margin=True, validate_features=False)
                answers[rows] = classes[first._codes(margins)]
        return out


def _smallest_type(classes: NDArray[Any]) -> np.dtype[Any]:
    """Return the smallest data type that holds the classes."""
    return (
        np.min_scalar_type(int(classes.max())) if classes.dtype.kind in "iu" and classes.min() >= 0 else classes.dtype
    )
