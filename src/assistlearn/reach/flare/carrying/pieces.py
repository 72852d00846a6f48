"""Large requests and answers travel in pieces, so that every call is short, over slow connections too."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from assistlearn.errors import NetworkError

PIECE = 2**21
"""Bytes of a piece: two seconds at 10 Mbit/s."""

MOST = 2**31 + 2**16
"""Bytes of a request at the most; an agent's service takes no larger message either."""


@dataclass
class _Arrival:
    number: str
    total: int
    content: bytearray = field(default_factory=bytearray)


class Arrivals:
    """What has arrived of large requests, one for each asker.

    >>> arrivals = Arrivals()
    >>> arrivals.bring("bank", "1", 0, 5, b"hel"), arrivals.take("bank", "1")
    (3, None)
    >>> arrivals.bring("bank", "1", 3, 5, b"lo"), arrivals.take("bank", "1")
    (5, b'hello')
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._of: dict[str, _Arrival] = {}
        self._guard = threading.Lock()

    def bring(self, asker: str, number: str, at: int, total: int, piece: bytes) -> int:
        """Take a piece of a request, and return how many bytes of it are here; a piece out of turn is passed over."""
        if not 0 <= at <= at + len(piece) <= total <= self._most:
            raise NetworkError(f"A piece of {len(piece)} bytes at {at} cannot be of a request of {total} bytes.")
        with self._guard:
            held = self._of.get(asker)
            if held is None or held.number != number or held.total != total:
                held = self._of[asker] = _Arrival(number, total)
            if at == len(held.content):
                held.content += piece
            return len(held.content)

    def take(self, asker: str, number: str) -> bytes | None:
        """Return a request that has arrived as a whole, and let go of it; None where there is none."""
        with self._guard:
            held = self._of.get(asker)
            if held is None or held.number != number or len(held.content) < held.total:
                return None
            del self._of[asker]
            return bytes(held.content)
