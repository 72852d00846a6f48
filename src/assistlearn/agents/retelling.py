"""What an agent tells in place of its models' answers, if its owner wants noise in what is told."""

from __future__ import annotations

from typing import Protocol

from assistlearn.agents.turns import Turn
from assistlearn.core import Reward
from assistlearn.core.ignorance import Bools
from assistlearn.methods.method import HoldoutAnswer


class Retelling(Protocol):
    """Changes what is told about each person, before anything else is computed from it."""

    def reward(self, turn: Turn, reward: Reward, held: Bools | None) -> Reward:
        """Return the reward that is told in place of ``reward``.

        ``held`` are the samples that the agent holds; None for all.
        """

    def holdout_answer(self, turn: Turn, answer: HoldoutAnswer) -> HoldoutAnswer:
        """Return the answers for hold-out samples that are told in place of ``answer``."""
