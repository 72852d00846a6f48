"""A client of server-sent events, as small as the standard lets it be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from time import monotonic
from typing import Any


@dataclass(frozen=True)
class Told:
    """An event: its kind, what it says, and when it came."""

    kind: str
    facts: dict[str, Any]
    at: float


class EventStream:
    """A stream that is read event by event."""

    def __init__(self, port: int, path: str, patience: float = 20.0) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=patience)
        self._connection.request("GET", path)
        self.answer = self._connection.getresponse()

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def __iter__(self) -> Iterator[Told]:
        kind, said = "message", ""
        for raw in self.answer:
            line = raw.decode().rstrip("\n")
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                said += value
            elif not line and said:
                yield Told(kind, json.loads(said), monotonic())
                kind, said = "message", ""

    def until(self, true: Any, seconds: float = 20.0) -> Told:
        """Return the first event for which something holds."""
        end = monotonic() + seconds
        for told in self:
            if true(told):
                return told
            assert monotonic() < end, f"it did not come in time; the last was {told}"
        raise AssertionError("the stream has ended")
