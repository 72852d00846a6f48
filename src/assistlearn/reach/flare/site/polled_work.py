"""A site's work behind short calls: long work goes on between them, so that silence means trouble, not work.

The asker sends a request under a number that it has chosen. Within some seconds it gets the answer, or hears that the
site is still at work; then it asks for that number again. The same number never starts the work twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from assistlearn.errors import NetworkError

Standing = Literal["done", "working", "unknown"]
"""Whether a request is answered, in work, or not known."""


@dataclass
class _Work:
    number: str
    done: threading.Event = field(default_factory=threading.Event)
    answer: bytes = b""


class PolledWork:
    """Does one piece of work after the other.

    Parameters
    ----------
    work : callable
        Gets the asker's name and the request, and returns the answer; it must not raise.
    hold : float, default=10
        Seconds that a call is held at the most.
    most : int, default=16
        How many askers may have a request in work or an answer that is kept. A further asker takes the place of the one
        with the oldest request that is answered.

    Examples
    --------
    >>> polled = PolledWork(lambda asker, request: request.upper())
    >>> polled.ask("bank", "1", b"hello")
    ('done', b'HELLO')
    >>> polled.ask("bank", "2", None)
    ('unknown', b'')
    """

    def __init__(self, work: Callable[[str, bytes], bytes], hold: float = 10.0, most: int = 16) -> None:
        self._work = work
        self._hold = hold
        self._most = most
        self._one_at_a_time = threading.Lock()
        self._last: dict[str, _Work] = {}
        self._guard = threading.Lock()

    def ask(self, asker: str, number: str, request: bytes | None) -> tuple[Standing, bytes]:
        """Return how a request stands, and its answer; without a request, ask about an earlier one by its number."""
        with self._guard:
            work = self._last.get(asker)
            if work is None or work.number != number:
                if request is None:
                    return "unknown", b""
                self._make_room(asker)
                work = self._last[asker] = _Work(number)
                threading.Thread(target=self._do, args=(work, asker, request), daemon=True).start()
        if not work.done.wait(self._hold):
            return "working", b""
        return "done", work.answer

    def _make_room(self, asker: str) -> None:
        """Forget the asker's own last answer and, where there are too many askers, the oldest answer of another."""
        own = self._last.pop(asker, None)
        if own is not None and not own.done.is_set():
            self._last[asker] = own
            raise NetworkError(f"The last request of {asker!r} is still being answered. Ask for its answer, or wait.")
        if len(self._last) >= self._most:
            done = next((other for other, work in self._last.items() if work.done.is_set()), None)
            if done is None:
                raise NetworkError(f"{len(self._last)} other members are being answered. Ask again later.")
            del self._last[done]

    def _do(self, work: _Work, asker: str, request: bytes) -> None:
        with self._one_at_a_time:
            work.answer = self._work(asker, request)
        work.done.set()
