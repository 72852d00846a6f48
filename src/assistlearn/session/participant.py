"""An agent as the session sees it, wherever it runs; and one in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from assistlearn.agent.agent import Agent, Answer, Turn
from assistlearn.core import Contribution, RunState
from assistlearn.errors import DoubtedError
from assistlearn.methods.method import Method

# An agent as the session sees it, wherever the agent runs.


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


# An agent in this process, as the session sees it.


@dataclass(frozen=True)
class LocalParticipant:
    """An agent that shares its state with the session. So it does not need to be told what others did.

    Attributes
    ----------
    agent : Agent
        The agent.
    state : RunState
        The state that it shares.
    method : Method
        How its models are rewarded and weighed.
    doubt : callable, optional
        Returns why an answer of a given round is not believed; an empty text if it is. If it is not believed, the run
        goes on without the agent.
    """

    agent: Agent
    state: RunState
    method: Method
    doubt: Callable[[Answer, int], str] = lambda answer, round: ""

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name

    def take_turn(self, turn: Turn) -> Answer:
        """Let the agent take its turn under the shared state; its model is a candidate until it is accepted."""
        state = self.state.beginning() if turn.apart else self.state
        answer = self.agent.take_turn(turn, state, self.method, keep=False)
        reason = self.doubt(answer, turn.round)
        if reason:
            raise DoubtedError(self.name, reason)
        return answer

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        """Keep the agent's model if the contribution is its own. The session has already updated the shared state."""
        if contribution.agent == self.name:
            self.agent.keep_candidate()
            self.agent.hear_own(answer.reward, contribution.model_weight, step, self.method)
