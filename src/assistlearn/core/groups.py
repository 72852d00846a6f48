"""Groups: which rows belong to the same person.

Rows of one person are alike, and so are their labels. A model that has seen one of them knows the others. So they stay
together: all in one fold, all held out, or all trained on.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.class_codes import classes_and_codes
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes

Groups: TypeAlias = NDArray[np.intp]
"""The number of each row's group; every number from 0 on occurs."""


def groups_of(values: NDArray[Any]) -> Groups | None:
    """Return the groups of rows with equal values; None where all values differ.

    >>> groups_of(np.array(["p-7", "p-3", "p-7"]))
    array([1, 0, 1])
    >>> groups_of(np.array([3, 1, 2])) is None
    True
    """
    found, groups = classes_and_codes(values)
    return None if len(found) == len(values) else groups.astype(np.intp)


def at(groups: Groups | None, rows: NDArray[Any] | None) -> Groups | None:
    """Return the groups of some rows, numbered anew; None where each of them is alone in its group."""
    return groups if groups is None or rows is None else groups_of(groups[rows])


def rarest_classes(codes: Codes, groups: Groups) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rarest class among each group's rows, as its rank by rarity, and how many rows each group has.

    Two classes of the same size are ranked by which occurs first, so that the numbers of the classes do not matter.

    >>> rarest_classes(np.array([0, 0, 1, 0, 0]), np.array([0, 0, 0, 1, 1]))
    (array([0, 1]), array([3, 2]))
    """
    found, first, places, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(found), dtype=np.intp)
    rank[np.lexsort((first, counts))] = np.arange(len(found))
    sizes = np.bincount(groups)
    rarest = np.full(len(sizes), len(found), dtype=np.intp)
    np.minimum.at(rarest, groups, rank[places])
    return rarest, sizes


def in_order(groups: Groups, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where each group comes first in an order of the rows.

    >>> in_order(np.array([0, 1, 1, 0]), np.array([2, 3, 0, 1]))
    array([1, 0])
    """
    place = np.empty(int(groups.max()) + 1, dtype=np.intp)
    place[groups[order[::-1]]] = np.arange(len(order))[::-1]  # of equal positions, the last one is kept
    return place


def deal_groups(codes: Codes, groups: Groups, n_folds: int, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the fold of each row: groups stay together, and sizes and classes are as even as that allows.

    The largest groups are dealt first, each to the fold that has least so far, of all rows and of the group's rarest
    class. Groups of the same size and class are dealt in one step, in a random order. So the cost is that of sorting.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class code of each row.
    groups : ndarray of int of shape (n,)
        The group of each row.
    n_folds : int
        The number of folds; where there are fewer groups, there are as many folds as groups.
    order : ndarray of int of shape (n,)
        A random order of the rows.

    Examples
    --------
    >>> codes, groups = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 3])
    >>> deal_groups(codes, groups, 2, np.arange(6))
    array([0, 0, 1, 1, 1, 0])
    """
    rarest, sizes = rarest_classes(codes, groups)
    n_folds = min(n_folds, len(sizes))
    queue = np.lexsort((in_order(groups, order), rarest, -sizes))
    starts = np.flatnonzero(np.diff(sizes[queue], prepend=-1) | np.diff(rarest[queue], prepend=-1))
    rows_of_class = np.bincount(rarest, weights=sizes)
    total, of_class = np.zeros(n_folds), np.zeros((len(rows_of_class), n_folds))
    fold_of = np.empty(len(sizes), dtype=np.intp)
    for alike in np.split(queue, starts[1:]):
        size, kind = int(sizes[alike[0]]), int(rarest[alike[0]])
        load = total / len(codes) + of_class[kind] / rows_of_class[kind]
        counts = _even(load, size / len(codes) + size / rows_of_class[kind], len(alike))
        fold_of[alike] = np.repeat(np.arange(n_folds), counts)
        total += size * counts
        of_class[kind] += size * counts
    out: NDArray[np.intp] = fold_of[groups]
    return out


def _even(load: Floats, step: float, n: int) -> NDArray[np.intp]:
    """Return how many of ``n`` equal things each fold gets, so that the largest load becomes as small as possible."""
    lowest = np.sort(load)
    levels = (n * step + np.cumsum(lowest)) / np.arange(1, len(load) + 1)
    level = levels[np.flatnonzero(levels > lowest)[-1]]
    counts: NDArray[np.intp] = np.floor(np.maximum(level - load, 0.0) / step).astype(np.intp)
    counts[np.argsort(load + counts * step, kind="stable")[: n - int(counts.sum())]] += 1
    return counts
