"""Grow a tree level by level on bins of one byte, from the sums of the weights by node, class and bin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assistlearn.core.blocks import BLOCK_ROWS, blocks
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.learners.hist.compact.best_split import PossibleSplit, best_split
from assistlearn.learners.hist.compact.bins import Bins, Nodes
from assistlearn.learners.hist.compact.compact_tree import CompactTree, Split

MOST_DEPTH = 12
MOST_SUMS = 2**22
"""The most sums that are held at a time. Columns are looked at in groups so that there are no more."""
LEAST_GAIN = 1e-9
"""What a split must gain, as a share (about) of the tree's weight. A smaller gain may come from rounding."""


@dataclass(frozen=True)
class WeightedSamples:
    """The samples that a tree is grown on.

    Attributes
    ----------
    bins : Bins
        The samples' values.
    codes : ndarray of shape (n_samples,)
        Their class codes.
    weights : ndarray of shape (n_samples,)
        How much each of them counts.
    n_classes : int
        The number of classes.
    """

    bins: Bins
    codes: Codes
    weights: Floats
    n_classes: int

    def weight_by_class(self) -> Floats:
        """Return the weight of each class."""
        out = np.zeros(self.n_classes)
        for rows in blocks(len(self.codes)):
            out += np.bincount(self.codes[rows], self.weights[rows], minlength=self.n_classes)
        return out


def grow_compact(samples: WeightedSamples, max_depth: int) -> tuple[CompactTree, Nodes]:
    """Return a tree for samples of these weights, and the leaf of each of them.

    >>> bins = Bins(np.array([[1.0], [5.0], [5.0], [np.nan]]), max_bin=64)
    >>> tree, leaves = grow_compact(WeightedSamples(bins, np.array([0, 1, 1, 1]), np.ones(4), n_classes=2), max_depth=1)
    >>> leaves, tree.shares()[leaves, 1]
    (array([1, 2, 2, 2], dtype=uint8), array([0., 1., 1., 1.], dtype=float32))
    """
    nodes = np.zeros(len(samples.codes), dtype=np.min_scalar_type(2 ** (max_depth + 1)))
    root = samples.weight_by_class()
    scale = 2.0 ** -round(math.log2(float(root.sum())))  # a power of two rounds nothing
    root *= scale
    splits: list[Split | None] = [None]
    in_node = [root]
    level = [0]
    for _ in range(max_depth):
        found = _best_splits(samples, nodes, level, scale)
        first = len(splits)
        for node, best in zip(level, found, strict=True):
            if best.gain > LEAST_GAIN:
                splits[node] = Split(best.column, best.bin, len(splits), best.missing_left, best.gain)
                splits += [None, None]
                in_node += [best.left, best.right]
        level = list(range(first, len(splits)))
        if not level:
            break
        samples.bins.descend(nodes, splits, first)
    return CompactTree(splits, np.array(in_node)), nodes


def _best_splits(samples: WeightedSamples, nodes: Nodes, level: list[int], scale: float) -> list[PossibleSplit]:
    """Return the best split of every node of a level."""
    n_columns, width = len(samples.bins.values), samples.bins.max_bin + 1
    group = max(MOST_SUMS // ((len(level) + 1) * samples.n_classes * width), 1)
    best: list[PossibleSplit] = []
    for start in range(0, n_columns, group):
        sums = _sums(samples, range(start, min(start + group, n_columns)), nodes, level)
        sums *= scale
        found = [best_split(sums[:, place], start) for place in range(len(level))]
        best = [max(pair, key=lambda one: one.gain) for pair in zip(best, found, strict=True)] if best else found
    return best


def _sums(samples: WeightedSamples, columns: range, nodes: Nodes, level: list[int]) -> Floats:
    """Return the weight by column, place in the level, class and bin; missing values are the last bin."""
    width, n_classes = samples.bins.max_bin + 1, samples.n_classes
    n_places = len(level) + 1  # one more, for the samples whose node is a leaf already
    cells = n_places * n_classes * width
    place = np.full(level[-1] + 1, len(level), dtype=np.intp)
    place[level] = np.arange(len(level))
    place *= n_classes * width
    out = np.zeros((len(columns), cells))
    for rows in blocks(len(nodes), max(BLOCK_ROWS, cells)):
        base = samples.codes[rows].astype(np.intp)
        base *= width
        base += place[nodes[rows]]
        cell = np.empty_like(base)
        for column, sums in zip(columns, out, strict=True):
            np.add(base, samples.bins.values[column, rows], out=cell)
            sums += np.bincount(cell, samples.weights[rows], minlength=cells)
    return out.reshape(len(columns), n_places, n_classes, width)
