"""Evidence: the agents' honest scores and the true classes, and how good a combination is on unseen samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.people import Groups, deal, mean_and_error
from assistlearn.errors import SettingsError
from assistlearn.types import Codes, Floats


@dataclass(frozen=True)
class Evidence:
    """The agents' honest scores of some samples and the true classes, from which the initiator learns.

    ``scores`` (agents x n x K) are each agent's model weights times its honest votes, summed over its kept models.
    Every row sums to zero over the classes; a row of zeros is an agent that abstains. The weights of the samples sum to
    one. The initiator's ``own`` columns are numbers, NaN where one is missing.
    """

    agents: tuple[str, ...]
    initiator: str
    scores: Floats
    codes: Codes
    weights: Floats
    own: Floats

    @property
    def n_classes(self) -> int:
        return int(self.scores.shape[2])

    @property
    def heard(self) -> tuple[str, ...]:
        """The agents with any score other than zero; the initiator alone, where no agent has one."""
        said = tuple(agent for agent, scores in zip(self.agents, self.scores, strict=True) if scores.any())
        return said or (self.initiator,)

    def rows(self, chosen: np.ndarray) -> Evidence:
        weights = self.weights[chosen]
        return Evidence(
            self.agents,
            self.initiator,
            self.scores[:, chosen],
            self.codes[chosen],
            weights / weights.sum(),
            self.own[chosen],
        )

    def of(self, agents: Sequence[str]) -> Evidence:
        places = [self.agents.index(agent) for agent in agents]
        return Evidence(tuple(agents), self.initiator, self.scores[places], self.codes, self.weights, self.own)


def evidence(
    scores: Mapping[str, Floats],
    codes: Codes,
    initiator: str,
    weights: Floats | None = None,
    own: Floats | None = None,
) -> Evidence:
    if initiator not in scores:
        raise SettingsError(f"There are no scores of the initiator {initiator!r}, only of {', '.join(scores)}.")
    n, n_classes = scores[initiator].shape
    for agent, said in scores.items():
        if said.shape != (n, n_classes):
            raise SettingsError(
                f"The scores of agent {agent!r} have the shape {said.shape}, those of the initiator {(n, n_classes)}."
            )
        if not np.isfinite(said).all():
            raise SettingsError(f"Agent {agent!r} has a score that is not finite.")
    if codes.shape != (n,) or n == 0 or codes.min() < 0 or codes.max() >= n_classes:
        raise SettingsError(f"There must be {n} class codes from 0 to {n_classes - 1}, one for each sample.")
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or weights.min() < 0.0 or weights.sum() <= 0.0:
        raise SettingsError(f"There must be {n} weights, none of them negative and some of them positive.")
    own = np.empty((n, 0)) if own is None else np.asarray(own, dtype=np.float64)
    if own.ndim != 2 or len(own) != n:
        raise SettingsError(
            f"The initiator's own columns have the shape {own.shape}; they must have {n} rows, one for each sample."
        )
    stacked = np.stack([np.asarray(said, dtype=np.float64) for said in scores.values()])
    return Evidence(tuple(scores), initiator, stacked, codes, weights / weights.sum(), own)


N_FOLDS = 3
CLAIM_FOLDS = 10
"""Folds for what is claimed of the chosen candidate: with a third of the samples left out it would do worse than the
one that is used."""
MOST_SAMPLES = 20_000
"""With more samples, choices are made on a random part of this size, and what is chosen is fitted to all."""


@dataclass(frozen=True)
class Tried:
    """The log loss of a candidate on each sample that it was not fitted to.

    Where several samples are about the same person (``groups``), errors go by persons.
    """

    losses: Floats
    weights: Floats
    groups: Groups | None = None

    @property
    def loss(self) -> float:
        return float(self.weights @ self.losses)

    @property
    def error(self) -> float:
        return mean_and_error(self.losses, self.weights, self.groups)[1]

    def is_better_than(self, other: Tried, errors: float = 1.0) -> bool:
        """Whether its mean loss is lower by so many standard errors of the difference; never after a single sample."""
        gain, error = mean_and_error(other.losses - self.losses, self.weights, self.groups)
        return gain > errors * error


def folds_of(codes: Codes, seed: int, n_folds: int = N_FOLDS, groups: Groups | None = None) -> NDArray[np.intp]:
    """Return a fold for each sample: folds are equally large, classes are spread evenly, and groups stay together."""
    order = np.random.default_rng(seed).permutation(len(codes))
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    return deal(first[places], n_folds, order, groups)  # by where a class occurs first, not by its code


def part_to_choose_on(n_samples: int, seed: int) -> NDArray[np.intp]:
    """Return the positions of the samples that choices are made on: all, or a random :data:`MOST_SAMPLES` of them."""
    if n_samples <= MOST_SAMPLES:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(seed).choice(n_samples, MOST_SAMPLES, replace=False))
