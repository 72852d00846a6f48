"""A compact tree: where its nodes split, and the weight of each class in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Floats


@dataclass(frozen=True)
class Split:
    """Where a node is split.

    Attributes
    ----------
    column : int
        The column that it is split by.
    bin : int
        The first bin that goes to the right.
    left : int
        The number of the left child. The right child has the next number.
    missing_left : bool
        Whether a missing value goes to the left.
    gain : float
        By how much the weighted impurity falls.
    """

    column: int
    bin: int
    left: int
    missing_left: bool
    gain: float


@dataclass(frozen=True)
class CompactTree:
    """A grown tree.

    Attributes
    ----------
    splits : sequence of (Split or None)
        For every node its split; None for a leaf. Children come after their parents.
    weights : ndarray of shape (n_nodes, n_classes)
        The weight of each class in every node. Those of the root sum to about one.
    """

    splits: Sequence[Split | None]
    weights: Floats

    def shares(self) -> NDArray[np.float32]:
        """Return the share of each class in every node."""
        shares: Floats = self.weights / self.weights.sum(axis=1, keepdims=True)
        return shares.astype(np.float32)
