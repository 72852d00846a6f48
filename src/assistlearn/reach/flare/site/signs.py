"""Signs of life: FLARE's process gives one every few seconds, through the pipe of its log, to whoever started it.

So a sign says three things at once: the process runs, its pipe is read, and what it tells came from inside FLARE.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable

INTERVAL = 2.0
"""Seconds between two signs."""

LISTENER = "ASSISTLEARN_SIGNS"
"""The variable by which ``site start`` tells FLARE's process which parent the signs are for, and their first word."""


class Signs:
    """The signs of life that were heard from a process.

    Parameters
    ----------
    clock : callable, optional
        Returns seconds.

    Examples
    --------
    >>> signs = Signs()
    >>> signs.take(b"a line of the log"), signs.heard
    (b'a line of the log', False)
    >>> signs.take(sign(signs.word, connected=True)), signs.heard, signs.connected
    (b'', True, True)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.word = secrets.token_hex(16)
        self._clock = clock
        self._last = clock()
        self.heard = False
        self.connected = False

    @property
    def age(self) -> float:
        """Seconds since the last sign; before the first, since the process was started."""
        return self._clock() - self._last

    def take(self, line: bytes) -> bytes:
        """Note the sign at the end of a line of the log; return the line without it, the whole line if it has none."""
        before, _, words = line.rstrip().rpartition(b" ")
        own = self.word.encode()
        if not before.endswith(own):
            return line
        self._last = self._clock()
        self.heard = True
        self.connected = words == b"connected"
        return before.removesuffix(own)  # what some process has left unfinished before the sign

    def environment(self) -> dict[str, str]:
        """Return the environment variable that the process needs to give signs."""
        return {LISTENER: f"{os.getpid()} {self.word}"}


def sign(word: str, connected: bool) -> bytes:
    """Return a sign, as a line of the log."""
    return f"{word} {'connected' if connected else 'apart'}\n".encode()


def wanted() -> str | None:
    """Return the word that signs of this process begin with; None where nobody listens, as in a job's process."""
    parent, _, word = os.environ.get(LISTENER, "").partition(" ")
    return word if word and parent == str(os.getppid()) else None
