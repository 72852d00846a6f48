"""What an agent's own kept models have said about the training samples, summed over its turns in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assistlearn.core import SoftReward, SoftState, VectorState
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.methods.method import Method


@dataclass
class OwnVotes:
    """An agent's own part of the state, and of the decision. Both differ where a first round was taken apart.

    Attributes
    ----------
    in_state : ndarray or None
        What its models count for in the state, in the form of the state; None before the first of them.
    told : ndarray of shape (n_samples, n_classes) or None
        Its votes, the sum of model weight times votes.
    """

    in_state: Any = None
    told: Floats | None = None

    def add(self, reward: Any, codes: Codes, model_weight: float, step: float, method: Method) -> None:
        """Add a kept model: its reward, its weight, and the weight with which it counts in the state."""
        if not isinstance(reward, SoftReward):
            return
        in_state, told = step * reward.values(), model_weight * method.class_votes(reward, codes)
        self.in_state = in_state if self.in_state is None else self.in_state + in_state
        self.told = told if self.told is None else self.told + told

    def taken_out_of(self, state: SoftState | VectorState) -> SoftState | VectorState:
        """Return the state as it would be if these models had not spoken."""
        return state if self.in_state is None else state.without(self.in_state)
