"""Bins of one byte for each value of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.blocks import blocks
from assistlearn.learners.hist.compact.compact_tree import Split

MOST_BINS = 255
"""The most bins of a column: a bin is one byte, and one of the 256 values marks a missing value."""
END = np.finfo(np.float32).max

Nodes = NDArray[np.unsignedinteger[Any]]


class Bins:
    """The columns of a table, each cut into bins with about as many samples as the others.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_columns)
        Missing values are NaN.
    max_bin : int
        The number of bins of a column, at the most.

    Attributes
    ----------
    cuts : list of ndarray of float32
        For every column, the value at which each of its bins ends.
    values : ndarray of uint8 of shape (n_columns, n_samples)
        The bins; ``max_bin`` where a value is missing.

    Examples
    --------
    >>> bins = Bins(np.array([[1.0], [5.0], [5.0], [np.nan]]), max_bin=64)
    >>> bins.values
    array([[ 0,  1,  1, 64]], dtype=uint8)
    """

    def __init__(self, X: NDArray[Any], max_bin: int) -> None:
        n_samples, n_columns = X.shape
        self.max_bin = max_bin
        self.cuts = []
        self.values = np.empty((n_columns, n_samples), dtype=np.uint8)
        for column, out in zip(X.T, self.values, strict=True):
            cuts = _cuts(column, max_bin)
            for rows in blocks(n_samples):
                part = column[rows].astype(np.float32)
                out[rows] = np.where(np.isnan(part), max_bin, np.searchsorted(cuts[:-1], part, side="right"))
            self.cuts.append(cuts)
        self._some_missing = bool(self.values.max(initial=0) == max_bin)

    def leaves(self, splits: Sequence[Split | None]) -> Nodes:
        """Return the leaf of each sample in a tree that was grown on these bins."""
        nodes = np.zeros(self.values.shape[1], dtype=np.min_scalar_type(len(splits)))
        first = 1
        while first < len(splits):
            self.descend(nodes, splits, first)
            first = 1 + max(split.left + 1 for split in splits[:first] if split is not None)
        return nodes

    def descend(self, nodes: Nodes, splits: Sequence[Split | None], first: int) -> None:
        """Move samples to the children that are numbered from ``first`` on, in place."""
        n_samples = len(nodes)
        begin = np.zeros(len(splits), dtype=np.intp)  # where the node's column begins among all values
        bin = np.full(len(splits), MOST_BINS + 1, dtype=np.int16)  # samples of a node that is not split stay in it
        left = np.arange(len(splits)).astype(nodes.dtype)
        missing_left = np.zeros(len(splits), dtype=bool)
        for node, split in enumerate(splits[:first]):
            if split is not None and split.left >= first:
                begin[node], bin[node], left[node] = split.column * n_samples, split.bin, split.left
                missing_left[node] = split.missing_left
        values = self.values.reshape(-1)
        for rows in blocks(n_samples):
            here = nodes[rows]
            cell = begin[here]
            cell += np.arange(rows.start, rows.start + len(here))
            own = values[cell]
            right = own >= bin[here]
            if self._some_missing:
                right &= ~((own == self.max_bin) & missing_left[here])
            np.add(left[here], right, out=here)


def _cuts(column: NDArray[Any], max_bin: int) -> NDArray[np.float32]:
    """Return where the bins of a column end."""
    values = column.astype(np.float32)
    values.sort()  # missing values come last
    values = values[: len(values) - np.count_nonzero(np.isnan(values))]
    if np.count_nonzero(values[1:] != values[:-1]) < max_bin:
        ends = np.unique(values)[1:]
    else:
        ends = np.unique(values[np.arange(1, max_bin) * len(values) // max_bin])
        ends = ends[ends > values[0]]
    return np.append(ends, END)
