"""A helper that lies: its replies are those of an honest one, spoiled on their way to the initiator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from assistlearn.protocol import MemoryTransport, decode, encode
from assistlearn.protocol import messages as m


@dataclass
class Spoiled:
    """A transport that spoils the n-th reply of a type that comes from the lab; without ``nth``, all of them."""

    inner: MemoryTransport
    kind: type[m.Message]
    spoil: Callable[[Any], Any]
    nth: int | None = None
    seen: int = 0

    def ask(self, agent: str, request: bytes) -> bytes:
        reply = self.inner.ask(agent, request)
        message = decode(reply)
        if agent == "lab" and isinstance(message, self.kind):
            self.seen += 1
            if self.nth in (None, self.seen):
                spoiled = self.spoil(message)
                return spoiled if isinstance(spoiled, bytes) else encode(spoiled)
        return reply


def with_(**fields: Any) -> Callable[[Any], Any]:
    return lambda message: msgspec.structs.replace(message, **fields)
