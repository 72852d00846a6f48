"""An exchange of one's own: how many models an agent keeps, and of which rounds."""

from __future__ import annotations

from typing import Any

from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.answers import Exchange, register
from assistlearn.agent.run import RunHere
from assistlearn.protocol.messages import Message


class Census(Message, frozen=True, tag="census"):
    """Ask how many models there are."""


class Counted(Message, frozen=True, tag="counted"):
    """So many, of these rounds."""

    rounds: list[int]


class Counting(Exchange):
    """Answers a census."""

    requests = (Census,)
    replies = (Counted,)

    def answer(self, run: RunHere, message: Any, request: bytes) -> Counted:
        """Return the rounds of the kept models."""
        return Counted(run=message.run, rounds=[kept.round for kept in run.part().agent.models])


register(Counting())


def learner() -> DecisionTreeClassifier:
    """Return what agents' files name, so that their processes import this file."""
    return DecisionTreeClassifier(max_depth=2)
