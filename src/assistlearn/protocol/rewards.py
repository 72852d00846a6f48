"""Rewards, and answers for hold-out samples, as they travel: bits, class codes, or quantised scores."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from assistlearn.core import Reward, ScoreVectors, SoftReward
from assistlearn.core.quantise import DTYPES
from assistlearn.core.votes import Codes
from assistlearn.errors import ProtocolError
from assistlearn.methods.method import ABSTAINS, HoldoutAnswer
from assistlearn.protocol.arrays import (
    Bits,
    ClassCodes,
    Levels,
    pack_bits,
    pack_codes,
    pack_levels,
    unpack_bits,
    unpack_codes,
    unpack_levels,
)

PackedReward: TypeAlias = Bits | Levels
PackedHoldout: TypeAlias = ClassCodes | Levels


def pack_reward(reward: Reward) -> PackedReward:
    """Return a reward in its smaller form. Its owner does this once; everybody passes it on as it came."""
    return _pack_levels(reward) if isinstance(reward, SoftReward) else pack_bits(reward)


def unpack_reward(packed: PackedReward, n: int, n_classes: int) -> Reward:
    """Return the reward on ``n`` samples: bits, one score each with two classes, or one for each of more classes."""
    if isinstance(packed, Bits):
        return unpack_bits(packed, n)
    return _unpack_levels(packed, (n,)) if n_classes == 2 else _unpack_vectors(packed, n, n_classes)


def pack_holdout(answer: HoldoutAnswer, n_classes: int) -> PackedHoldout:
    """Return answers for hold-out samples; an abstention travels as one code more than there are classes."""
    if isinstance(answer, SoftReward):
        return _pack_levels(answer)
    return pack_codes(np.where(answer == ABSTAINS, n_classes, answer), n_classes + 1)


def unpack_holdout(packed: PackedHoldout | None, n: int, n_classes: int) -> HoldoutAnswer | None:
    """Return the answers for ``n`` hold-out samples."""
    if packed is None:
        return None
    if isinstance(packed, Levels):
        return _unpack_levels(packed, (n, 2)) if n_classes == 2 else _unpack_vectors(packed, n, n_classes)
    codes: Codes = unpack_codes(packed, n, n_classes + 1)
    codes[codes == n_classes] = ABSTAINS
    return codes


def loudness(said: Reward | HoldoutAnswer, model_weight: float) -> float:
    """Return how much a kept model changes a sample at the most.

    >>> loudness(SoftReward(np.array([-100, 50], np.int8), scale=0.02, bits=8), model_weight=3.0)
    6.0
    """
    if not isinstance(said, SoftReward):
        return abs(model_weight)
    return abs(model_weight) * said.loudest()


def _pack_levels(said: SoftReward) -> Levels:
    return pack_levels(said.levels, said.bits, said.scale)


def _unpack_levels(packed: Levels, shape: tuple[int, ...]) -> SoftReward:
    if packed.bits not in DTYPES:
        raise ProtocolError(f"Quantised numbers have {sorted(DTYPES)} bits, not {packed.bits}.")
    levels, scale = unpack_levels(packed, math.prod(shape), packed.bits)
    if not scale > 0.0:
        raise ProtocolError(f"The scale {scale} of quantised numbers is not positive.")
    return SoftReward(levels.reshape(shape), scale, packed.bits)


def _unpack_vectors(packed: Levels, n: int, n_classes: int) -> ScoreVectors:
    said = _unpack_levels(packed, (n, n_classes))
    return ScoreVectors(said.levels, said.scale, said.bits)
