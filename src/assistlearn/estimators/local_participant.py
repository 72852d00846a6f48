"""An agent in this process, as the session sees it."""

from __future__ import annotations

from dataclasses import dataclass

from assistlearn.agents import Agent, Answer, Turn
from assistlearn.core import Contribution, RunState
from assistlearn.methods.method import Method


@dataclass(frozen=True)
class LocalParticipant:
    """An agent that shares its state with the session, so that it need not be told what happened."""

    agent: Agent
    state: RunState
    method: Method

    @property
    def name(self) -> str:
        """What it is called."""
        return self.agent.name

    def take_turn(self, turn: Turn) -> Answer:
        """Let the agent take its turn under the shared state; its model is a candidate until it is accepted."""
        state = self.state.beginning() if turn.apart else self.state
        return self.agent.take_turn(turn, state, self.method, keep=False)

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        """Let the agent keep its model; the session has brought the shared state up to date."""
        if contribution.agent == self.name:
            self.agent.keep_candidate()
