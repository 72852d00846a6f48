"""Rewards as they travel: the reward as bits; for soft methods, the quantised score."""

from __future__ import annotations

from typing import Any

from assistlearn.errors import ProtocolError
from assistlearn.protocol.arrays import Bits, Levels, pack_bits, unpack_bits


def pack_reward(reward: Any) -> Bits | Levels:
    """Return a reward in its smaller form."""
    return pack_bits(reward)


def unpack_reward(packed: Bits | Levels, n: int) -> Any:
    """Return the reward on ``n`` samples."""
    if not isinstance(packed, Bits):
        raise ProtocolError("This method exchanges bits.")
    return unpack_bits(packed, n)


def size_of(packed: Bits | Levels | None) -> int:
    """Return how many bytes of data a packed reward has."""
    if packed is None:
        return 0
    return len(packed.data) + (len(packed.counts) if isinstance(packed, Levels) else 0)
