"""The way to one agent, as the initiator has it: requests out, replies in, refusals raised, everything recorded."""

from __future__ import annotations

import time
from typing import TypeVar

import msgspec

from assistlearn.errors import FailedThereError, ProtocolError, RefusedError, StartedAnewError
from assistlearn.events import Answered, Asked, EventLog
from assistlearn.protocol import Encoded, Ledger, Transport, decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import Direction
from assistlearn.protocol.messages import Message, type_of
from assistlearn.protocol.words import check_words, shown

Expected = TypeVar("Expected", bound=Message)


class Correspondent:
    """Asks one agent.

    Parameters
    ----------
    agent : str
        The agent's name.
    transport : Transport
        What carries the bytes.
    ledger : Ledger, optional
        Where every message is recorded before it goes out, and as it comes in.
    log : EventLog, optional
        The log, for the events that the agent was asked, and has answered.
    """

    def __init__(
        self,
        agent: str,
        transport: Transport,
        ledger: Ledger | None = None,
        log: EventLog | None = None,
    ) -> None:
        self.agent = agent
        self._transport = transport
        self._ledger = ledger
        self._log = log

    def ask(self, request: Message, expected: type[Expected]) -> Expected:
        """Return the agent's reply, which must be of the expected type and about the same run."""
        reply = self.ask_any(request).message
        if isinstance(reply, m.Problem):
            kinds = {"out-of-order": StartedAnewError, "failed": FailedThereError}
            raise kinds.get(reply.kind, RefusedError)(reply.text)
        if not isinstance(reply, expected) or reply.run != request.run:
            raise ProtocolError(
                f"Agent {self.agent!r} answered {type(request).__name__} with a message of the wrong kind, "
                f"{type(reply).__name__}."
            )
        return reply

    def ask_any(self, request: Message) -> Encoded:
        """Return the agent's reply, of any type, and its bytes."""
        sent = Encoded.of(request)
        self._record("sent", request.run, type_of(request), sent.content)
        begun = time.monotonic()
        answer = self._transport.ask(self.agent, sent.content)
        seconds = time.monotonic() - begun
        try:
            reply = decode(answer)
        except ProtocolError as error:
            self._record("received", request.run, "unreadable", answer, seconds)
            words = shown(str(error))
            raise ProtocolError(f"The answer of agent {self.agent!r} cannot be read: {words}") from None
        self._record("received", request.run, type_of(reply), answer, seconds, lasting=not m.is_for_prediction(request))
        if isinstance(reply, m.Problem):  # its words will be logged and printed
            return Encoded(msgspec.structs.replace(reply, text=shown(reply.text)), answer)
        check_words(reply)
        return Encoded(reply, answer)

    def _record(
        self, direction: Direction, run: str, type_: str, content: bytes, seconds: float = 0.0, lasting: bool = True
    ) -> None:
        if self._ledger is not None:
            self._ledger.record(direction, self.agent, run, type_, content, lasting=lasting)
        if self._log is not None:
            sent = direction == "sent"
            asked = Asked(self.agent, type_, len(content))
            self._log.append(asked if sent else Answered(self.agent, type_, len(content), round(seconds, 6)))
