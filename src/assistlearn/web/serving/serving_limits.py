"""How much one request may ask for, and how long a client may take to send it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServingLimits:
    """The limits of a service.

    Attributes
    ----------
    most_ids : int
        The largest number of ids in one request.
    most_bytes : int
        The largest number of bytes in the body of one request.
    longest_id : int
        The largest number of characters of one id.
    slowest : float
        Seconds in which a client must have sent the head of its request, and then its body.
    """

    most_ids: int = 1_000
    most_bytes: int = 1_000_000
    longest_id: int = 1_000
    slowest: float = 10.0
