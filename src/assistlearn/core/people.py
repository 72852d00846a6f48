"""Which rows are about the same person, means over persons, and persons who take part again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.labels import classes_and_codes
from assistlearn.core.state import ScoreVectors, SoftReward, largest_level
from assistlearn.types import Bools, Codes, Floats

# Groups: which rows belong to the same person. Rows of one person are alike, and so are their labels. A model that has
# seen one of them knows the others. So they stay together: all in one fold, all held out, or all trained on.


Groups: TypeAlias = NDArray[np.intp]
"""The number of each row's group; every number from 0 on occurs."""


def groups_of(values: NDArray[Any]) -> Groups | None:
    """Return the groups of rows with equal values; None where all values differ."""
    found, groups = classes_and_codes(values)
    return None if len(found) == len(values) else groups.astype(np.intp)


def at(groups: Groups | None, rows: NDArray[Any] | None) -> Groups | None:
    """Return the groups of some rows, numbered anew; None where each of them is alone in its group."""
    return groups if groups is None or rows is None else groups_of(groups[rows])


def rarest_classes(codes: Codes, groups: Groups) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rarest class among each group's rows, as its rank by rarity, and how many rows each group has.

    Two classes of the same size are ranked by which occurs first, so that the numbers of the classes do not matter.
    """
    found, first, places, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(found), dtype=np.intp)
    rank[np.lexsort((first, counts))] = np.arange(len(found))
    sizes = np.bincount(groups)
    rarest = np.full(len(sizes), len(found), dtype=np.intp)
    np.minimum.at(rarest, groups, rank[places])
    return rarest, sizes


def in_order(groups: Groups, order: NDArray[np.intp]) -> NDArray[np.intp]:
    place = np.empty(int(groups.max()) + 1, dtype=np.intp)
    place[groups[order[::-1]]] = np.arange(len(order))[::-1]  # of equal positions, the last one is kept
    return place


def deal(codes: Codes, n_folds: int, order: NDArray[np.intp], groups: Groups | None = None) -> NDArray[np.intp]:
    """Return the fold of each row, given a random order: folds are equally large, and every class is spread evenly.

    Rows of one group, which are about the same person, share a fold.
    """
    if groups is not None:
        return deal_groups(codes, groups, n_folds, order)
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order[np.argsort(codes[order], kind="stable")]] = np.arange(len(codes)) % n_folds
    return folds


def deal_groups(codes: Codes, groups: Groups, n_folds: int, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the fold of each row: groups stay together, and sizes and classes are as even as that allows.

    The largest groups are dealt first, each to the fold that has least so far, of all rows and of the group's rarest
    class. Groups of the same size and class are dealt in one step, in the random ``order`` of the rows. So the cost is
    that of sorting. Where there are fewer groups than folds, there are as many folds as groups.

    >>> codes, groups = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 3])
    >>> deal_groups(codes, groups, 2, np.arange(6))
    array([0, 0, 1, 1, 1, 0])
    """
    rarest, sizes = rarest_classes(codes, groups)
    n_folds = min(n_folds, len(sizes))
    queue = np.lexsort((in_order(groups, order), rarest, -sizes))  # by size, then by class, then at random
    starts = np.flatnonzero(np.diff(sizes[queue], prepend=-1) | np.diff(rarest[queue], prepend=-1))
    rows_of_class = np.bincount(rarest, weights=sizes)
    # The load of a fold is its share of all rows plus its share of the rows of the class that is dealt.
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
    # As water fills a vessel with an uneven floor: if the j lowest folds share all n, they end at levels[j - 1]. The
    # true level is that of the most folds that all lie below it. What is left by rounding down goes to the lowest.
    lowest = np.sort(load)
    levels = (n * step + np.cumsum(lowest)) / np.arange(1, len(load) + 1)
    level = levels[np.flatnonzero(levels > lowest)[-1]]
    counts: NDArray[np.intp] = np.floor(np.maximum(level - load, 0.0) / step).astype(np.intp)
    counts[np.argsort(load + counts * step, kind="stable")[: n - int(counts.sum())]] += 1
    return counts


def mean_and_error(values: Floats, weights: Floats | None = None, groups: Groups | None = None) -> tuple[float, float]:
    r"""Return a weighted mean of samples and its standard error.

    With shares :math:`p_i` of the weights, the mean is :math:`m = \sum_i p_i x_i`, and the square of the error is

    .. math:: \sum_i \frac{p_i^2 (x_i - m)^2}{1 - 2 p_i + \sum_j p_j^2}.

    The denominator is the part of a sample's variance that is left after the mean is subtracted. So with equal spread
    the square is right on average for every number of samples, and for any weights; with equal weights the error is the
    standard deviation divided by the square root of the number of samples. Samples of weight zero do not count. After
    one sample the error is infinite, and without any the mean is not a number. Where several samples are about the same
    person (``groups``), the formula goes by persons: by the weight of all samples of each, and by their mean.
    """
    if groups is not None:
        values, weights = of_persons(values, weights, groups)
    means, errors = means_and_errors(values[:, np.newaxis], weights)
    return float(means[0]), float(errors[0])


def means_and_errors(values: Floats, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Return :func:`mean_and_error` of every column of a table; its samples are the first axis."""
    if weights is not None:
        values, weights = values[weights > 0.0], weights[weights > 0.0]
    n = len(values)
    if n == 0:
        return np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.inf)
    given = np.ones(n) if weights is None else weights / weights.max()
    shares = given / given.sum()
    means: Floats = np.tensordot(shares, values, axes=1)
    squares = shares**2
    left = (1.0 - shares) ** 2 + np.maximum(squares.sum() - squares, 0.0)
    if n == 1 or not left.min() > 0.0:  # a sample beside which no other has any weight
        return means, np.full(means.shape, np.inf)
    return means, np.sqrt(np.tensordot(squares / left, (values - means) ** 2, axes=1))


def of_persons(values: Floats, weights: Floats | None, groups: Groups) -> tuple[Floats, Floats]:
    """Return the mean value of each person's samples, and their weight in all; zero where nobody has any weight."""
    given = np.ones(len(values)) if weights is None else weights
    whole: Floats = np.bincount(groups, weights=given).astype(np.float64)
    return np.bincount(groups, weights=given * values) / np.where(whole > 0.0, whole, 1.0), whole


def effective_size(weights: Floats) -> float:
    """Return how many samples of equal weight tell as much as these."""
    given = weights / weights.max()
    return float(given.sum() ** 2 / (given**2).sum())


# Take a turn of an earlier run again: answers about unchanged samples stay, and only the other samples get new ones.
#
# The samples of the new run begin with the unchanged samples of the earlier run, in the same order. So one bit for
# each sample of the earlier run tells which ones these are.


Places = NDArray[np.intp]


def places_before(still: Bools, then: Bools, held_then: Bools, now: Bools) -> Places:
    """Return the earlier positions of the samples of one kind (training samples, or hold-out samples).

    They are positions among those of this kind in the earlier run; -1 if nothing was said of a sample. The new run
    begins with the samples that are ``still`` unchanged. The agent said nothing about samples that it did not hold
    (``held_then``).

    >>> still, held = np.array([True, False, True, True]), np.array([True, True, True, False])
    >>> places_before(still, then=np.array([False, True, True, True]), held_then=held, now=np.ones(5, dtype=bool))
    array([-1,  1, -1, -1, -1])
    """
    places = np.full(len(now), -1, dtype=np.intp)
    before = np.flatnonzero(still)
    order = np.cumsum(then) - 1
    places[: len(before)] = np.where((then & held_then)[before], order[before], -1)
    return places[now]


def as_before(said: SoftReward, before: SoftReward) -> SoftReward:
    """Return new scores in the levels of the earlier run, so that one array can hold both.

    A score beyond the largest level gets the largest level.
    """
    most = largest_level(before.bits)
    if not isinstance(said, ScoreVectors):
        levels = np.rint(said.values() / before.scale)
    else:
        speaks = said.levels.any(axis=1, keepdims=True)
        heights = (said.levels.astype(np.float64) + largest_level(said.bits)) * said.scale
        levels = np.where(speaks, np.rint(heights / before.scale) - most, 0.0)
    levels = np.clip(levels, -most, most).astype(before.levels.dtype)
    return replace(said, levels=levels, scale=before.scale, bits=before.bits)


def completed(fresh: Any, before: Any, places: Places, silent: Bools, silence: bool | int) -> Any:
    """Return the answers about all samples of the new run: earlier answers where there are any, else new ones.

    ``fresh`` are the new answers, about the samples whose place is -1. Samples that are ``silent`` are held no more:
    they get ``silence``, the value that means "no answer"; for levels it is always zero.

    >>> places, silent = np.array([2, -1, 0]), np.array([True, False, False])
    >>> completed(np.array([7]), np.array([1, 2, 3]), places, silent, silence=-1)
    array([-1,  7,  1])
    """
    if isinstance(fresh, SoftReward):
        return replace(before, levels=completed(fresh.levels, before.levels, places, silent, 0))
    out = np.empty((len(places), *before.shape[1:]), dtype=before.dtype)
    out[places >= 0] = before[places[places >= 0]]
    out[places < 0] = fresh
    out[silent & (places >= 0)] = silence
    return out
