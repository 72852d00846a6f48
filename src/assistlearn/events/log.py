r"""The log of a run: one fact per line, appended the moment it happens.

A line is a JSON object: the time (UTC), the kind of the fact, and its fields. A crash can cut the last line short. Such
a line is not read, and the next line that is appended replaces it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from assistlearn.errors import RunError
from assistlearn.events.facts import Event, TroubleMet, UnknownEvent
from assistlearn.storage import appending
from assistlearn.storage.file_locks import wait_for
from assistlearn.storage.growing_file import GrowingFile


@dataclass(frozen=True)
class Recorded:
    """A fact, and when it happened; the time is None where the line could not be read."""

    time: datetime | None
    event: Event


class EventLog:
    """Appends each fact to a file, if it has one, when the fact happens, and tells all listeners.

    Parameters
    ----------
    path : path, optional
        The file. It is created with the first fact, if its folder exists by then. Without a file, listeners are told
        all the same.
    clock : callable, optional
        Returns the present time.

    Examples
    --------
    >>> from assistlearn.events.facts import RoundFinished
    >>> log = EventLog()
    >>> log.listen(print)
    >>> log.append(RoundFinished(round=1, holdout_accuracy=None))
    RoundFinished(round=1, holdout_accuracy=None, loss=None, error=None, metric=None)
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = path
        self._clock = clock
        self._listeners: list[Callable[[Event], object]] = []
        self._complained = False

    def listen(self, listener: Callable[[Event], object]) -> None:
        """Call ``listener`` with every fact from now on."""
        self._listeners.append(listener)

    def append(self, event: Event) -> None:
        """Write a fact to the file, and tell all listeners."""
        if self._path is not None and self._path.parent.is_dir():  # a run that was forgotten has no folder any more
            facts = {"time": self._clock().isoformat(timespec="milliseconds"), "event": type(event).__name__}
            line = json.dumps(facts | asdict(event), ensure_ascii=False) + "\n"
            try:
                _write(self._path, line.encode())
            except OSError as error:
                self._complain(error)
        self.tell(event)

    def _complain(self, error: OSError) -> None:
        """Say once that the log cannot be written. The run goes on: the ledger is the record that must be whole."""
        if not self._complained:
            self._complained = True
            self.tell(
                TroubleMet(f"The events of the run cannot be written to {self._path}: {error.strerror or error}.")
            )

    def tell(self, event: Event) -> None:
        """Tell all listeners a fact, without writing it to the file."""
        for listener in self._listeners:
            listener(event)


def read(path: Path, wait: Callable[[], bool] | None = None, strict: bool = True) -> Iterator[Recorded]:
    """Yield the facts of a log: those that are written already and, with ``wait``, those that follow.

    Parameters
    ----------
    path : path
        The log; it has no facts yet if the file does not exist.
    wait : callable, optional
        Called at the end of the log: it waits a while and returns whether to look again. Without it, reading ends.

    strict : bool, default=True
        Whether to raise an error for a line that is not a fact; otherwise it is read as an ``UnknownEvent``.

    Raises
    ------
    RunError
        A whole line is no fact: the log was damaged.
    """
    file = GrowingFile(path)
    while True:
        lines = file.lines()
        for number, (_, line) in enumerate(lines, start=file.number - len(lines) + 1):
            yield recorded_on(line, f"{path}, line {number}", strict)
        if not lines and (wait is None or not wait()):
            return


def recorded_on(line: bytes, where: str, strict: bool = True) -> Recorded:
    """Return the fact on a line of a log; see :func:`read`."""
    try:
        facts = msgspec.convert(json.loads(line), dict[str, Any])  # json reads NaN, too
        when, kind = datetime.fromisoformat(facts.pop("time")), facts.pop("event")
        if kind not in Event.kinds:
            return Recorded(when, UnknownEvent(kind, facts))
        return Recorded(when, msgspec.convert(facts, Event.kinds[kind]))
    except (ValueError, TypeError, KeyError, msgspec.ValidationError) as error:
        if not strict:
            return Recorded(None, UnknownEvent("damaged"))
        raise RunError(
            f"{where}: this line is not an event of a run ({error}). The log was changed or damaged."
        ) from None


def _write(path: Path, line: bytes) -> None:
    """Append a line. Several processes may append at the same time: each waits until the file is free."""
    with appending(path) as file:
        wait_for(file)
        _drop_torn_line(file)
        file.write(line)


def _drop_torn_line(file: BinaryIO) -> None:
    """Cut off a last line that a crash cut short."""
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        return
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)
