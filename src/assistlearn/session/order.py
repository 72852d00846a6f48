"""Whose turn it is: the order of the agents in a round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from assistlearn.errors import SettingsError

Order: TypeAlias = Callable[[int, Sequence[str], np.random.RandomState], Sequence[str]]


def chain(round: int, agents: Sequence[str], rng: np.random.RandomState) -> Sequence[str]:
    """Return the agents in the order in which they were given, the same in every round.

    >>> chain(1, ["a", "b"], np.random.RandomState(0))
    ['a', 'b']
    """
    return agents


def shuffled(round: int, agents: Sequence[str], rng: np.random.RandomState) -> Sequence[str]:
    """Return a fresh random permutation of the agents (ASCII-Random).

    >>> sorted(shuffled(1, ["a", "b", "c"], np.random.RandomState(0)))
    ['a', 'b', 'c']
    """
    return [agents[i] for i in rng.permutation(len(agents))]


ORDERS: dict[str, Order] = {"chain": chain, "random": shuffled}


def order_of(order: str | Order) -> Order:
    """Return the order that a name or a callable stands for."""
    if callable(order):
        return order
    if order not in ORDERS:
        raise SettingsError(
            f"order={order!r} is not known. Choose one of {sorted(ORDERS)}, or pass a callable "
            "order(round, agents, rng) that returns the agents' names in the order of their turns."
        )
    return ORDERS[order]


def checked(names: Sequence[str], agents: Sequence[str], round: int) -> list[str]:
    """Return what an order said for a round, once every name is known."""
    names = list(names)
    unknown = [name for name in names if name not in agents]
    if unknown or not names:
        raise SettingsError(
            f"The order for round {round} is {names}, but a round needs at least one agent "
            f"and the agents are {list(agents)}."
        )
    return names
