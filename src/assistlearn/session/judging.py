"""What the hold-out samples show at the end, and what probabilities are calibrated on."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn.combination import Combination
from assistlearn.core.labels import silent
from assistlearn.evaluation.calibration import HOLDOUT, OUT_OF_FOLD, ScoreCalibration, fit_calibration
from assistlearn.evaluation.result import Decided, Report, compare
from assistlearn.evaluation.shares import Estimate, GainShares, shares_of_decisions, shares_of_sum
from assistlearn.methods.method import Method
from assistlearn.session.deciding import Kept
from assistlearn.session.holdout import HoldOut, HoldoutVotes, calibrated
from assistlearn.types import Bools, Codes, Floats

BEYOND_CHANCE = 1.96
"""If a difference is more than this many standard errors from zero, it is not explained by chance."""

LEAST_SAMPLES = 2
"""Fewer hold-out samples say nothing about who helped."""


@dataclass(frozen=True)
class Evaluating:
    """How a result is judged on the hold-out samples.

    ``alone`` trains the initiator alone with at most the given number of models, and returns its votes on them.
    ``seed`` is for intervals and shares that are drawn at random. With ``leave_out``, helpers that make the result
    worse are left out of it. Where probabilities are calibrated, each sample is judged by a calibration on others.
    """

    holdout: HoldOut
    agents: Sequence[str]
    alone: Callable[[int], HoldoutVotes]
    seed: int
    leave_out: bool = True
    calibrates: bool = False
    label_only: bool = False  # the initiator has labels alone: without help it knows the shares of the classes, no more

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


# Probabilities are calibrated on decisions about samples that no model has seen: hold-out samples, or else training
# samples by what out-of-fold rewards say of them. Samples about which no agent says anything do not count, because
# their decision does not come from votes.


def calibration_on_holdout(holdout: HoldOut, n_rounds: int, left_out: Container[str] = ()) -> ScoreCalibration | None:
    """Return the calibration on the hold-out samples; None where nobody has a vote, or no sample any weight."""
    said = holdout.votes_of(n_rounds)
    decision = said.of([agent for agent in said.said if agent not in left_out]).decided()
    return _fitted(decision.total, holdout.labels, holdout.weights, decision.spoken, HOLDOUT)


def calibration_out_of_fold(
    models: Iterable[Kept], method: Method, codes: Codes, n_classes: int, weights: Floats | None, order: Codes | None
) -> ScoreCalibration | None:
    """Return the calibration on the training samples, by honest rewards; without hold-out samples all models count."""
    total = np.zeros((len(codes), n_classes))
    for each in models:
        assert each.reward is not None
        total += each.model_weight * method.class_votes(each.reward, codes)
    order = np.arange(n_classes) if order is None else order
    spoken = ~silent([total], len(total))
    return _fitted(np.ascontiguousarray(total[:, order]), np.argsort(order)[codes], weights, spoken, OUT_OF_FOLD)


def _fitted(total: Floats, labels: Codes, weights: Floats | None, spoken: Bools, kind: str) -> ScoreCalibration | None:
    if not spoken.all():
        total, labels, weights = total[spoken], labels[spoken], None if weights is None else weights[spoken]
        if not len(total) or (weights is not None and not weights.sum() > 0.0):
            return None
    return fit_calibration(total, labels, weights, fitted_to=kind)
