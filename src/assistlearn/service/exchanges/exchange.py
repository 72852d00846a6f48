"""What an exchange is: some requests, and how an agent answers them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from assistlearn.protocol.codec import Encoded
from assistlearn.protocol.messages import Message
from assistlearn.service.run_here import RunHere


class Demand(NamedTuple):
    """How much a request asks for of what is counted, and in which turn, if it asks for a turn."""

    amount: int
    turn: int | None = None


class Exchange(ABC):
    """Answers some types of requests, for any run.

    Attributes
    ----------
    requests, replies : tuple of message types
        The messages that it answers, and its answers other than a ``Problem``.
    needs_open_run : bool
        Whether the run must have been opened here before.
    needs_permission : bool
        Whether the agent's owner must still allow the run.
    """

    requests: ClassVar[tuple[type[Message], ...]] = ()
    replies: ClassVar[tuple[type[Message], ...]] = ()
    needs_open_run: ClassVar[bool] = True
    needs_permission: ClassVar[bool] = True

    def demand(self, run: RunHere, message: Any) -> Demand | None:
        """Return what a request asks for, before any work; None if it asks for nothing that is counted.

        Raise if the request cannot be answered at all, so that it is not counted.
        """
        return None

    @abstractmethod
    def answer(self, run: RunHere, message: Any, request: bytes) -> Message | Encoded:
        """Return the reply to a request of one of its types; ``request`` are the bytes it came in."""
