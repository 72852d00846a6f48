"""Rewards as they travel: where a model is right, as bits; in the soft methods how sure it is, in levels."""

from __future__ import annotations

import numpy as np

from assistlearn.core import Reward, SoftReward
from assistlearn.errors import ProtocolError
from assistlearn.protocol.arrays import Bits, Levels, pack_bits, pack_levels, unpack_bits, unpack_levels


def pack_reward(reward: Reward, score_bits: int | None) -> Bits | Levels:
    """Return a reward in its smaller form; ``score_bits`` is None in the hard methods."""
    if isinstance(reward, SoftReward):
        assert score_bits is not None
        return pack_levels(reward.levels, score_bits, reward.scale)
    return pack_bits(reward)


def unpack_reward(packed: Bits | Levels, n: int, score_bits: int | None) -> Reward:
    """Return the reward on ``n`` samples, of the kind that the method exchanges."""
    if score_bits is None:
        if not isinstance(packed, Bits):
            raise ProtocolError("A hard method exchanges bits, not levels.")
        return unpack_bits(packed, n)
    if not isinstance(packed, Levels):
        raise ProtocolError("A soft method exchanges levels, not bits.")
    return unpack_soft(packed, (n,), score_bits)


def unpack_soft(packed: Levels, shape: tuple[int, ...], score_bits: int) -> SoftReward:
    """Return levels of this shape."""
    n = 1
    for length in shape:
        n *= length
    levels, scale = unpack_levels(packed, n, score_bits)
    if not scale > 0.0:
        raise ProtocolError(f"The scale {scale} of quantised numbers is not positive.")
    return SoftReward(levels.reshape(shape), scale)


def loudness(reward: Reward, model_weight: float) -> float:
    """Return how much a kept model changes a sample at the most.

    >>> import numpy as np
    >>> loudness(SoftReward(np.array([-100, 50], np.int8), scale=0.02), model_weight=3.0)
    6.0
    """
    if not isinstance(reward, SoftReward):
        return abs(model_weight)
    return abs(model_weight) * (float(np.abs(reward.levels.astype(np.int64)).max(initial=0)) * reward.scale)


def size_of(packed: Bits | Levels | None) -> int:
    """Return how many bytes of data a packed reward has."""
    if packed is None:
        return 0
    return len(packed.data) + (len(packed.counts) if isinstance(packed, Levels) else 0)
