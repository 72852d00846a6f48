"""Take a turn of an earlier run again: answers about unchanged samples stay, and only the other samples get new ones.

The samples of the new run begin with the unchanged samples of the earlier run, in the same order. So one bit for each
sample of the earlier run tells which ones these are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools
from assistlearn.core.quantise import ScoreVectors, SoftReward, largest_level

Places = NDArray[np.intp]


def places_before(still: Bools, then: Bools, held_then: Bools, now: Bools) -> Places:
    """Return the earlier positions of the samples of one kind (training samples, or hold-out samples).

    Parameters
    ----------
    still : ndarray of bool of shape (n_then,)
        Which samples of the earlier run are unchanged: the new run begins with these.
    then, now : ndarray of bool
        Which samples of the earlier run, and of the new one, are of this kind.
    held_then : ndarray of bool of shape (n_then,)
        Which samples the agent held in the earlier run: it said nothing about the others.

    Returns
    -------
    places : ndarray of int
        For each sample of this kind in the new run, its position among those of this kind in the earlier run; -1 if
        nothing was said about it.

    Examples
    --------
    >>> still, held = np.array([True, False, True, True]), np.array([True, True, True, False])
    >>> places_before(still, then=np.array([False, True, True, True]), held_then=held, now=np.ones(5, dtype=bool))
    array([-1,  1, -1, -1, -1])
    """
    places = np.full(len(now), -1, dtype=np.intp)
    before = np.flatnonzero(still)
    order = np.cumsum(then) - 1
    places[: len(before)] = np.where((then & held_then)[before], order[before], -1)
    return places[now]


def as_before(said: SoftReward, before: SoftReward) -> SoftReward:
    """Return new scores in the levels of the earlier run, so that one array can hold both.

    A score beyond the largest level gets the largest level.

    >>> before = SoftReward(np.array([-127, 20], np.int8), scale=0.01, bits=8)
    >>> as_before(SoftReward(np.array([50, -900], np.int32), scale=0.002, bits=32), before).levels
    array([  10, -127], dtype=int8)
    """
    most = largest_level(before.bits)
    if not isinstance(said, ScoreVectors):
        levels = np.rint(said.values() / before.scale)
    else:
        speaks = said.levels.any(axis=1, keepdims=True)
        heights = (said.levels.astype(np.float64) + largest_level(said.bits)) * said.scale
        levels = np.where(speaks, np.rint(heights / before.scale) - most, 0.0)
    levels = np.clip(levels, -most, most).astype(before.levels.dtype)
    return replace(said, levels=levels, scale=before.scale, bits=before.bits)


def completed(fresh: Any, before: Any, places: Places, silent: Bools, silence: bool | int) -> Any:
    """Return the answers about all samples of the new run: earlier answers where there are any, else new ones.

    Parameters
    ----------
    fresh : ndarray or SoftReward
        The new answers, about the samples whose place is -1.
    before : ndarray or SoftReward
        The answers about the samples of the earlier run.
    places : ndarray of int
        The earlier positions, from :func:`places_before`.
    silent : ndarray of bool
        The samples that the agent does not hold any more.
    silence : bool or int
        The value that means "no answer". Levels always use zero for this.

    Examples
    --------
    >>> places, silent = np.array([2, -1, 0]), np.array([True, False, False])
    >>> completed(np.array([7]), np.array([1, 2, 3]), places, silent, silence=-1)
    array([-1,  7,  1])
    """
    if isinstance(fresh, SoftReward):
        return replace(before, levels=_completed(fresh.levels, before.levels, places, silent, 0))
    return _completed(fresh, before, places, silent, silence)


def _completed(fresh: Any, before: Any, places: Places, silent: Bools, silence: int) -> Any:
    out = np.empty((len(places), *before.shape[1:]), dtype=before.dtype)
    out[places >= 0] = before[places[places >= 0]]
    out[places < 0] = fresh
    out[silent & (places >= 0)] = silence
    return out
