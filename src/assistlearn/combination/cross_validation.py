"""How good a combination is for samples that it was not fitted to: folds, and losses with their errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.groups import Groups, deal_groups
from assistlearn.core.ignorance import Floats
from assistlearn.core.means import mean_and_error
from assistlearn.core.votes import Codes

N_FOLDS = 3
CLAIM_FOLDS = 10
"""Folds for what is claimed of the way that was chosen: with a third of the samples left out it would do worse than the
one that is used."""
MOST_SAMPLES = 20_000
"""With more samples, choices are made on a random part of this size, and what is chosen is fitted to all."""


@dataclass(frozen=True)
class Tried:
    """One way to combine, and its log loss on each sample that it was not fitted to.

    Where several samples are about the same person (``groups``), errors go by persons.
    """

    losses: Floats
    weights: Floats
    groups: Groups | None = None

    @property
    def loss(self) -> float:
        """The weighted mean of the losses."""
        return float(self.weights @ self.losses)

    @property
    def error(self) -> float:
        """The standard error of the mean loss."""
        return mean_and_error(self.losses, self.weights, self.groups)[1]

    def is_better_than(self, other: Tried, errors: float = 1.0) -> bool:
        """Whether its mean loss is lower by more than ``errors`` standard errors of the difference between both.

        It never is after a single sample: the error is infinite.
        """
        gain, error = mean_and_error(other.losses - self.losses, self.weights, self.groups)
        return gain > errors * error


def folds_of(codes: Codes, seed: int, n_folds: int = N_FOLDS, groups: Groups | None = None) -> NDArray[np.intp]:
    """Return a fold for each sample: every class is spread over all folds, and the folds are equally large.

    Samples of one group, which are about the same person, share a fold.

    >>> folds_of(np.array([0, 0, 0, 1, 1, 1]), seed=1)
    array([0, 2, 1, 2, 0, 1])
    """
    order = np.random.default_rng(seed).permutation(len(codes))
    if groups is not None:
        return deal_groups(codes, groups, n_folds, order)
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    order = order[np.argsort(first[places][order], kind="stable")]  # by where a class occurs first, not by its code
    out = np.empty(len(codes), dtype=np.intp)
    out[order] = np.arange(len(codes)) % n_folds
    return out


def part_to_choose_on(n_samples: int, seed: int) -> NDArray[np.intp]:
    """Return the positions of the samples that choices are made on: all, or a random :data:`MOST_SAMPLES` of them."""
    if n_samples <= MOST_SAMPLES:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(seed).choice(n_samples, MOST_SAMPLES, replace=False))
