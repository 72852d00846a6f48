"""An agent as the session sees it, wherever the agent runs."""

from __future__ import annotations

from typing import Protocol

from assistlearn.agents import Answer, Turn
from assistlearn.core import Contribution


class Participant(Protocol):
    """An agent that can take a turn, and can be told what others did."""

    @property
    def name(self) -> str:
        """The agent's name."""
        ...

    def take_turn(self, turn: Turn) -> Answer:
        """Fit a model under the present ignorance and say where it is right.

        Raises
        ------
        AgentGoneError
            The agent cannot be reached, and the run goes on without it.
        """
        ...

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        """Hear of a contribution that was accepted, another agent's or its own; keep the model if it is its own.

        ``step`` is what the reward counts for in the state. It is the model weight, except in a first round in which
        agents learn apart. There it is what the model is worth beside those made at the same time.
        """
        ...
