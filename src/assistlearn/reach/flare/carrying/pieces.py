"""Large requests and answers travel in pieces, so that every call is short, over slow connections too."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from assistlearn.errors import NetworkError

PIECE = 2**21
"""Bytes of a piece: two seconds at 10 Mbit/s."""

MOST = 2**31 + 2**16
"""How many bytes of requests may be on their way in all; an agent's service accepts no larger message either."""

LONGEST_NUMBER = 64
"""Characters of a request's number, at the most: it is a SHA-256 in hexadecimal digits."""


@dataclass
class _Arrival:
    number: str
    total: int
    content: bytearray = field(default_factory=bytearray)


class Arrivals:
    """Collects the pieces of large requests, one request for each asker.

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
        """Add a piece of a request, and return how many bytes of it are here; a piece out of order is ignored."""
        check_number(number)
        _check_piece(at, total, piece)
        with self._guard:
            held = self._of.get(asker)
            if held is None or held.number != number or held.total != total:
                self._of.pop(asker, None)  # whoever asks for something new has given up what it asked for before
                self._check_room(asker, total)
                held = self._of[asker] = _Arrival(number, total)
            if at == len(held.content):
                held.content += piece
            return len(held.content)

    def take(self, asker: str, number: str) -> bytes | None:
        """Return a request that has arrived whole, and forget it; None where there is none."""
        with self._guard:
            held = self._of.get(asker)
            if held is None or held.number != number or len(held.content) < held.total:
                return None
            del self._of[asker]
            return bytes(held.content)

    def _check_room(self, asker: str, total: int) -> None:
        claimed = sum(arrival.total for arrival in self._of.values())
        if claimed + total > self._most:
            raise NetworkError(
                f"A request of {total} bytes from {asker!r} is too large: requests of {claimed} bytes are on their "
                f"way already, and at most {self._most} bytes are accepted in all."
            )


def check_number(number: object) -> None:
    """Refuse what cannot be the number of a request.

    >>> check_number("5f" * 40)
    Traceback (most recent call last):
    ...
    assistlearn.errors.NetworkError: The number of a request must have 1 to 64 characters, not 80.
    """
    if not isinstance(number, str):
        raise NetworkError(f"The number of a request must be text, not of type {type(number).__name__!r}.")
    if not 0 < len(number) <= LONGEST_NUMBER:
        raise NetworkError(f"The number of a request must have 1 to {LONGEST_NUMBER} characters, not {len(number)}.")


def _check_piece(at: object, total: object, piece: object) -> None:
    if not (type(at) is int and type(total) is int and isinstance(piece, bytes)):
        raise NetworkError("A piece of a request must be bytes, with its position and the size of the whole request.")
    if not 0 <= at <= at + len(piece) <= total <= MOST:
        raise NetworkError(
            f"A piece of {len(piece)} bytes at position {at} does not fit into a request of {total} bytes."
        )
    if len(piece) > PIECE:
        raise NetworkError(f"A piece of {len(piece)} bytes is too large: it may have at most {PIECE} bytes.")
