"""Round scores to a few bits. Every agent computes with the rounded scores, even the agent that made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.types import Bools, Floats

Levels: TypeAlias = NDArray[np.signedinteger[Any]]

DTYPES: dict[int, type[np.signedinteger[Any]]] = {
    **dict.fromkeys((2, 3, 4, 8), np.int8),
    16: np.int16,
    32: np.int32,
}
"""The type of the levels for each number of bits. With fewer than eight bits, only some of a byte's values occur."""

FINEST_BITS = 32
"""The number of bits of scores that never leave an agent."""


LOUDEST = 0.01
"""The share of the scores that :func:`quantise_all_spoken` cuts, because they are the largest."""

ROUNDING = 1e-9
"""A score that exceeds a level by at most this part of a level is still rounded down to it."""


@dataclass(frozen=True, eq=False)
class SoftReward:
    """How sure a model is of the true class of each sample, in whole levels.

    A level is positive where the model finds the class more likely than chance, and zero where its agent abstains.
    A model's answers about hold-out samples have the same form, with ``n x K`` levels.

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
        return self.levels * np.float64(self.scale)

    def loudest(self) -> float:
        return float(np.abs(self.levels.astype(np.int64)).max(initial=0)) * self.scale

    def __len__(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, eq=False)
class ScoreVectors(SoftReward):
    """How likely a model finds every class of each sample, in whole levels, ``n x K``: the soft reward where K > 2.

    Levels count from the smallest probability, :data:`assistlearn.core.votes.LEAST`: this one and all smaller ones
    have the lowest level. So the many classes that a model has ruled out cost almost no bits in an entropy code. A row
    of equal levels says nothing. Where the agent abstains, all levels are zero.
    """

    def values(self) -> Floats:
        """Return the votes that the levels represent. Those of a sample sum to zero."""
        n_classes = self.levels.shape[1]
        out: Floats = self.levels.astype(np.float64)
        out -= out.mean(axis=1, keepdims=True)
        out *= np.float64(self.scale) * (n_classes / (n_classes - 1))
        return out

    def loudest(self) -> float:
        return float(np.abs(self.values()).max(initial=0.0))


Reward: TypeAlias = Bools | SoftReward
"""What travels after a turn: where a model is right (hard), or how sure it is of the truth or of every class (soft)."""


def right(reward: Reward) -> Bools:
    """Return where a model is right; for a soft reward of two classes, where it finds the truth likelier than chance.

    The first column of score vectors is that of the true class (:func:`assistlearn.core.state.truth_first`).
    """
    if not isinstance(reward, SoftReward):
        return reward
    if isinstance(reward, ScoreVectors):
        first: Bools = reward.levels[:, 0] > reward.levels[:, 1:].max(axis=1)
        return first
    out: Bools = reward.levels > 0
    return out


def largest_level(bits: int) -> int:
    return (1 << (bits - 1)) - 1


def quantise(values: Floats, bits: int) -> SoftReward:
    """Return the scores in whole levels. The score with the largest absolute value gets the largest level.

    No score changes by more than half a level, and a score of zero stays zero.
    """
    top = float(np.abs(values).max(initial=0.0))
    scale = top / largest_level(bits) if top > 0.0 else 1.0
    return SoftReward(np.rint(values / scale).astype(DTYPES[bits]), scale, bits)


def quantise_all_spoken(values: Floats, bits: int, held: Bools | None = None) -> SoftReward:
    """Return scores in whole levels, none of them zero: zero means that the agent does not hold the sample.

    Levels are rounded away from zero, which gives them equal widths. With few bits :func:`quantise` would round
    many scores to zero, and a combination would read that as silence. The largest one per cent of the scores are cut
    to the next largest. Otherwise a few outliers would make the levels too coarse for all other scores. ``values`` are
    those of the samples that the agent holds.
    """
    loudness, most = np.abs(values), largest_level(bits)
    top = float(np.quantile(loudness, 1.0 - LOUDEST)) if len(values) else 0.0
    top = top or float(loudness.max(initial=0.0))
    scale = top / most if top > 0.0 else 1.0
    steps = np.clip(np.ceil(loudness / scale - ROUNDING), 1.0, most)
    spoken = np.where(values < 0.0, -steps, steps).astype(DTYPES[bits])
    return SoftReward(_of_all(spoken, held), scale, bits)


def quantise_vectors(heights: Floats, bits: int, held: Bools | None = None) -> ScoreVectors:
    """Return the heights of the classes in whole levels; zero for samples that the agent does not hold."""
    most = largest_level(bits)
    top = float(heights.max(initial=0.0))
    scale = top / (2 * most) if top > 0.0 else 1.0
    own = (np.rint(heights / scale) - most).astype(DTYPES[bits])
    return ScoreVectors(_of_all(own, held), scale, bits)


def quantise_votes(votes: Floats, loudest: float, bits: int) -> SoftReward:
    """Return an agent's votes (n x K) in whole levels. The scale does not depend on the votes.

    So the levels of a sample do not depend on which other samples are asked about. With two classes one number says
    both votes of a sample, because they sum to zero. It keeps its sign, however small it is. ``loudest`` is the largest
    vote that all models of the agent together can give to a class.

    >>> said = quantise_votes(np.array([[1.5, -1.5], [-0.02, 0.02]]), loudest=3.0, bits=8)
    >>> said.levels, votes_of(said).round(3).tolist()
    (array([-64,   1], dtype=int8), [[1.512, -1.512], [-0.024, 0.024]])
    """
    most, n_classes = largest_level(bits), votes.shape[1]
    if n_classes == 2:
        scale = loudest / most if loudest > 0.0 else 1.0
        levels = _whole(votes[:, 1] / scale, -most, most, bits)
        levels[(levels == 0) & (votes[:, 1] > 0.0)] = 1  # zero would mean that the agent abstains
        levels[(levels == 0) & (votes[:, 1] < 0.0)] = -1
        return SoftReward(levels, scale, bits)
    scale = loudest / (2 * most) if loudest > 0.0 else 1.0
    heights = (votes - votes.min(axis=1, keepdims=True)) * ((n_classes - 1) / n_classes)
    return ScoreVectors(_whole(heights / scale - most, -most, most, bits), scale, bits)


def votes_of(said: SoftReward) -> Floats:
    """Return the votes (n x K) that the levels of :func:`quantise_votes` represent."""
    if isinstance(said, ScoreVectors):
        return said.values()
    of_second = said.values()
    return np.column_stack([-of_second, of_second])


def _of_all(levels: Levels, held: Bools | None) -> Levels:
    if held is None:
        return levels
    out = np.zeros((len(held), *levels.shape[1:]), dtype=levels.dtype)
    out[held] = levels
    return out


def _whole(values: Floats, least: int, most: int, bits: int) -> Levels:
    out: Levels = np.clip(np.rint(values), least, most).astype(DTYPES[bits])
    return out
