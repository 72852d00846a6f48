"""The paper's second stop rule: keep some samples aside, and stop when the error on them no longer falls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistlearn.combination import Combination
from assistlearn.core import votes
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.methods.method import HoldoutAnswer, Method

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
    method : Method
        How models vote, and how the agents' votes are put together.
    """

    def __init__(self, codes: Codes, n_classes: int, patience: int, method: Method) -> None:
        self._codes = codes
        self._n_classes = n_classes
        self._patience = patience
        self._method = method
        self._scores: dict[str, Floats] = {}
        self._weights: dict[str, float] = {}
        self._least_wrong = len(codes) + 1
        self._round = 0
        self.best_round = 0

    def add(self, agent: str, answer: HoldoutAnswer, model_weight: float) -> None:
        """Add a kept model's votes."""
        if agent not in self._scores:
            self._scores[agent] = np.zeros((len(self._codes), self._n_classes))
        self._weights[agent] = self._weights.get(agent, 0.0) + model_weight
        self._method.add_holdout(self._scores[agent], answer, model_weight)

    def finish_round(self, learned: Combination | None = None) -> float:
        """Return the accuracy after this round, of the votes added up or of what was learned to make of them."""
        self._round += 1
        wrong = int(np.count_nonzero(votes.winners(self._total(learned)) != self._codes))
        if wrong < self._least_wrong:
            self._least_wrong = wrong
            self.best_round = self._round
        return 1.0 - wrong / len(self._codes)

    @property
    def exhausted(self) -> bool:
        """Whether the error has not fallen for ``patience`` rounds."""
        return self._round - self.best_round >= self._patience

    def _total(self, learned: Combination | None) -> Floats:
        if learned is not None and self._scores:
            shares = learned.decide(self._scores)
        else:
            shares = self._method.combine(self._scores, self._weights)
        return sum(shares.values(), np.zeros((len(self._codes), self._n_classes)))
