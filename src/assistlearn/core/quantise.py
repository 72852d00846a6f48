"""Scores in a few bits. Every agent computes with the rounded scores, also the one that made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats

Levels: TypeAlias = NDArray[np.signedinteger[Any]]

DTYPES: dict[int, type[np.signedinteger[Any]]] = {
    **dict.fromkeys((2, 3, 4, 8), np.int8),
    16: np.int16,
    32: np.int32,
}
"""What holds the levels for each number of bits; fewer than eight use some of a byte's levels."""

FINEST_BITS = 32
"""For what never leaves an agent."""


LOUDEST = 0.01
"""The share of scores that may be louder than the largest level."""

ROUNDING = 1e-9
"""By so much of a level a score may lie above it and still belong to it."""


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
        """Return the scores that the levels stand for. All agents compute with these."""
        return self.levels * np.float64(self.scale)

    def loudest(self) -> float:
        """Return the largest of these scores, whichever its sign."""
        return float(np.abs(self.levels.astype(np.int64)).max(initial=0)) * self.scale

    def __len__(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, eq=False)
class ScoreVectors(SoftReward):
    """How likely a model finds every class of each sample, in whole levels, ``n x K``: what is said with K > 2.

    A level counts from the smallest probability that is distinguished. This one, and all that are smaller, have the
    lowest level. So the many classes that a model has ruled out cost next to nothing once levels are entropy-coded.
    A row of equal levels says nothing. Where the agent abstains, all levels are zero.

    Examples
    --------
    >>> said = quantise_vectors(np.array([[4.6, 0.0, 0.0], [0.0, 2.3, 2.3]]), bits=4)
    >>> said.levels
    array([[ 7, -7, -7],
           [-7,  0,  0]], dtype=int8)
    >>> said.values().round(2)
    array([[ 4.6 , -2.3 , -2.3 ],
           [-2.3 ,  1.15,  1.15]])
    """

    def values(self) -> Floats:
        """Return the votes that the levels stand for: those of a sample sum to zero."""
        n_classes = self.levels.shape[1]
        out: Floats = self.levels.astype(np.float64)
        out -= out.mean(axis=1, keepdims=True)
        out *= np.float64(self.scale) * (n_classes / (n_classes - 1))
        return out

    def loudest(self) -> float:
        """Return the largest of these votes, whichever its sign."""
        return float(np.abs(self.values()).max(initial=0.0))


Reward: TypeAlias = Bools | SoftReward
"""What travels after a turn: where a model is right (hard), or how sure it is of the truth or of every class (soft)."""


def right(reward: Reward) -> Bools:
    """Return where a model is right; for a soft reward of two classes, where it finds the truth likelier than chance.

    Of score vectors, the first column is that of the truth (:func:`assistlearn.core.truth_first.truth_first`).

    >>> right(quantise(np.array([2.0, -0.5]), bits=8))
    array([ True, False])
    >>> right(quantise_vectors(np.array([[4.6, 0.0, 0.0], [0.0, 2.3, 2.3]]), bits=4))
    array([ True, False])
    """
    if not isinstance(reward, SoftReward):
        return reward
    if isinstance(reward, ScoreVectors):
        first: Bools = reward.levels[:, 0] > reward.levels[:, 1:].max(axis=1)
        return first
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


def quantise_all_spoken(values: Floats, bits: int, held: Bools | None = None) -> SoftReward:
    """Return scores in whole levels, none of them zero: zero means that the agent does not hold the sample.

    Levels are rounded away from zero, which gives them equal widths. With few bits :func:`quantise` would round
    many scores to zero, and a combination would read that as silence. The largest one per cent of the scores are cut
    to the next largest, so that a few outliers do not make all others coarse.

    Parameters
    ----------
    values : ndarray
        Of the samples that the agent holds.
    bits : int
        In how many bits a level is said.
    held : ndarray of bool, optional
        Which of all samples these are; all by default.

    Examples
    --------
    >>> quantise_all_spoken(np.array([7.0, 0.2, -2.5]), bits=4, held=np.array([True, True, False, True])).levels
    array([ 7,  1,  0, -3], dtype=int8)
    """
    loudness, most = np.abs(values), largest_level(bits)
    top = float(np.quantile(loudness, 1.0 - LOUDEST)) if len(values) else 0.0
    top = top or float(loudness.max(initial=0.0))
    scale = top / most if top > 0.0 else 1.0
    steps = np.clip(np.ceil(loudness / scale - ROUNDING), 1.0, most)
    spoken = np.where(values < 0.0, -steps, steps).astype(DTYPES[bits])
    if held is None:
        return SoftReward(spoken, scale, bits)
    levels = np.zeros((len(held), *spoken.shape[1:]), dtype=DTYPES[bits])
    levels[held] = spoken
    return SoftReward(levels, scale, bits)


def quantise_vectors(heights: Floats, bits: int, held: Bools | None = None) -> ScoreVectors:
    """Return the classes' heights above the least that is told apart (n x K, none negative), in whole levels.

    Parameters
    ----------
    heights : ndarray of shape (n_held, n_classes)
        Of the samples that the agent holds.
    bits : int
        In how many bits a level is said.
    held : ndarray of bool, optional
        Which of all samples these are; all by default. The others get levels of zero: the agent abstains.
    """
    most = largest_level(bits)
    top = float(heights.max(initial=0.0))
    scale = top / (2 * most) if top > 0.0 else 1.0
    own = (np.rint(heights / scale) - most).astype(DTYPES[bits])
    if held is None:
        return ScoreVectors(own, scale, bits)
    levels = np.zeros((len(held), heights.shape[1]), dtype=DTYPES[bits])
    levels[held] = own
    return ScoreVectors(levels, scale, bits)


def quantise_votes(votes: Floats, loudest: float, bits: int) -> SoftReward:
    """Return an agent's votes (n x K) in whole levels. The scale does not depend on the votes.

    So a sample's votes are the same whichever other samples are asked about. With two classes one number tells both:
    the votes of a sample sum to zero. It keeps its sign, however small it is.

    Parameters
    ----------
    votes : ndarray of shape (n_samples, n_classes)
        Those of a sample sum to zero.
    loudest : float
        The most that all models of the agent together can say for a class.
    bits : int
        In how many bits a level is said.

    Examples
    --------
    >>> said = quantise_votes(np.array([[1.5, -1.5], [-0.02, 0.02]]), loudest=3.0, bits=8)
    >>> said.levels, votes_of(said).round(3).tolist()
    (array([-64,   1], dtype=int8), [[1.512, -1.512], [-0.024, 0.024]])
    >>> votes_of(quantise_votes(np.array([[3.0, -1.5, -1.5], [0.0, 0.0, 0.0]]), loudest=3.0, bits=8)).round(3).tolist()
    [[3.0, -1.5, -1.5], [0.0, 0.0, 0.0]]
    """
    most, n_classes = largest_level(bits), votes.shape[1]
    if n_classes == 2:
        scale = loudest / most if loudest > 0.0 else 1.0
        levels = _whole(votes[:, 1] / scale, -most, most, bits)
        levels[(levels == 0) & (votes[:, 1] > 0.0)] = 1  # a sample that is voted on is not abstained from
        levels[(levels == 0) & (votes[:, 1] < 0.0)] = -1
        return SoftReward(levels, scale, bits)
    scale = loudest / (2 * most) if loudest > 0.0 else 1.0
    heights = (votes - votes.min(axis=1, keepdims=True)) * ((n_classes - 1) / n_classes)
    return ScoreVectors(_whole(heights / scale - most, -most, most, bits), scale, bits)


def votes_of(said: SoftReward) -> Floats:
    """Return the votes (n x K) that :func:`quantise_votes` stands for."""
    if isinstance(said, ScoreVectors):
        return said.values()
    of_second = said.values()
    return np.column_stack([-of_second, of_second])


def _whole(values: Floats, least: int, most: int, bits: int) -> Levels:
    out: Levels = np.clip(np.rint(values), least, most).astype(DTYPES[bits])
    return out
