"""What an agent tells in place of what its models answer, where its owner has it told with noise."""

from __future__ import annotations

from typing import Protocol

from assistlearn.agents.turns import Turn
from assistlearn.core import Reward
from assistlearn.core.ignorance import Bools
from assistlearn.methods.method import HoldoutAnswer


class Retelling(Protocol):
    """Changes what is told of each person, before anything follows from it."""

    def reward(self, turn: Turn, reward: Reward, held: Bools | None) -> Reward:
        """Return what is told of a reward; ``held`` are the samples that the agent holds, None for all."""

    def holdout_answer(self, turn: Turn, answer: HoldoutAnswer) -> HoldoutAnswer:
        """Return what is told of the answers for hold-out samples."""
