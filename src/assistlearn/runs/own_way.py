"""The way to the initiator's own agent, in this process, with the same time limit as for any other agent."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from assistlearn.errors import UnreachableError


class OwnWay:
    """Asks the initiator's own agent, and gives up when it takes too long.

    The agent's learner may be anybody's code, and may never end. It works in a thread, which goes on after the time
    limit, and ends with the program. Until it is done, nothing else is asked. Unfinished work can be done again.

    Parameters
    ----------
    agent : str
        Its name.
    answer : callable
        Answers a request.
    seconds : float
        How long to wait for an answer; ``math.inf``: for ever.

    Examples
    --------
    >>> OwnWay("clinic", bytes.upper, 10.0).ask("clinic", b"hello")
    b'HELLO'
    """

    def __init__(self, agent: str, answer: Callable[[bytes], bytes], seconds: float = math.inf) -> None:
        self._agent = agent
        self._answer = answer
        self._seconds = seconds
        self._asked: _Asked | None = None

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's answer; raise ``UnreachableError`` if it takes too long."""
        if math.isinf(self._seconds):
            return self._answer(request)
        if self._asked is not None and self._asked.is_alive():  # its store is for one thread at a time
            raise UnreachableError(self._too_long())
        asked = self._asked = _Asked(self._answer, request)
        asked.join(self._seconds)
        if asked.is_alive():
            raise UnreachableError(self._too_long())
        self._asked = None
        return asked.result()

    def _too_long(self) -> str:
        return (
            f"Agent {self._agent!r}, this organisation's own, has not answered for {self._seconds:g} seconds. Wait "
            "longer (--timeout), or give it a faster learner."
        )


class _Asked(threading.Thread):
    """A request that is being answered."""

    def __init__(self, answer: Callable[[bytes], bytes], request: bytes) -> None:
        super().__init__(name="own agent", daemon=True)
        self._work = answer
        self._request = request
        self._reply = b""
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._reply = self._work(self._request)
        except BaseException as error:
            self._error = error

    def result(self) -> bytes:
        if self._error is not None:
            raise self._error
        return self._reply
