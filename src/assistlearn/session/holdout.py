"""Samples kept aside, whose labels only the initiator knows. They show when to stop, and how good the result is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistlearn.combination import Combination
from assistlearn.core import votes
from assistlearn.core.groups import Groups, rarest_classes
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.evaluation.metrics import METRICS, answers_of
from assistlearn.methods.method import HoldoutAnswer, Method
from assistlearn.plan import Plan
from assistlearn.session.holdout_votes import HoldoutVotes

Rows = NDArray[np.intp]


def split(codes: Codes, fraction: float, rng: np.random.RandomState, groups: Groups | None = None) -> tuple[Rows, Rows]:
    """Return the rows to train on and the rows to hold out, the same share of every class.

    A class always keeps at least one sample to train on. Samples of one group, which are about the same person, stay
    together.

    >>> train, held_out = split(np.array([0, 0, 0, 0, 1, 1, 2]), 0.5, np.random.RandomState(0))
    >>> len(train), len(held_out)
    (4, 3)
    """
    if groups is not None:
        return _split_groups(codes, groups, fraction, rng)
    held_out = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held_out.append(rows[: min(round(fraction * len(rows)), len(rows) - 1)])
    aside = np.zeros(len(codes), dtype=bool)
    aside[np.concatenate(held_out)] = True
    return np.flatnonzero(~aside), np.flatnonzero(aside)


def _split_groups(codes: Codes, groups: Groups, fraction: float, rng: np.random.RandomState) -> tuple[Rows, Rows]:
    """Return the rows to train on and to hold out; a group counts for the rarest class among its rows.

    A group that is larger than what is to be held out of its class is trained on.
    """
    rarest, sizes = rarest_classes(codes, groups)
    held_out = np.zeros(len(sizes), dtype=bool)
    for kind in np.unique(rarest):
        alike = rng.permutation(np.flatnonzero(rarest == kind))
        wanted = round(fraction * int(sizes[alike].sum()))
        small = alike[sizes[alike] <= wanted]
        near = np.cumsum(sizes[small]) - sizes[small] / 2 <= wanted
        held_out[small[near][: len(alike) - 1]] = True
    for code in np.setdiff1d(codes, codes[~held_out[groups]]):
        having = np.unique(groups[codes == code])
        held_out[having[sizes[having].argmin()]] = False
    aside = held_out[groups]
    return np.flatnonzero(~aside), np.flatnonzero(aside)


class Heard(NamedTuple):
    """What a kept model has answered for the hold-out samples, with its round, its agent and its weight."""

    round: int
    agent: str
    answer: HoldoutAnswer
    model_weight: float


class HoldOut:
    """The votes of all kept models on the hold-out samples, and which round was the best.

    Parameters
    ----------
    codes : ndarray of shape (n_holdout,)
        The class codes of the hold-out samples.
    n_classes : int
        The number of classes.
    patience : int
        How many rounds without a better result end the training.
    method : Method
        How models vote, and how the agents' votes are put together.
    metric : str
        The metric that has to improve: a name in :data:`~assistlearn.evaluation.metrics.METRICS`.
    weights : ndarray of shape (n_holdout,), optional
        How much each sample counts; equal by default.
    own : ndarray of shape (n_holdout, n_columns), optional
        The initiator's own columns, as numbers, where a combination may look at them.
    calibrates : bool, default=False
        Whether probabilities will be calibrated on these samples. A metric of probabilities then uses probabilities
        that were calibrated on other hold-out samples than the one that is judged.
    prior : ndarray of shape (n_classes,), optional
        The shares of the classes, where the initiator has labels alone. They are its answer for a sample about which
        nobody says anything.

    Attributes
    ----------
    codes, n_classes, weights, prior
        As above.
    best_round : int
        The best round so far, the earliest among equals; 0 before the first.
    """

    def __init__(
        self,
        codes: Codes,
        n_classes: int,
        patience: int,
        method: Method,
        metric: str = Plan.metric,
        weights: Floats | None = None,
        own: Floats | None = None,
        calibrates: bool = False,
        prior: Floats | None = None,
    ) -> None:
        self.codes = codes
        self.n_classes = n_classes
        self.weights = weights
        self.prior = prior
        self.best_round = 0
        self._patience = patience
        self._method = method
        self._metric = METRICS[metric]
        self._own = own
        self._calibrates = calibrates and self._metric.of_probabilities
        self._heard: list[Heard] = []
        self._scores: dict[str, Floats] = {}
        self._model_weights: dict[str, float] = {}
        self._best: float | None = None
        self._round = 0

    def add(self, heard: Heard) -> None:
        """Add a kept model's votes."""
        self._heard.append(heard)
        self._add(self._scores, self._model_weights, heard)

    def finish_round(self, learned: Combination | None = None) -> tuple[float, float | None]:
        """Return the accuracy and the metric after this round, of the sum of the votes or of the combination.

        If the metric is not defined, because a class does not occur, it is None. It is then no improvement.
        """
        self._round += 1
        heard = HoldoutVotes(self._scores, self._model_weights, self._method, learned, self._own, self.prior)
        decided = heard.decided(self.shape)
        said = heard.calibrated(decided, self.codes, self.weights) if self._calibrates else decided.probabilities
        answers = answers_of(self.codes, said, self.weights, votes.winners(decided.total))
        measured = self._metric.of(answers)
        if self.best_round == 0 or (measured is not None and self._is_better(measured)):
            self._best = measured
            self.best_round = self._round
        return METRICS["accuracy"].of(answers) or 0.0, measured

    def _is_better(self, measured: float) -> bool:
        return self._best is None or self._metric.better(measured, self._best)

    @property
    def exhausted(self) -> bool:
        """Whether the result has not become better for ``patience`` rounds."""
        return self._round - self.best_round >= self._patience

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and classes."""
        return len(self.codes), self.n_classes

    def votes_of(self, n_rounds: int, learned: Combination | None = None) -> HoldoutVotes:
        """Return the votes of the models of the first ``n_rounds`` rounds."""
        scores: dict[str, Floats] = {}
        model_weights: dict[str, float] = {}
        for heard in self._heard:
            if heard.round <= n_rounds:
                self._add(scores, model_weights, heard)
        return HoldoutVotes(scores, model_weights, self._method, learned, self._own, self.prior)

    def _add(self, scores: dict[str, Floats], model_weights: dict[str, float], heard: Heard) -> None:
        if heard.agent not in scores:
            scores[heard.agent] = np.zeros(self.shape)
        model_weights[heard.agent] = model_weights.get(heard.agent, 0.0) + heard.model_weight
        self._method.add_holdout(scores[heard.agent], heard.answer, heard.model_weight)
