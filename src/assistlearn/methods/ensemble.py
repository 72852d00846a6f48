"""Ensemble-AdaBoost: agents exchange nothing. Every agent boosts alone, and the majority of their answers counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from assistlearn.core import votes
from assistlearn.core.ignorance import Floats
from assistlearn.methods.hard import Hard


@dataclass(frozen=True)
class Ensemble(Hard):
    """The paper's baseline."""

    summary: ClassVar[str] = (
        "agents exchange nothing. Every agent boosts alone, and the majority of their answers counts "
        "(Ensemble-AdaBoost); the agents' confidence decides ties. Use it to compare with"
    )
    adds_up: ClassVar[bool] = False
    shares_state: ClassVar[bool] = False

    def combine(self, scores: Mapping[str, Floats], total_weights: Mapping[str, float]) -> dict[str, Floats]:
        """Return each agent's share of a majority vote."""
        return votes.majority_votes(scores, total_weights)

    def probabilities(self, total: Floats, n_voting: int) -> Floats:
        """Return the share of the majority vote that each class has."""
        return votes.vote_shares(total, n_voting)
