"""What the probabilities of a run are calibrated on: its decision on samples that no model has seen."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from assistlearn.core.class_shares import silent
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes
from assistlearn.evaluation.score_calibration import HOLDOUT, OUT_OF_FOLD, ScoreCalibration, fit_calibration
from assistlearn.methods.method import Method
from assistlearn.session.combining import Told
from assistlearn.session.holdout import HoldOut


@dataclass(frozen=True)
class HonestScores:
    """Decisions about samples that no model has seen, and their classes.

    Attributes
    ----------
    total : array of shape (n_samples, n_classes)
        The sum of all votes, in the open order of the classes.
    labels : array of int of shape (n_samples,)
        The class of each sample, as its place in that order.
    weights : array of shape (n_samples,) or None
        How much each sample counts.
    kind : str
        Which samples these are.
    """

    total: Floats
    labels: Codes
    weights: Floats | None
    kind: str

    def at(self, spoken: Bools) -> HonestScores | None:
        """Return the decisions about some of the samples; None where there are none, or where they have no weight."""
        if spoken.all():
            return self
        weights = None if self.weights is None else self.weights[spoken]
        if not spoken.any() or (weights is not None and not weights.sum() > 0.0):
            return None
        return HonestScores(self.total[spoken], self.labels[spoken], weights, self.kind)

    def calibration(self) -> ScoreCalibration:
        """Return the calibration."""
        return fit_calibration(self.total, self.labels, self.weights, fitted_to=self.kind)


class Calibrating(Protocol):
    """Collects what agents say in a run, and returns the honest scores at the end."""

    def add(self, told: Told) -> None:
        """Add what a kept model has told."""

    def scores(self, n_rounds: int, left_out: Container[str] = ()) -> HonestScores | None:
        """Return the scores of the first ``n_rounds`` rounds, without the agents in ``left_out``; or None."""


class ByHoldout:
    """Calibrates by the votes on the hold-out samples.

    Parameters
    ----------
    holdout : HoldOut
        It collects these votes.
    """

    def __init__(self, holdout: HoldOut) -> None:
        self._holdout = holdout

    def add(self, told: Told) -> None:
        """Do nothing: ``holdout`` collects the votes itself."""

    def scores(self, n_rounds: int, left_out: Container[str] = ()) -> HonestScores | None:
        """Return the decision on the hold-out samples; None where nobody has a vote, or no sample any weight."""
        said = self._holdout.votes_of(n_rounds)
        decision = said.of([agent for agent in said.said if agent not in left_out]).decided()
        scores = HonestScores(decision.total, self._holdout.labels, self._holdout.weights, HOLDOUT)
        return scores.at(decision.spoken)


class ByOutOfFold:
    """Calibrates by the votes on the training samples that out-of-fold rewards mean.

    Parameters
    ----------
    method : Method
        Turns a reward into votes for all classes.
    codes : array of int of shape (n_samples,)
        The class codes of the training samples.
    n_classes : int
        The number of classes.
    weights : array of shape (n_samples,) or None
        The initial weights of the samples.
    order : ndarray of int, optional
        The class code of each class, where codes are in a secret order.
    """

    def __init__(
        self, method: Method, codes: Codes, n_classes: int, weights: Floats | None, order: Codes | None = None
    ) -> None:
        self._method = method
        self._codes = codes
        self._weights = weights
        self._total = np.zeros((len(codes), n_classes))
        self._order = np.arange(n_classes) if order is None else order

    def add(self, told: Told) -> None:
        """Add a kept model's votes."""
        self._total += told.model_weight * self._method.class_votes(told.reward, self._codes)

    def scores(self, n_rounds: int, left_out: Container[str] = ()) -> HonestScores | None:
        """Return the decision on the training samples. Without hold-out samples all rounds and agents count.

        Samples about which no agent says anything do not count: their decision does not come from votes.
        """
        total, labels = np.ascontiguousarray(self._total[:, self._order]), np.argsort(self._order)[self._codes]
        return HonestScores(total, labels, self._weights, OUT_OF_FOLD).at(~silent([total], len(total)))
