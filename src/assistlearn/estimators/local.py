"""An agent in this process, as the session sees it."""

from __future__ import annotations

from dataclasses import dataclass

from assistlearn.agents import Agent, Answer, Turn
from assistlearn.core import Contribution, State
from assistlearn.core.ignorance import Bools


@dataclass(frozen=True)
class LocalParty:
    """An agent that shares its state with the session, so that it need not be told what happened."""

    agent: Agent
    state: State

    @property
    def name(self) -> str:
        """What it is called."""
        return self.agent.name

    def take_turn(self, turn: Turn) -> Answer:
        """Let the agent take its turn under the shared state."""
        return self.agent.take_turn(turn, self.state)

    def hear(self, contribution: Contribution, reward: Bools) -> None:
        """Do nothing: the session has brought the shared state up to date."""
