r"""Shapley values of every sample: what each player adds to the value of a set, averaged over all orders of joining.

Values are those of one sample each, so that the spread over samples gives the standard error of their mean. A *table*
holds values of sets in its rows, and of samples in its columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats

MOST_EXACT = 12
"""Players up to which every set is looked at: there are 4,096 then."""

PAIRS = 128
"""Pairs of orders that are drawn where there are more players: an order and its reverse."""


def every_set(n_players: int) -> Bools:
    """Return all sets, one per row; in row ``s`` is player ``j`` where bit ``j`` of ``s`` is set.

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
    r"""Return what to multiply the value of each set with: players x sets, so that ``coefficients @ table`` is it.

    A set :math:`S` without :math:`j` comes just before :math:`j` in :math:`|S|! (M - |S| - 1)!` of :math:`M!` orders.

    >>> coefficients(2)
    array([[-0.5,  0.5, -0.5,  0.5],
           [-0.5, -0.5,  0.5,  0.5]])
    """
    members = every_set(n_players)
    sizes = members.sum(axis=1)
    whole = factorial(n_players)
    chances = np.array([factorial(s) * factorial(n_players - s - 1) / whole for s in range(n_players)])
    joined = np.append(0.0, chances)[sizes]  # the set is what there is after the player has come
    before = np.append(chances, 0.0)[sizes]
    found: Floats = np.where(members, joined[:, np.newaxis], -before[:, np.newaxis])
    return found.T


def drawn_orders(n_players: int, seed: int, pairs: int = PAIRS) -> NDArray[np.intp]:
    """Return orders of joining, pair by pair: one that is drawn, and its reverse, which takes out much of the chance.

    >>> drawn_orders(3, seed=0, pairs=1)
    array([[2, 0, 1],
           [1, 0, 2]])
    """
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(n_players) for _ in range(pairs)]
    return np.array([order for one in drawn for order in (one, one[::-1])], dtype=np.intp)


def sets_on_the_way(order: NDArray[np.intp]) -> Iterator[Bools]:
    """Yield the sets that there are while players join in this order: nobody first, all at last."""
    members = np.zeros(len(order), dtype=bool)
    yield members.copy()
    for player in order:
        members[player] = True
        yield members.copy()
