"""What the initiator learns from honest rewards: a combination of scores after every round, and what votes are like."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assistlearn import combination
from assistlearn.combination import Combination
from assistlearn.core.people import Groups
from assistlearn.methods.method import Method
from assistlearn.session.deciding import Kept
from assistlearn.types import Codes, Floats

WORTH, LEAST_WORTH = 0.01, 0.002
"""A round pays if it lowers the honest loss of the combination by more than this share, and more than this amount."""

HALF = 0.5
"""From the third round on, half of the agents must bring at least this share of what pays; else the others are spared.
"""


@dataclass
class Combining:
    """The combination after each round, and which round was the best.

    ``told`` are the class codes that each agent was told, the initiator first: its rewards are about these. ``own`` are
    the initiator's own columns, as numbers. No trees are tried for the combinations of ``rounds``, so that a round
    costs little; for the ``final`` one they are. ``best_round`` is the last that paid; 0 before the first.
    """

    kind: str
    method: Method
    codes: Codes
    told: Mapping[str, Codes]
    n_classes: int
    seed: int
    weights: Floats | None = None
    own: Floats | None = None
    groups: Groups | None = None
    rounds: dict[int, Combination] = field(default_factory=dict, init=False)
    best_round: int = field(default=0, init=False)
    final: Combination | None = field(default=None, init=False)
    _kept: list[Kept] = field(default_factory=list, init=False)
    _round: int = field(default=0, init=False)

    def add(self, kept: Kept) -> None:
        self._kept.append(kept)

    def finish_round(self) -> Combination | None:
        self._round += 1
        if not self._kept:
            return None
        learned = self.rounds[self._round] = self._learned(self._round, quick=True)
        best = self.rounds[self.best_round].loss if self.best_round else sys.float_info.max
        if learned.loss < best - _worth(best):
            self.best_round = self._round
        return learned

    @property
    def promising(self) -> bool:
        """Whether the models of half of the agents in the round that has begun have brought half of what pays."""
        if not self.best_round:
            return True
        if all(each.round <= self._round for each in self._kept):
            return False
        best = self.rounds[self.best_round].loss
        return self._learned(self._round + 1, quick=True).loss < best - HALF * _worth(best)

    @property
    def exhausted(self) -> bool:
        """Whether the last round has not paid, though somebody has kept a model."""
        return bool(self.rounds) and self._round > self.best_round

    def finish(self, n_rounds: int) -> Combination | None:
        if any(each.round <= n_rounds for each in self._kept):
            self.final = self._learned(n_rounds, quick=False)
            self.rounds = {number: each for number, each in self.rounds.items() if number <= n_rounds}
        return self.final

    def _learned(self, n_rounds: int, quick: bool) -> Combination:
        scores = {agent: np.zeros((len(self.codes), self.n_classes)) for agent in self.told}
        for each in self._kept:
            if each.round <= n_rounds:
                assert each.reward is not None
                scores[each.agent] += each.model_weight * self.method.class_votes(each.reward, self.told[each.agent])
        return combination.fit(
            self.kind,
            scores,
            self.codes,
            initiator=next(iter(self.told)),
            weights=self.weights,
            own=self.own,
            groups=self.groups,
            seed=self.seed,
            quick=quick,
        )


def _worth(best: float) -> float:
    return max(WORTH * best, LEAST_WORTH)


def honest_votes(
    models: Iterable[Kept], method: Method, codes: Mapping[str, Codes], rows: NDArray[np.intp]
) -> dict[str, Floats]:
    """Return each agent's votes on some training samples that its models were not fitted to, by one unit of weight."""
    total: dict[str, Floats] = {}
    weights: dict[str, float] = {}
    for _, agent, weight, reward, _ in models:
        assert reward is not None
        said = weight * method.class_votes(reward, codes[agent])[rows]
        total[agent] = total.get(agent, np.zeros_like(said)) + said
        weights[agent] = weights.get(agent, 0.0) + weight
    return {agent: votes / weights[agent] for agent, votes in total.items()}
