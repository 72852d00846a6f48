"""A pilot: which samples it trains on, and which it may open."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.groups import Groups, in_order
from assistlearn.core.votes import Codes
from assistlearn.errors import SettingsError
from assistlearn.evaluation.terms import Terms

MOST_TRAINING = 5_000
"""The largest number of samples to train on, if ``train_size`` is a share."""

MOST_OPENED = 10_000
"""The largest number of samples that are opened."""

STREAM = 5
"""The number of the pilot's stream of random numbers. A seed has several streams; the others belong to the run."""


def drawn(
    terms: Terms, labels: Codes, seed: int, groups: Groups | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions of the samples to train on, and of those that may be opened, in the order of opening.

    The draw does not look at labels: samples that are opened later must be like those opened before. All samples of a
    person are trained on, or one of them may be opened: a second one would say little more.

    Parameters
    ----------
    terms : Terms
        Their ``train_size`` says how many samples to train on.
    labels : ndarray of shape (n,)
        The samples' labels, of any kind. Every class must be among those to train on.
    seed : int
        The seed of the draw.
    groups : ndarray of int of shape (n,), optional
        Which samples are about the same person; by default no two are.

    Examples
    --------
    >>> training, pool = drawn(Terms(train_size=4), np.array([0, 0, 0, 1] * 2), seed=1)
    >>> training, pool
    (array([1, 3, 5, 6]), array([4, 0, 7, 2]))
    """
    order = np.random.RandomState([seed, STREAM]).permutation(len(labels))
    n_training = _n_training(terms.train_size, len(labels))
    if not 0 < n_training < len(labels):
        raise SettingsError(
            f"train_size={terms.train_size!r} of {len(labels)} labelled samples leaves {n_training} to train on and "
            f"{max(len(labels) - n_training, 0)} to open. Both are needed: use another size, or more samples."
        )
    training, pool = _parted(order, n_training, groups)
    if not len(pool):
        raise SettingsError(
            f"train_size={terms.train_size!r} of {len(labels)} labelled samples leaves nobody to open: too many of "
            "them are about the same person. Train on fewer samples."
        )
    lost = np.setdiff1d(labels, labels[training])
    if len(lost):
        rare = int(np.count_nonzero(labels == lost[0]))
        raise SettingsError(
            f"None of the {n_training} samples to train on has the label {lost[0]}, but {rare} of all {len(labels)} "
            "samples have it. Train on more samples, use another seed, or leave such rare labels out."
        )
    return training, pool


def _parted(
    order: NDArray[np.intp], n_training: int, groups: Groups | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the samples to train on, and those that may be opened: the first ones of an order, and the others."""
    if groups is None:
        return np.sort(order[:n_training]), order[n_training : n_training + MOST_OPENED]
    place = in_order(groups, order)
    persons = np.argsort(place)
    n_persons = max(int(np.count_nonzero(np.cumsum(np.bincount(groups)[persons]) <= n_training)), 1)
    trained_on = np.zeros(len(place), dtype=bool)
    trained_on[persons[:n_persons]] = True
    return np.flatnonzero(trained_on[groups]), order[place[persons[n_persons : n_persons + MOST_OPENED]]]


def _n_training(size: float, n: int) -> int:
    return int(size) if isinstance(size, Integral) else min(math.floor(size * n), MOST_TRAINING)
