"""The paper's second stop rule: keep some samples aside, and stop when the error on them no longer falls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistlearn.core import SoftReward, votes
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes

Rows = NDArray[np.intp]


def split(codes: Codes, fraction: float, rng: np.random.RandomState) -> tuple[Rows, Rows]:
    """Return the rows to train on and the rows to hold out, the same share of every class.

    A class always keeps at least one sample to train on.

    >>> train, held_out = split(np.array([0, 0, 0, 0, 1, 1, 2]), 0.5, np.random.RandomState(0))
    >>> len(train), len(held_out)
    (4, 3)
    """
    held_out = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held_out.append(rows[: min(round(fraction * len(rows)), len(rows) - 1)])
    aside = np.zeros(len(codes), dtype=bool)
    aside[np.concatenate(held_out)] = True
    return np.flatnonzero(~aside), np.flatnonzero(aside)


class HoldOut:
    """The ensemble's error on the hold-out samples, round by round.

    Parameters
    ----------
    codes : ndarray of shape (n_holdout,)
        The class codes of the hold-out samples.
    n_classes : int
        The number of classes.
    patience : int
        How many rounds without a smaller error end the training.
    majority : bool, default=False
        Whether the agents vote by majority (Ensemble-AdaBoost) or add up their scores.
    """

    def __init__(self, codes: Codes, n_classes: int, patience: int, majority: bool = False) -> None:
        self._codes = codes
        self._n_classes = n_classes
        self._patience = patience
        self._majority = majority
        self._scores: dict[str, Floats] = {}
        self._weights: dict[str, float] = {}
        self._least_wrong = len(codes) + 1
        self._round = 0
        self.best_round = 0

    def add(self, agent: str, codes: Codes | SoftReward, model_weight: float) -> None:
        """Add a kept model's votes: its class codes, or its votes of weight one in levels (n x K)."""
        if agent not in self._scores:
            self._scores[agent] = np.zeros((len(self._codes), self._n_classes))
        self._weights[agent] = self._weights.get(agent, 0.0) + model_weight
        if isinstance(codes, SoftReward):
            self._scores[agent] += model_weight * codes.values()
            return
        voting = np.flatnonzero(codes >= 0)  # the others are samples that the agent does not hold
        scores = self._scores[agent][voting]
        votes.add_vote(scores, codes[voting], model_weight)
        self._scores[agent][voting] = scores

    def finish_round(self) -> float:
        """Return the accuracy after this round."""
        self._round += 1
        wrong = int(np.count_nonzero(votes.winners(self._total()) != self._codes))
        if wrong < self._least_wrong:
            self._least_wrong = wrong
            self.best_round = self._round
        return 1.0 - wrong / len(self._codes)

    @property
    def exhausted(self) -> bool:
        """Whether the error has not fallen for ``patience`` rounds."""
        return self._round - self.best_round >= self._patience

    def _total(self) -> Floats:
        scores = self._scores
        if self._majority:
            scores = votes.majority_votes(scores, self._weights)
        return sum(scores.values(), np.zeros((len(self._codes), self._n_classes)))
