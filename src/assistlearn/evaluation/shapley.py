r"""Shapley values of every sample: what each player adds to the value of a set, averaged over all orders of joining.

Every sample has its own value, so that the spread over samples gives the standard error of the mean. A *table* has a
row for each set and a column for each sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats

MOST_EXACT = 12
"""The largest number of players for which every set is computed. There are then 4,096 sets."""

PAIRS = 128
"""The number of pairs of orders that are drawn if there are more players. A pair is an order and its reverse."""


def every_set(n_players: int) -> Bools:
    """Return all sets, one per row. Row ``s`` contains player ``j`` if bit ``j`` of ``s`` is set.

    >>> every_set(2).astype(int)
    array([[0, 0],
           [1, 0],
           [0, 1],
           [1, 1]])
    """
    numbers = np.arange(2**n_players)
    members: Bools = (numbers[:, np.newaxis] >> np.arange(n_players)) & 1 == 1
    return members


def coefficients(n_players: int) -> Floats:
    r"""Return the coefficient of each set, players x sets: ``coefficients @ table`` gives the Shapley values.

    A set :math:`S` without :math:`j` comes just before :math:`j` in :math:`|S|! (M - |S| - 1)!` of :math:`M!` orders.

    >>> coefficients(2)
    array([[-0.5,  0.5, -0.5,  0.5],
           [-0.5, -0.5,  0.5,  0.5]])
    """
    members = every_set(n_players)
    sizes = members.sum(axis=1)
    whole = factorial(n_players)
    chances = np.array([factorial(s) * factorial(n_players - s - 1) / whole for s in range(n_players)])
    joined = np.append(0.0, chances)[sizes]  # the player has just joined the set
    before = np.append(chances, 0.0)[sizes]
    found: Floats = np.where(members, joined[:, np.newaxis], -before[:, np.newaxis])
    return found.T


def drawn_orders(n_players: int, seed: int, pairs: int = PAIRS) -> NDArray[np.intp]:
    """Return random orders of joining, each followed by its reverse, which makes chance matter less.

    >>> drawn_orders(3, seed=0, pairs=1)
    array([[2, 0, 1],
           [1, 0, 2]])
    """
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(n_players) for _ in range(pairs)]
    return np.array([order for one in drawn for order in (one, one[::-1])], dtype=np.intp)


def sets_on_the_way(order: NDArray[np.intp]) -> Iterator[Bools]:
    """Yield the sets while players join in this order, from the empty set to the set of all."""
    members = np.zeros(len(order), dtype=bool)
    yield members.copy()
    for player in order:
        members[player] = True
        yield members.copy()
