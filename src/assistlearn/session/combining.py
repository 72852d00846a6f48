"""How the initiator learns to combine the agents' scores after every round, and whether another is worth it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assistlearn import combination
from assistlearn.combination import Combination
from assistlearn.core import Reward
from assistlearn.core.people import Groups
from assistlearn.evaluation.constancy import kept
from assistlearn.methods.method import Method
from assistlearn.session.holdout import HoldOut
from assistlearn.types import Codes, Floats

# How the initiator learns to combine the agents' scores after every round, and whether another round is worth it.


WORTH, LEAST_WORTH = 0.01, 0.002
"""A round pays if it lowers the honest loss of the combination by more than this share, and more than this amount."""

HALF = 0.5
"""From the third round on, half of the agents must bring at least this share of what pays; else the others are spared.
"""


class Told(NamedTuple):
    """What a kept model has told: its honest reward, with its round, its agent and its weight."""

    round: int
    agent: str
    reward: Reward
    model_weight: float


@dataclass(frozen=True)
class Lesson:
    """What the initiator needs to learn a combination, on its own machine.

    Attributes
    ----------
    kind : {"learned", "auto"}
        Which combinations may be learned.
    agents : sequence of str
        All agents, the initiator first.
    codes : ndarray of shape (n_samples,)
        The class codes of the training samples.
    told : mapping of str to ndarray of shape (n_samples,)
        The class codes that each agent was told: its rewards are about these.
    n_classes : int
        The number of classes.
    weights : ndarray of shape (n_samples,) or None
        The initial weights of the samples.
    own : ndarray of shape (n_samples, n_columns) or None
        The initiator's own columns, as numbers.
    seed : int
        The seed of the folds.
    groups : ndarray of int of shape (n_samples,), or None
        Which samples are about the same person; None where no two are.
    """

    kind: str
    agents: Sequence[str]
    codes: Codes
    told: Mapping[str, Codes]
    n_classes: int
    weights: Floats | None
    own: Floats | None
    seed: int
    groups: Groups | None = None


class Combining:
    """The combination after each round, and which round was the best.

    Parameters
    ----------
    lesson : Lesson
        What the combination is learned from.
    method : Method
        Turns a reward into votes for all classes.

    Attributes
    ----------
    rounds : dict of int to Combination
        The combination after each round, by the number of the round, from the first round in which anybody told
        anything. No trees are tried for these, so that a round costs little.
    best_round : int
        The last round that paid; 0 before the first.
    final : Combination or None
        The combination of the rounds that the result uses, with trees tried, too; None before the end.
    """

    def __init__(self, lesson: Lesson, method: Method) -> None:
        self._lesson = lesson
        self._method = method
        self._told: list[Told] = []
        self._round = 0
        self.rounds: dict[int, Combination] = {}
        self.best_round = 0
        self.final: Combination | None = None

    def add(self, told: Told) -> None:
        """Add what a kept model has told."""
        self._told.append(told)

    def finish_round(self) -> Combination | None:
        """Learn and return the combination of all rounds so far; None as long as nobody has told anything."""
        self._round += 1
        if not self._told:
            return None
        learned = self.rounds[self._round] = self._learned(self._round, quick=True)
        best = self.rounds[self.best_round].loss if self.best_round else sys.float_info.max
        if learned.loss < best - _worth(best):
            self.best_round = self._round
        return learned

    @property
    def promising(self) -> bool:
        """Whether what half of the agents have told in the round that has begun has brought half of what pays."""
        if not self.best_round:
            return True
        if all(told.round <= self._round for told in self._told):
            return False
        best = self.rounds[self.best_round].loss
        return self._learned(self._round + 1, quick=True).loss < best - HALF * _worth(best)

    @property
    def exhausted(self) -> bool:
        """Whether the last round has not paid, though somebody has told something."""
        return bool(self.rounds) and self._round > self.best_round

    def finish(self, n_rounds: int) -> Combination | None:
        """Learn the combination of the first ``n_rounds`` rounds; None where nobody has told anything in them."""
        if any(told.round <= n_rounds for told in self._told):
            self.final = self._learned(n_rounds, quick=False)
            self.rounds = {number: each for number, each in self.rounds.items() if number <= n_rounds}
        return self.final

    def _learned(self, n_rounds: int, quick: bool) -> Combination:
        lesson = self._lesson
        scores = {agent: np.zeros((len(lesson.codes), lesson.n_classes)) for agent in lesson.agents}
        for told in self._told:
            if told.round <= n_rounds:
                scores[told.agent] += told.model_weight * self._method.class_votes(told.reward, lesson.told[told.agent])
        return combination.fit(
            lesson.kind,
            scores,
            lesson.codes,
            initiator=lesson.agents[0],
            weights=lesson.weights,
            own=lesson.own,
            groups=lesson.groups,
            seed=lesson.seed,
            quick=quick,
        )


def _worth(best: float) -> float:
    """Return by how much a round must lower the loss to pay."""
    return max(WORTH * best, LEAST_WORTH)


# The agents' honest votes in training, with which their votes for new people are compared.


class VotesInTraining:
    """Collects votes on samples that the models were not fitted to: by out-of-fold rewards, or on hold-out samples.

    Parameters
    ----------
    method : Method
        Turns a reward into votes for all classes.
    codes : mapping of str to ndarray of shape (n_samples,)
        The class codes of the training samples, as each agent is told them.
    n_classes : int
        The number of classes.
    honest : bool
        Whether rewards are out-of-fold and say something of every class.
    holdout : HoldOut or None
        The hold-out samples, which serve where rewards do not.
    groups : ndarray of int of shape (n_samples,), or None
        Which training samples are about the same person: one of them is kept.
    seed : int
        Decides whose votes are kept, where there are many samples.
    """

    def __init__(
        self,
        method: Method,
        codes: Mapping[str, Codes],
        n_classes: int,
        honest: bool,
        holdout: HoldOut | None,
        groups: Groups | None = None,
        seed: int = 0,
    ) -> None:
        self._method = method
        self._codes = codes
        self._n_classes = n_classes
        self._honest = honest
        self._holdout = holdout
        n_samples = len(next(iter(codes.values())))
        one_each = np.arange(n_samples) if groups is None else np.unique(groups, return_index=True)[1]
        self._kept = one_each[kept(len(one_each), seed)]
        self._told: list[tuple[int, str, Floats, float]] = []

    def add(self, told: Told) -> None:
        """Add what a kept model has told."""
        if self._honest:
            said = self._method.class_votes(told.reward, self._codes[told.agent])[self._kept]
            self._told.append((told.round, told.agent, said, told.model_weight))

    def votes(self, n_rounds: int) -> dict[str, Floats]:
        """Return each agent's votes with the models of the first rounds, by one unit of model weight.

        Returns
        -------
        votes : dict of str to ndarray of shape (n_kept, n_classes)
            By class code; empty where there are no honest votes.
        """
        if not self._honest:
            said = {} if self._holdout is None else self._holdout.votes_of(n_rounds).said
            return {name: each.scores / each.weight for name, each in said.items() if each.weight > 0.0}
        total: dict[str, Floats] = {}
        weights: dict[str, float] = {}
        for round, agent, said_now, weight in self._told:
            if round <= n_rounds:
                total[agent] = total.get(agent, np.zeros((len(self._kept), self._n_classes))) + weight * said_now
                weights[agent] = weights.get(agent, 0.0) + weight
        return {agent: votes / weights[agent] for agent, votes in total.items()}
