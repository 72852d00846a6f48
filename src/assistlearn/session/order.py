"""Whose turn it is: the order of the agents in a round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

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
    if not isinstance(order, str) or order not in ORDERS:
        raise SettingsError(
            f"order={order!r} is not known. Choose one of {sorted(ORDERS)}, or pass a callable "
            "order(round, agents, rng) that returns the agents' names in the order of their turns."
        )
    return ORDERS[order]


def checked(said: Any, agents: Sequence[str], round: int) -> list[str]:
    """Return what an order said for a round as a list, once every name in it is known."""
    names = list(said) if isinstance(said, Iterable) else []
    if not names or any(name not in agents for name in names):
        raise SettingsError(
            f"The order for round {round} is {said!r}, but a round needs a list of at least one agent, "
            f"and the agents are {list(agents)}."
        )
    return names
