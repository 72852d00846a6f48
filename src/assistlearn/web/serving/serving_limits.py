"""How much one request may ask for, and how long it may take to say so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServingLimits:
    """What a service takes.

    Attributes
    ----------
    most_ids : int
        Ids in one request.
    most_bytes : int
        Bytes in the body of one request.
    longest_id : int
        Characters of one id.
    slowest : float
        Seconds in which a client must have sent the head of its request, and then its body.
    """

    most_ids: int = 1_000
    most_bytes: int = 1_000_000
    longest_id: int = 1_000
    slowest: float = 10.0
