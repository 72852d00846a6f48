"""Writes down what was refused, in the log and in the agent's ledger, but never so much that it fills a disk.

A sender's first message on a topic is written down at once; what follows is counted, and written once a minute at the
most. All senders together get :data:`BURST` lines and after that one every :data:`REFILL` seconds.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

QUIET = 60.0
"""Seconds between two lines about the same sender and topic."""

BURST = 256
"""How many lines may be written at once."""

REFILL = 30.0
"""Seconds after which one line more may be written."""

MANY = 512
"""How many pairs of sender and topic are counted one by one; all others are counted together."""

KEPT = 1 << 20
"""How many bytes at the start of a content are kept until it is written down."""

Record: TypeAlias = Callable[[str, str, bytes], None]
"""Writes a refusal down: who sent what, with which content."""

SEVERAL = ("several", "FLARE several/several")

logger = logging.getLogger("assistlearn.reach.flare.guard")


@dataclass
class _Count:
    why: str
    content: bytes
    times: int = 0
    written: float = float("-inf")


class Refusals:
    """Counts what is refused, and writes it down in a thread of its own.

    Parameters
    ----------
    record : callable or None
        Writes a refusal down in another place than the log; None for the log alone.
    clock : callable, optional
        Returns seconds that only grow.
    """

    def __init__(self, record: Record | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._record = record
        self._clock = clock
        self._lines = float(BURST)
        self._refilled = clock()
        self._counts: dict[tuple[str, str], _Count] = {}
        self._lock = threading.Lock()
        self._news = threading.Event()

    def note(self, peer: str, what: str, why: str, content: bytes | bytearray | memoryview) -> None:
        """Count a refusal, and return at once."""
        with self._lock:
            key = (peer, what) if (peer, what) in self._counts or len(self._counts) < MANY else SEVERAL
            count = self._counts.setdefault(key, _Count(why, b""))
            if not count.times:
                count.why, count.content = why, bytes(content[:KEPT])
            count.times += 1
        self._news.set()

    def start(self) -> None:
        """Start the thread that writes refusals down."""
        threading.Thread(target=self._work, name="refusals", daemon=True).start()

    def _work(self) -> None:
        while True:
            self._news.wait(max(QUIET / 10, 0.5))
            self._news.clear()
            self.write()

    def write(self) -> None:
        """Write down what may be written by now."""
        for (peer, what), why, content, times in self._due():
            text = what if times == 1 else f"{what}, {times} times"
            logger.warning("Refused from %s: %s: %s.", peer, text, why)
            if self._record is not None:
                try:
                    self._record(peer, text, content)
                except Exception:  # the guard must go on; the log says that the ledger did not take it
                    logger.exception("The refusal could not be written to the ledger")

    def _due(self) -> list[tuple[tuple[str, str], str, bytes, int]]:
        now = self._clock()
        due = []
        with self._lock:
            self._lines = min(float(BURST), self._lines + (now - self._refilled) / REFILL)
            self._refilled = now
            for key, count in list(self._counts.items()):
                if count.times and now - count.written >= QUIET and self._lines >= 1:
                    due.append((key, count.why, count.content, count.times))
                    self._lines -= 1
                    self._counts[key] = _Count(count.why, b"", written=now)
                elif not count.times and now - count.written >= QUIET:
                    del self._counts[key]
        return due
