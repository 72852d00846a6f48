"""The log of FLARE's processes on its way from their pipe to a file and to the screen.

The pipe is always read: a process whose pipe is full stops at its next output, and hangs. A line that the disk or the
screen does not accept is dropped there. As soon as that place accepts lines again, it gets a line that says how many
are missing.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable
from typing import IO

LONGEST = 2**16
"""Bytes of a line, at the most; a longer one is treated as several."""

WAITING = 1_000
"""Lines that wait for a slow screen."""


class Outlet:
    """One place that lines go to, which may refuse them.

    Parameters
    ----------
    write : callable
        Writes a line with its end; raises ``OSError`` where it cannot.

    Attributes
    ----------
    lost : int
        Lines that were dropped, in all.
    why : str
        Why the last of them was.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._untold = 0
        self._one_at_a_time = threading.Lock()
        self.lost = 0
        self.why = ""

    def put(self, line: bytes) -> None:
        """Write a line, after a line that says how many were dropped before; drop it where that fails."""
        with self._one_at_a_time:
            try:
                if self._untold:
                    missing = f"assistlearn: {self._untold} lines of this log are missing here: {self.why}\n"
                    self._write(missing.encode())
                    self._untold = 0
                self._write(line)
            except OSError as error:
                self.drop(str(error))

    def drop(self, why: str) -> None:
        """Count a line that was dropped."""
        self.lost += 1
        self._untold += 1
        self.why = why


class Screen:
    """Shows lines without ever making the caller wait: a screen may be closed, or blocked.

    Parameters
    ----------
    descriptor : int
        Where to write.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._outlet = Outlet(self._write)
        self._waiting: queue.Queue[bytes | None] = queue.Queue(WAITING)
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._thread.start()

    def show(self, line: str) -> None:
        """Show a line some time soon; drop it where too many wait already."""
        try:
            self._waiting.put_nowait(line.encode(errors="replace") + b"\n")
        except queue.Full:
            self._outlet.drop("the screen was too slow")

    def close(self, seconds: float) -> None:
        """Show the lines that still wait; give up after so many seconds."""
        until = time.monotonic() + seconds
        try:
            self._waiting.put(None, timeout=seconds)
        except queue.Full:
            return
        self._thread.join(max(0.0, until - time.monotonic()))

    def _show(self) -> None:
        while (line := self._waiting.get()) is not None:
            self._outlet.put(line)

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            left = left[os.write(self._descriptor, left) :]


def printable(words: str) -> str:
    r"""Return a text with ``?`` for every character that a terminal could take for a command.

    >>> printable("a \x1b[2J name\tof café")
    'a ?[2J name\tof café'
    """
    return "".join(letter if letter.isprintable() or letter == "\t" else "?" for letter in words)


class LogPump(threading.Thread):
    """Reads a pipe to its end, and passes its lines on.

    Parameters
    ----------
    source : file
        The end of the pipe that is read.
    write : callable
        Takes a line for the file; raises ``OSError`` where it cannot.
    show : callable or None
        Takes a line for the screen, without its end.
    take : callable
        Gets every line first, and returns what of it is passed on; nothing is if that is empty.

    Attributes
    ----------
    file : Outlet
        What became of the lines for the file.
    last : str
        The last line.
    """

    def __init__(
        self,
        source: IO[bytes],
        write: Callable[[bytes], None],
        show: Callable[[str], None] | None,
        take: Callable[[bytes], bytes],
    ) -> None:
        super().__init__(daemon=True)
        self._source = source
        self._show = show
        self._take = take
        self.file = Outlet(write)
        self.last = ""

    def run(self) -> None:
        """Pass lines on until all writers have closed the pipe."""
        with self._source as source:
            while line := source.readline(LONGEST):
                if rest := self._take(line):
                    self._pass_on(rest)

    def _pass_on(self, line: bytes) -> None:
        words = printable(line.decode(errors="replace").rstrip())
        self.last = words or self.last
        self.file.put(words.encode() + b"\n")
        if self._show is not None:
            self._show(words)
