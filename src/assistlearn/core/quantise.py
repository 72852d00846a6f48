"""Scores in a few bits: what an agent says of its confidence, and what everybody, the agent included, takes it for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats

Levels: TypeAlias = NDArray[np.signedinteger[Any]]

DTYPES: dict[int, type[np.signedinteger[Any]]] = {4: np.int8, 8: np.int8, 16: np.int16, 32: np.int32}
"""What holds the levels for each number of bits; four bits use half of a byte's levels."""


@dataclass(frozen=True, eq=False)
class SoftReward:
    """How sure a model is of the true class of each sample, in whole levels.

    The same form carries what a model answers for hold-out samples, ``n x K`` levels.

    Attributes
    ----------
    levels : ndarray of int8, int16 or int32
        Positive where the model finds the class more likely than chance, zero where its agent abstains.
    scale : float
        What one level is worth; finite and positive.
    bits : int
        In how many bits a level is said.

    Examples
    --------
    >>> reward = quantise(np.array([2.0, -0.5, 0.0]), bits=8)
    >>> reward.levels
    array([127, -32,   0], dtype=int8)
    >>> reward.values().round(2)
    array([ 2. , -0.5,  0. ])
    """

    levels: Levels
    scale: float
    bits: int

    def values(self) -> Floats:
        """Return the scores that the levels stand for: the only ones that anybody computes with."""
        return self.levels * np.float64(self.scale)

    def __len__(self) -> int:
        return len(self.levels)


Reward: TypeAlias = Bools | SoftReward
"""What travels after a turn: where a model is right (hard), or how sure it is of the truth (soft)."""


def right(reward: Reward) -> Bools:
    """Return where a model is right; for a soft reward, where it finds the truth more likely than chance.

    >>> right(quantise(np.array([2.0, -0.5]), bits=8))
    array([ True, False])
    """
    if not isinstance(reward, SoftReward):
        return reward
    out: Bools = reward.levels > 0
    return out


def largest_level(bits: int) -> int:
    """Return the largest level; the smallest is its negative.

    >>> largest_level(4), largest_level(8)
    (7, 127)
    """
    return (1 << (bits - 1)) - 1


def quantise(values: Floats, bits: int) -> SoftReward:
    """Return the scores in whole levels, the largest of them at the largest level.

    No score is off by more than half a level, and a score of zero stays zero.

    >>> quantise(np.zeros(2), bits=4)
    SoftReward(levels=array([0, 0], dtype=int8), scale=1.0, bits=4)
    """
    top = float(np.abs(values).max(initial=0.0))
    scale = top / largest_level(bits) if top > 0.0 else 1.0
    return SoftReward(np.rint(values / scale).astype(DTYPES[bits]), scale, bits)
