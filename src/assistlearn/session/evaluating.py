"""What the hold-out samples say in the end: with help and alone, who helped, and who did harm."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np

from assistlearn.combination import Combination
from assistlearn.core.votes import Codes
from assistlearn.evaluation.report import Decided, Report, compare
from assistlearn.evaluation.shares import Estimate, GainShares, shares_of_decisions, shares_of_sum
from assistlearn.session.holdout import HoldOut, HoldoutVotes

BEYOND_CHANCE = 1.96
"""How many standard errors from zero a difference is not put down to chance."""

LEAST_SAMPLES = 2
"""Fewer hold-out samples say nothing about who helped."""


@dataclass(frozen=True)
class Evaluating:
    """How a result is judged.

    Attributes
    ----------
    holdout : HoldOut
        What the agents answered.
    agents : sequence of str
        All of them, the initiator first.
    alone : callable
        Trains the initiator alone with so many models at the most, and returns its hold-out samples' votes.
    order : ndarray of int, optional
        The class code of each class, where codes are secret; a report goes by classes.
    leave_out : bool
        Whether helpers that make the result worse are left out of it.
    seed : int
        Of what is drawn for intervals.
    """

    holdout: HoldOut
    agents: Sequence[str]
    alone: Callable[[int], HoldoutVotes]
    order: Codes | None = None
    leave_out: bool = True
    seed: int = 0

    def report(self, n_rounds: int, n_models: int, learned: Combination | None) -> Report:
        """Return what the hold-out samples say of the first ``n_rounds`` rounds, which have so many models."""
        heard = self.holdout.votes_of(n_rounds, learned)
        worse, left_out = self._worse(heard)
        kept = heard.of([agent for agent in self.agents if agent not in left_out])
        alone = self.alone(max(n_models, 1)).decided(self.holdout.shape)
        order = np.arange(self.holdout.n_classes) if self.order is None else self.order
        codes = np.argsort(order)[self.holdout.codes]
        assisted, alone = _in_order(self._decided(kept), order), _in_order(alone, order)
        found = compare(codes, assisted, alone, self.holdout.weights, self.seed)
        return Report(
            models_alone=n_models, shares=self._shares(kept, left_out), worse=worse, left_out=left_out, **found
        )

    def _worse(self, heard: HoldoutVotes) -> tuple[list[str], list[str]]:
        """Return who makes the result worse, and who of them is left out: the worst first, as long as there is one."""
        left_out: list[str] = []
        while True:
            staying = heard.of([agent for agent in self.agents if agent not in left_out])
            harm = {helper: _harm(each) for helper, each in self._dropped(staying).items()}
            worse = sorted((helper for helper in harm if harm[helper] > 0.0), key=lambda helper: -harm[helper])
            if not worse or not self.leave_out:
                return [*left_out, *worse], left_out
            left_out.append(worse[0])

    def _dropped(self, heard: HoldoutVotes) -> dict[str, Estimate]:
        """Return by how much the log loss is higher without each helper that has a vote, all others staying."""
        if len(self.holdout.codes) < LEAST_SAMPLES:
            return {}
        helpers = [agent for agent in self.agents[1:] if agent in heard.scores]
        return {helper: self._loss_without(helper, heard) for helper in helpers}

    def _loss_without(self, helper: str, heard: HoldoutVotes) -> Estimate:
        others = {*heard.scores} - {helper}
        codes, weights = self.holdout.codes, self.holdout.weights
        return shares_of_decisions([helper], lambda it: self._decided(heard, others | it), codes, weights).loss

    def _shares(self, heard: HoldoutVotes, left_out: Sequence[str]) -> GainShares | None:
        helpers = [agent for agent in self.agents[1:] if agent not in left_out]
        codes, weights = self.holdout.codes, self.holdout.weights
        if len(codes) < LEAST_SAMPLES or not helpers:
            return None
        if heard.adds_up:
            silent = np.zeros(self.holdout.shape)
            own, *scores = (heard.scores.get(agent, silent) for agent in (self.agents[0], *helpers))
            return shares_of_sum(own, dict(zip(helpers, scores, strict=True)), codes, weights, seed=self.seed)
        initiator = {self.agents[0]}
        return shares_of_decisions(
            helpers, lambda there: self._decided(heard, initiator | there), codes, weights, seed=self.seed
        )

    def _decided(self, heard: HoldoutVotes, agents: Container[str] | None = None) -> Decided:
        return (heard if agents is None else heard.of(agents)).decided(self.holdout.shape)


def _in_order(decided: Decided, order: Codes) -> Decided:
    """Return what is decided with the classes in their own order; rows are summed as elsewhere."""
    return Decided(*(np.ascontiguousarray(each[:, order]) for each in decided))


def _harm(dropped: Estimate) -> float:
    """Return by how much dropping a helper lowers the loss beyond chance; at most zero where it does not."""
    return -dropped.value - BEYOND_CHANCE * dropped.error
