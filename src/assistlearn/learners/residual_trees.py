"""Residual trees: regression trees that an agent made in one turn, and that vote as one.

:mod:`assistlearn.learners.residual_boosting` explains how they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.tree import DecisionTreeRegressor

from assistlearn.core.ignorance import Floats
from assistlearn.errors import UntrustedFileError


@dataclass(frozen=True)
class ResidualTrees:
    """The residual trees of one turn, behind the same transformers.

    Attributes
    ----------
    trees : list of DecisionTreeRegressor
        With an output for every class: what a leaf adds to the logarithm of the class's probability.
    loudness : float
        The factor by which their sum is multiplied before it is told.
    n_classes : int
        The number of classes, all of which it gives probabilities for.

    Examples
    --------
    >>> X, residuals = np.array([[0.0], [1.0], [2.0]]), np.array([[0.5, -0.5], [-0.5, 0.5], [-0.5, 0.5]])
    >>> parts = [DecisionTreeRegressor(max_depth=1).fit(X, residuals) for _ in range(2)]
    >>> ResidualTrees(parts, 1.0, 2).predict_proba(X).round(2)
    array([[0.88, 0.12],
           [0.12, 0.88],
           [0.12, 0.88]])
    """

    trees: Sequence[DecisionTreeRegressor]
    loudness: float
    n_classes: int

    @property
    def classes_(self) -> NDArray[np.intp]:
        """The class codes, in the order of the probabilities."""
        return np.arange(self.n_classes)

    def sums(self, rows: Any, **options: Any) -> Floats:
        """Return the sum of what the trees say, ``n x K``."""
        total: Floats = self.trees[0].predict(rows, **options)
        for tree in self.trees[1:]:
            total = total + tree.predict(rows, **options)
        return total

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        """Return the probabilities that follow from the sum and the loudness."""
        return said_by(self.sums(rows, **options), self.loudness)

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        """Return the likeliest class codes."""
        codes: NDArray[np.intp] = self.sums(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the nodes of the trees.

        It is called for residual trees that were read from a file (:mod:`assistlearn.learners.model_audit`).
        """
        if not isinstance(self.trees, list) or not self.trees or type(self.n_classes) is not int or self.n_classes < 2:
            raise UntrustedFileError(f"{source}: residual trees must have a list of trees, and at least two classes.")
        if type(self.loudness) is not float or not 0.0 < self.loudness < np.inf:
            raise UntrustedFileError(
                f"{source}: residual trees have the loudness {self.loudness!r}, which is not a positive finite number."
            )
        for tree in self.trees:
            if type(tree) is not DecisionTreeRegressor or not hasattr(tree, "tree_"):
                raise UntrustedFileError(
                    f"{source}: residual trees contain something that is not a fitted regression tree."
                )
            said = tree.tree_.value
            if said.shape[1:] != (self.n_classes, 1) or getattr(tree, "n_outputs_", None) != self.n_classes:
                raise UntrustedFileError(f"{source}: a residual tree does not give one number for each class.")
            if not np.isfinite(said).all():
                raise UntrustedFileError(f"{source}: a residual tree gives numbers that are not finite.")


def said_by(sums: Floats, loudness: float) -> Floats:
    """Return the probabilities that follow from sums of trees.

    >>> said_by(np.array([[2.0, 0.0]]), 0.5).round(3)
    array([[0.731, 0.269]])
    """
    out: Floats = softmax(loudness * sums, axis=1)
    return out
