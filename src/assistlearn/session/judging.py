"""What the hold-out samples show at the end, and what probabilities are calibrated on."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from assistlearn.combination import Combination
from assistlearn.core.labels import silent
from assistlearn.evaluation.calibration import HOLDOUT, OUT_OF_FOLD, ScoreCalibration, fit_calibration
from assistlearn.evaluation.result import Decided, Report, compare
from assistlearn.evaluation.shares import Estimate, GainShares, shares_of_decisions, shares_of_sum
from assistlearn.methods.method import Method
from assistlearn.session.combining import Told
from assistlearn.session.holdout import HoldOut, HoldoutVotes, calibrated
from assistlearn.types import Bools, Codes, Floats

# What the probabilities of a run are calibrated on: its decision on samples that no model has seen.


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


# What the hold-out samples show at the end: the result with help and alone, who helped, and who made it worse.


BEYOND_CHANCE = 1.96
"""If a difference is more than this many standard errors from zero, it is not explained by chance."""

LEAST_SAMPLES = 2
"""Fewer hold-out samples say nothing about who helped."""


@dataclass(frozen=True)
class Evaluating:
    """How a result is judged.

    Attributes
    ----------
    holdout : HoldOut
        The agents' votes on the hold-out samples.
    agents : sequence of str
        All of them, the initiator first.
    alone : callable
        Trains the initiator alone with at most the given number of models, and returns its votes on the hold-out
        samples.
    seed : int
        The seed for intervals and shares that are drawn at random.
    leave_out : bool
        Whether helpers that make the result worse are left out of it.
    calibrates : bool
        Whether probabilities are calibrated on these samples. Each sample is then judged by a calibration on others.
    """

    holdout: HoldOut
    agents: Sequence[str]
    alone: Callable[[int], HoldoutVotes]
    seed: int
    leave_out: bool = True
    calibrates: bool = False

    def report(self, n_rounds: int, n_models: int, learned: Combination | None, doubted: Sequence[str] = ()) -> Report:
        """Return what the hold-out samples show about the first ``n_rounds`` rounds, which have ``n_models`` models.

        The votes of ``doubted`` agents do not count.
        """
        heard = self.holdout.votes_of(n_rounds, learned)
        worse, left_out = self._worse(heard, doubted)
        kept = heard.of([agent for agent in self.agents if agent not in left_out])
        alone = self._decided(self.alone(max(n_models, 1)))
        found = compare(
            self.holdout.labels, self._decided(kept), alone, self.holdout.weights, self.seed, self.holdout.groups
        )
        return Report(
            models_alone=0 if self.label_only else n_models,
            shares=self._shares(kept, left_out),
            worse=worse,
            left_out=left_out,
            alone_by_labels=self.label_only,
            **found,
        )

    @property
    def label_only(self) -> bool:
        """Whether the initiator has labels alone. Then, without help, it knows only the shares of the classes."""
        return self.holdout.label_only

    def _worse(self, heard: HoldoutVotes, doubted: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return who makes the result worse, and who is left out: the worst first, until none makes it worse."""
        left_out = list(doubted)
        while True:
            staying = heard.of([agent for agent in self.agents if agent not in left_out])
            harm = {helper: _harm(each) for helper, each in self._dropped(staying).items()}
            worse = sorted((helper for helper in harm if harm[helper] > 0.0), key=lambda helper: -harm[helper])
            if not worse or not self.leave_out:
                return [*left_out[len(doubted) :], *worse], left_out
            left_out.append(worse[0])

    def _dropped(self, heard: HoldoutVotes) -> dict[str, Estimate]:
        """Return for each helper that has a vote by how much the log loss is higher without it, with all others."""
        if len(self.holdout.labels) < LEAST_SAMPLES:
            return {}
        helpers = [agent for agent in self.agents[1:] if agent in heard.said and heard.said[agent].weight > 0.0]
        return {helper: self._loss_without(helper, heard) for helper in helpers}

    def _loss_without(self, helper: str, heard: HoldoutVotes) -> Estimate:
        others, weights = {*heard.said} - {helper}, self.holdout.weights

        def decide(there: frozenset[str]) -> tuple[Floats, Floats]:
            found = self._decided(heard.of(others | there))
            return found.total, found.probabilities if found.calibrated is None else found.calibrated

        return shares_of_decisions([helper], decide, self.holdout.labels, weights, groups=self.holdout.groups).loss

    def _shares(self, heard: HoldoutVotes, left_out: Sequence[str]) -> GainShares | None:
        """Return every helper's gain share; the same calibration is used for all sets of helpers."""
        helpers, weights = [agent for agent in self.agents[1:] if agent not in left_out], self.holdout.weights
        if len(self.holdout.labels) < LEAST_SAMPLES or not helpers:
            return None
        calibration = self._calibration(heard) if self.calibrates else None
        how: Any = {"seed": self.seed, "groups": self.holdout.groups}
        if heard.adds_up:
            named = {agent: heard.deciding.in_order(heard.said[agent].scores) for agent in (self.agents[0], *helpers)}
            own = named.pop(self.agents[0])
            return shares_of_sum(own, named, self.holdout.labels, weights, calibration=calibration, **how)
        by_all = heard.calibrated_by(calibration)

        def decide(there: frozenset[str]) -> tuple[Floats, Floats]:
            found = by_all.of({self.agents[0]} | there).decided()
            return found.total, found.probabilities

        return shares_of_decisions(helpers, decide, self.holdout.labels, weights, **how)

    def _calibration(self, heard: HoldoutVotes) -> ScoreCalibration | None:
        """Return the calibration on all samples about which an agent says something; None if there are none."""
        decision, weights = heard.decided(), self.holdout.weights
        spoken = decision.spoken
        if not spoken.any():
            return None
        labels = self.holdout.labels[spoken]
        return fit_calibration(decision.total[spoken], labels, None if weights is None else weights[spoken])

    def _decided(self, heard: HoldoutVotes) -> Decided:
        """Return the decision; the probabilities of a sample are calibrated on other samples."""
        found = heard.decided()
        judged = calibrated(found, self.holdout.labels, self.holdout.weights) if self.calibrates else None
        return Decided(found.total, found.probabilities, judged)


def _harm(dropped: Estimate) -> float:
    """Return by how much dropping a helper lowers the loss beyond chance; at most zero where it does not."""
    return -dropped.value - BEYOND_CHANCE * dropped.error
