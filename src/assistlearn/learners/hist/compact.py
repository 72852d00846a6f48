"""Bins of one byte, and a classification tree grown on them without XGBoost's memory.

XGBoost keeps 23 bytes for each sample of five columns, and 36 more while it grows a tree. Here a value is one byte, and
growing needs one or two bytes for each sample: where it is in the tree. The sums of the weights by node, class and bin
are taken block by block, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.learners.together import BLOCK, blocks

MOST_BINS = 255
"""A bin is one byte, and one of its values says that the sample is in none."""
MOST_DEPTH = 12
MOST_SUMS = 2**22
"""Sums that are held at a time, at the most: columns are looked at in groups."""
LEAST_GAIN = 1e-9
"""The share of a tree's weight, about, that a split must gain; less is rounding."""
END = np.finfo(np.float32).max

Nodes = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class Split:
    """Where a node is split.

    Attributes
    ----------
    column : int
        By which column.
    bin : int
        The first bin that goes to the right.
    left : int
        The number of the child to the left; the next is that to the right.
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
        The weight of each class in every node; about one in all.
    """

    splits: Sequence[Split | None]
    weights: Floats

    def shares(self) -> NDArray[np.float32]:
        """Return the share of each class in every node."""
        shares: Floats = self.weights / self.weights.sum(axis=1, keepdims=True)
        return shares.astype(np.float32)


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
    >>> tree, leaves = bins.grow(np.array([0, 1, 1, 1]), np.ones(4), n_classes=2, max_depth=1)
    >>> leaves, tree.shares()[leaves, 1]
    (array([1, 2, 2, 2], dtype=uint8), array([0., 1., 1., 1.], dtype=float32))
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

    def grow(self, codes: Codes, weights: Floats, n_classes: int, max_depth: int) -> tuple[CompactTree, Nodes]:
        """Return a tree for samples of these weights, and the leaf of each of them."""
        nodes = np.zeros(len(codes), dtype=np.min_scalar_type(2 ** (max_depth + 1)))
        root = np.zeros(n_classes)
        for rows in blocks(len(codes)):
            root += np.bincount(codes[rows], weights[rows], minlength=n_classes)
        scale = 2.0 ** -round(math.log2(float(root.sum())))  # a power of two rounds nothing
        root *= scale
        splits: list[Split | None] = [None]
        in_node = [root]
        level = [0]
        for _ in range(max_depth):
            found = self._best_splits(nodes, level, codes, weights, scale, n_classes)
            first = len(splits)
            for node, best in zip(level, found, strict=True):
                if best.gain > LEAST_GAIN:
                    splits[node] = Split(best.column, best.bin, len(splits), best.missing_left, best.gain)
                    splits += [None, None]
                    in_node += [best.left, best.right]
            level = list(range(first, len(splits)))
            if not level:
                break
            self._descend(nodes, splits, first)
        return CompactTree(splits, np.array(in_node)), nodes

    def leaves(self, splits: Sequence[Split | None]) -> Nodes:
        """Return the leaf of each sample in a tree that was grown on these bins."""
        nodes = np.zeros(self.values.shape[1], dtype=np.min_scalar_type(len(splits)))
        first = 1
        while first < len(splits):
            self._descend(nodes, splits, first)
            first = 1 + max(split.left + 1 for split in splits[:first] if split is not None)
        return nodes

    def _descend(self, nodes: Nodes, splits: Sequence[Split | None], first: int) -> None:
        """Move samples to the children that are numbered from ``first`` on, in place."""
        n_samples = len(nodes)
        begin = np.zeros(len(splits), dtype=np.intp)  # where the node's column begins among all values
        bin = np.full(len(splits), MOST_BINS + 1, dtype=np.int16)  # nothing goes to the right of a node that stays
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

    def _best_splits(
        self, nodes: Nodes, level: list[int], codes: Codes, weights: Floats, scale: float, n_classes: int
    ) -> list[_Found]:
        """Return the best split of every node of a level."""
        group = max(MOST_SUMS // ((len(level) + 1) * n_classes * (self.max_bin + 1)), 1)
        best: list[_Found] = []
        for start in range(0, len(self.values), group):
            columns = range(start, min(start + group, len(self.values)))
            sums = self._sums(columns, nodes, level, codes, weights, n_classes)
            sums *= scale
            found = [_best_split(sums[:, place], start) for place in range(len(level))]
            best = [max(pair, key=lambda one: one.gain) for pair in zip(best, found, strict=True)] if best else found
        return best

    def _sums(
        self, columns: range, nodes: Nodes, level: list[int], codes: Codes, weights: Floats, n_classes: int
    ) -> Floats:
        """Return the weight by column, place in the level, class and bin; missing values are the last bin."""
        width = self.max_bin + 1
        n_places = len(level) + 1  # one more, for the samples whose node is a leaf already
        cells = n_places * n_classes * width
        place = np.full(level[-1] + 1, len(level), dtype=np.intp)
        place[level] = np.arange(len(level))
        place *= n_classes * width
        out = np.zeros((len(columns), cells))
        for rows in blocks(len(nodes), max(BLOCK, cells)):
            base = codes[rows].astype(np.intp)
            base *= width
            base += place[nodes[rows]]
            cell = np.empty_like(base)
            for column, sums in zip(columns, out, strict=True):
                np.add(base, self.values[column, rows], out=cell)
                sums += np.bincount(cell, weights[rows], minlength=cells)
        return out.reshape(len(columns), n_places, n_classes, width)


@dataclass(frozen=True)
class _Found:
    """A possible split, and the weight of each class on both sides; no gain where there is none."""

    gain: float
    column: int
    bin: int
    missing_left: bool
    left: Floats
    right: Floats


def _cuts(column: NDArray[Any], max_bin: int) -> NDArray[np.float32]:
    """Return where the bins of a column end."""
    values = column.astype(np.float32)
    values.sort()  # what is missing comes last
    values = values[: len(values) - np.count_nonzero(np.isnan(values))]
    if np.count_nonzero(values[1:] != values[:-1]) < max_bin:
        ends = np.unique(values)[1:]
    else:
        ends = np.unique(values[np.arange(1, max_bin) * len(values) // max_bin])
        ends = ends[ends > values[0]]
    return np.append(ends, END)


def _best_split(sums: Floats, first_column: int) -> _Found:
    """Return the best split of a node from its weights by column, class and bin."""
    known, missing = sums[:, :, :-1], sums[:, :, -1:]
    left = np.cumsum(known, axis=2)
    right = np.zeros_like(left)  # summed from the other end: exactly zero where nothing is left
    np.cumsum(known[:, :, :0:-1], axis=2, out=right[:, :, -2::-1])
    sides = [(left, right + missing)]
    if missing.any():
        sides.append((left + missing, right))
    gains = np.stack([_purity(one) + _purity(other) for one, other in sides])
    total = sums[0].sum(axis=1)
    way, column, bin = np.unravel_index(np.argmax(gains), gains.shape)
    to_left, to_right = (side[column, :, bin] for side in sides[way])
    seen_missing = bool(missing[column].any())
    return _Found(
        float(gains[way, column, bin] - _purity(total[None, :, None])[0, 0]),
        first_column + int(column),
        int(bin) + 1,
        bool(way) if seen_missing else bool(to_left.sum() > to_right.sum()),
        to_left,
        to_right,
    )


def _purity(weights: Floats) -> Floats:
    """Return the sum of the squared weights of the classes (second axis) over their sum; zero where that is zero."""
    total = weights.sum(axis=1)
    squares = np.einsum("ckb,ckb->cb", weights, weights)
    out: Floats = np.divide(squares, total, out=np.zeros_like(total), where=total > 0.0)
    return out
