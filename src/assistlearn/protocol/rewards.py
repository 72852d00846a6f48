"""Rewards, and answers for hold-out samples, as they travel: bits, class codes, or quantised scores."""

from __future__ import annotations

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
    pack_bits,
    pack_codes,
    unpack_bits,
    unpack_codes,
)
from assistlearn.protocol.levels import Levels, pack_levels, unpack_levels

PackedReward: TypeAlias = Bits | Levels
PackedHoldout: TypeAlias = ClassCodes | Levels


def pack_reward(reward: Reward, codes: Codes) -> PackedReward:
    """Return a reward in its smaller form. Its owner packs it once; all others pass it on unchanged.

    ``codes`` are the labels of its samples. The reader has them, too, so that scores need fewer bits.
    """
    return (
        pack_levels(reward.levels, reward.bits, reward.scale, codes)
        if isinstance(reward, SoftReward)
        else pack_bits(reward)
    )


def unpack_reward(packed: PackedReward, codes: Codes, n_classes: int) -> Reward:
    """Return the reward on samples with these labels: bits, or scores (one with two classes, else one per class)."""
    if isinstance(packed, Bits):
        return unpack_bits(packed, len(codes))
    n_scores = 1 if n_classes == 2 else n_classes
    return _unpack(packed, len(codes), n_scores, codes)


def pack_holdout(answer: HoldoutAnswer, n_classes: int) -> PackedHoldout:
    """Return answers for hold-out samples; an abstention travels as one code more than there are classes."""
    if isinstance(answer, SoftReward):
        return pack_levels(answer.levels, answer.bits, answer.scale)
    return pack_codes(np.where(answer == ABSTAINS, n_classes, answer), n_classes + 1)


def unpack_holdout(packed: PackedHoldout | None, n: int, n_classes: int) -> HoldoutAnswer | None:
    """Return the answers for ``n`` hold-out samples."""
    if packed is None:
        return None
    if isinstance(packed, Levels):
        return unpack_votes(packed, n, n_classes)
    codes: Codes = unpack_codes(packed, n, n_classes + 1)
    codes[codes == n_classes] = ABSTAINS
    return codes


def unpack_votes(packed: Levels, n: int, n_classes: int) -> SoftReward:
    """Return an agent's votes on ``n`` samples: one level each with two classes, else one for each class."""
    return _unpack(packed, n, 1 if n_classes == 2 else n_classes, None)


def loudness(said: Reward | HoldoutAnswer, model_weight: float) -> float:
    """Return the size of the loudest vote of a kept model on any sample.

    >>> loudness(SoftReward(np.array([-100, 50], np.int8), scale=0.02, bits=8), model_weight=3.0)
    6.0
    """
    if not isinstance(said, SoftReward):
        return abs(model_weight)
    return abs(model_weight) * said.loudest()


def _unpack(packed: Levels, n: int, n_scores: int, truth: Codes | None) -> SoftReward:
    if packed.bits not in DTYPES:
        raise ProtocolError(f"Quantised numbers have {sorted(DTYPES)} bits, not {packed.bits}.")
    levels, scale = unpack_levels(packed, n * n_scores, packed.bits, n_scores, truth)
    if not scale > 0.0:
        raise ProtocolError(f"The scale {scale} of quantised numbers is not positive.")
    if n_scores == 1:
        return SoftReward(levels, scale, packed.bits)
    kind = ScoreVectors if n_scores > 2 else SoftReward
    return kind(levels.reshape(n, n_scores), scale, packed.bits)
