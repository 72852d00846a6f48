"""Whether probabilities can be trusted: how sure answers claim to be, and how often they are right."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes

MOST_GROUPS = 10
"""The largest number of groups of answers."""

FEWEST = 20
"""The smallest mean number of answers in a group: fewer answers say too little about a share. A single group may have
fewer, because answers that are equally sure are never divided."""


@dataclass(frozen=True)
class Reliability:
    """A group of answers that claim to be about equally sure.

    Attributes
    ----------
    n_samples : int
        The number of answers.
    said : float
        The mean probability of the class that was answered.
    right : float
        The share that was right.
    """

    n_samples: int
    said: float
    right: float

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share that is right.

        >>> low, high = Reliability(20, 0.9, 0.9).interval
        >>> round(low, 3), round(high, 3)
        (0.699, 0.972)
        """
        n, z = self.n_samples, 1.959964
        middle = (self.right + z * z / (2 * n)) / (1 + z * z / n)
        reach = z / (1 + z * z / n) * math.sqrt(self.right * (1 - self.right) / n + z * z / (4 * n * n))
        return max(middle - reach, 0.0), min(middle + reach, 1.0)


def reliability(
    codes: Codes, probabilities: Floats, predicted: Codes, weights: Floats | None = None
) -> tuple[Reliability, ...]:
    """Return answers in groups of about equal size, from the least sure to the surest.

    Parameters
    ----------
    codes : array of int of shape (n_samples,)
        The true classes.
    probabilities : array of shape (n_samples, n_classes)
        How likely each class is said to be.
    predicted : array of int of shape (n_samples,)
        The predicted classes.
    weights : array of shape (n_samples,), optional
        The weights of the samples; equal by default. Samples of weight zero do not count.

    Returns
    -------
    groups : tuple of Reliability
        Answers that are equally sure are always in the same group, so there may be fewer groups.

    Examples
    --------
    >>> said = np.repeat([[0.4, 0.6], [0.1, 0.9]], 20, axis=0)
    >>> codes = np.repeat([1, 0, 1], [12, 10, 18])
    >>> reliability(codes, said, np.ones(40, dtype=int))
    (Reliability(n_samples=20, said=0.6, right=0.6), Reliability(n_samples=20, said=0.9, right=0.9))
    """
    counts = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    rows = np.flatnonzero(counts > 0.0)
    if not len(rows):
        return ()
    said = probabilities[rows, predicted[rows]] / probabilities[rows].sum(axis=1)
    order = np.argsort(said, kind="stable")
    rows, said = rows[order], said[order]
    right = predicted[rows] == codes[rows]
    n_groups = max(1, min(MOST_GROUPS, len(rows) // FEWEST))
    starts = np.searchsorted(said, said[np.arange(n_groups) * len(rows) // n_groups])
    parts = np.split(np.arange(len(rows)), np.unique(starts)[1:])
    return tuple(
        Reliability(len(part), _mean(said[part], counts[rows[part]]), _mean(right[part], counts[rows[part]]))
        for part in parts
    )


def _mean(values: Floats | Bools, counts: Floats) -> float:
    return round(float(np.average(values, weights=counts)), 6)
