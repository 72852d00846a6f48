"""How likely each level of a score is, given what both sides know: the shares that score vectors are coded with.

Scores are coded class by class: the scores of all samples for one class, then those for the next. Three things are
known about a score before it is read: whether its class is the true one (both sides have the labels), how much
probability the earlier classes have left, and the level of the class before. Levels are logarithms: they count from the
smallest probability that is distinguished. The probabilities of a sample sum to one, so that the last class is nearly
determined.

There are three contexts, from coarse to fine. Each counts the levels that occurred in it. The shares of the coarser
context are added, as if some levels had occurred already. In the two coarse contexts, a level that occurred makes its
neighbours likelier, too. In the finest context it does not. There, the shares of the coarser context weigh more, the
more different levels occurred.

All counts are whole numbers and the rest is sums, products and quotients, so that both sides have the same shares.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.confidence import LEAST
from assistlearn.core.votes import Codes
from assistlearn.protocol.range_coding import FIRST, Coder, Floats, Symbols, blocks

Places: TypeAlias = NDArray[np.int64]
Small: TypeAlias = NDArray[np.uint8]

TRUST = 4
"""In a coarse context, the shares of the coarser one weigh as much as this many levels."""

TRUST_PER_LEVEL = 2
"""In the finest context, they weigh as much as this many levels for each different level that occurred there."""

STEPS = 16
"""The most steps in which a context distinguishes levels."""

OWN = 8
"""How often a level that occurred counts for itself. It counts once for each of its neighbours."""

NEARLY_LAST = 3
"""Contexts that all classes share do not distinguish classes that are this many places before the last one, or more."""

ONE = 1024
"""The smallest probability that is distinguished, in the whole numbers with which probabilities are added up."""

CERTAIN = round(ONE / LEAST)
"""A probability of one, in the same numbers."""

HIGHEST = 10.0
"""A height above the smallest probability that no probability reaches."""

CELLS = 2**20
"""The most shares that are in memory at a time."""


def code_scores(coder: Coder, shape: tuple[int, int], n_levels: int, scale: float, truth: Codes | None) -> Small:
    """Write or read the levels of scores, counted from zero, and return them.

    Parameters
    ----------
    coder : Coder
        Writes the levels, column after column, or reads them.
    shape : tuple of int
        The number of samples, and how many scores each has.
    n_levels : int
        How many levels there are.
    scale : float
        What one level is worth, in logarithms.
    truth : ndarray of int, optional
        The column of each sample's true class, where both sides know it.

    Returns
    -------
    ndarray of shape (n_scores, n_samples)
    """
    n, n_columns = shape
    said = np.empty((n_columns, n), dtype=np.uint8)
    shared = _Counts(2 * (NEARLY_LAST + 1) * (2 * STEPS + 1), n_levels)
    rest = _Rest(n, n_levels, scale)
    before = np.zeros(n, dtype=np.int64)
    first = max(FIRST, n_columns // 4)
    for column in range(n_columns):
        left = n_columns - 1 - column
        true = np.zeros(n, dtype=np.int64) if truth is None else (truth == column).astype(np.int64)
        model = _Column(shared, n_levels, min(left, NEARLY_LAST))
        room = rest.steps(last=left == 0)
        for block in blocks(n, first, max(CELLS // n_levels, 1)):
            said[column, block] = model.code(coder, true[block], room[block], before[block])
        rest.take(said[column])
        before = _coarse(said[column], n_levels)
    return said


class _Counts:
    """How often each level came in each context."""

    def __init__(self, n_contexts: int, n_levels: int) -> None:
        self._counts = np.zeros((n_contexts, n_levels), dtype=np.int64)
        self._reach = max(n_levels // STEPS, 1)

    def shares(self, contexts: Places, coarser: Floats) -> Floats:
        """Return the shares of the levels in some coarse contexts, given those in still coarser ones."""
        came = self._counts[contexts]
        near = (OWN - 1) * came + self._around(came)
        trust = TRUST * (OWN + 2 * self._reach)
        out: Floats = (near + trust * coarser) / (near.sum(axis=1, keepdims=True) + trust)
        return out

    def fine_shares(self, contexts: Places, coarser: Floats) -> Floats:
        """Return the shares of the levels in some of the finest contexts, given those in the coarser ones."""
        came = self._counts[contexts]
        trust = TRUST_PER_LEVEL * (np.count_nonzero(came, axis=1)[:, np.newaxis] + 1)
        out: Floats = (came + trust * coarser) / (came.sum(axis=1, keepdims=True) + trust)
        return out

    def _around(self, came: Places) -> Places:
        """Return how often each level or one of its neighbours came."""
        n_levels = came.shape[1]
        up_to = np.zeros((len(came), n_levels + 1), dtype=np.int64)
        np.cumsum(came, axis=1, out=up_to[:, 1:])
        levels = np.arange(n_levels)
        above = np.minimum(levels + self._reach + 1, n_levels)
        out: Places = up_to[:, above] - up_to[:, np.maximum(levels - self._reach, 0)]
        return out

    def add(self, contexts: Places, levels: Symbols) -> None:
        """Count levels that came."""
        n_levels = self._counts.shape[1]
        np.add.at(self._counts.reshape(-1), contexts * n_levels + levels, 1)


class _Column:
    """The contexts of a class: those that all classes share, and two kinds of its own."""

    def __init__(self, shared: _Counts, n_levels: int, left: int) -> None:
        rooms = 2 * STEPS + 1
        self._even = np.full((1, n_levels), 1.0 / n_levels)
        self._shared = shared
        self._rooms = _Counts(2 * rooms, n_levels)
        self._fine = _Counts(2 * rooms * STEPS, n_levels)
        self._left = left

    def code(self, coder: Coder, true: Places, room: Places, before: Places) -> Symbols:
        """Write or read the levels of some samples, and learn from them."""
        fine = (true * (2 * STEPS + 1) + room) * STEPS + before
        contexts, which = np.unique(fine, return_inverse=True)
        rooms, places = contexts // STEPS, fine // STEPS
        of_all = 2 * (2 * STEPS + 1) * self._left
        shares = self._shared.shares(of_all + rooms, self._even)
        shares = self._rooms.shares(rooms, shares)
        shares = self._fine.fine_shares(contexts, shares)
        levels = coder.code(shares[which])
        self._shared.add(of_all + places, levels)
        self._rooms.add(places, levels)
        self._fine.add(fine, levels)
        return levels


class _Rest:
    """How much of each sample's probability the earlier classes have left, in whole numbers."""

    def __init__(self, n: int, n_levels: int, scale: float) -> None:
        self._rest = np.full(n, CERTAIN, dtype=np.int64)
        scale = min(scale, HIGHEST)
        self._worth = np.array([_worth(level * scale) for level in range(n_levels)])
        self._worth[0] = ONE // 2  # the lowest level also stands for everything below it
        steps = min(n_levels, STEPS)
        width = scale * n_levels / steps / 2.0
        self._steps = np.array([_worth(step * width) for step in range(2 * steps)])

    def take(self, levels: Small) -> None:
        """Subtract the probability of a class."""
        self._rest -= self._worth[levels]
        np.maximum(self._rest, 0, out=self._rest)

    def steps(self, *, last: bool) -> Places:
        """Return how much is left, in half steps for the last class and in whole steps for the others."""
        steps = np.searchsorted(self._steps, self._rest)
        return steps if last else (steps + 1) // 2


@lru_cache(maxsize=4_096)
def _worth(height: float) -> int:
    """Return a probability from its height above the smallest, as a whole number that is the same on every machine."""
    above = Context(prec=20).exp(Decimal(min(height, HIGHEST)))
    return min(int(above * ONE), CERTAIN)


def _coarse(levels: Small, n_levels: int) -> Places:
    """Return levels in at most ``STEPS`` steps."""
    coarse: Places = levels.astype(np.int64)
    return coarse if n_levels <= STEPS else coarse * STEPS // n_levels
