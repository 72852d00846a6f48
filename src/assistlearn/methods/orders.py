"""The order of the agents in a round: whose turn it is.

There are three kinds of orders. A callable returns all turns of a round at once. An :class:`Adaptive` order is asked
before every turn, and is given all earlier turns. With ``GREEDY``, every agent tries a model in every turn, and only
the best one is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from assistlearn.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np

    from assistlearn.events import TurnFinished

Planned: TypeAlias = Callable[[int, Sequence[str], "np.random.RandomState"], Sequence[str]]


class Adaptive(Protocol):
    """An order that is asked before every turn."""

    def next(self, taken: Sequence[str], agents: Sequence[str], history: Sequence[TurnFinished]) -> str | None:
        """Return whose turn it is, or None to end the round; ``taken`` are the agents that have had a turn in it."""
        ...


class Strongest:
    """The agent with the largest model weight in its last turn goes first. In the first round, the order is as given.

    It costs nothing: model weights are known to everybody.
    """

    def next(self, taken: Sequence[str], agents: Sequence[str], history: Sequence[TurnFinished]) -> str | None:
        waiting = [name for name in agents if name not in taken]
        weights = {turn.agent: turn.model_weight for turn in history}
        return max(waiting, key=lambda name: weights.get(name, math.inf), default=None)


class Greedy:
    """Every agent tries a model in every turn; the one that lowers the loss most is kept, the others are dropped.

    A round has as many turns as there are agents, M, and any agent may have several of them. It costs M fits and M
    answers per turn where other orders cost one: M * M per round.
    """


GREEDY = Greedy()
Order: TypeAlias = Planned | Adaptive | Greedy


def chain(round: int, agents: Sequence[str], rng: np.random.RandomState) -> Sequence[str]:
    return agents


def shuffled(round: int, agents: Sequence[str], rng: np.random.RandomState) -> Sequence[str]:
    return [agents[i] for i in rng.permutation(len(agents))]


ORDERS: dict[str, Order] = {"chain": chain, "random": shuffled, "strongest": Strongest(), "greedy": GREEDY}


def wrong_with(order: Any) -> str | None:
    """Return what is wrong with an order, as words that follow its name; None if nothing is."""
    named = isinstance(order, str) and order in ORDERS
    own = not isinstance(order, str) and (callable(order) or hasattr(order, "next") or isinstance(order, Greedy))
    if named or own:
        return None
    return (
        f"is not known. Choose one of {sorted(ORDERS)}, or pass a callable order(round, agents, rng) that returns the "
        "agents' names in the order of their turns."
    )


def order_of(order: str | Order) -> Order:
    wrong = wrong_with(order)
    if wrong is not None:
        raise SettingsError(f"order={order!r} {wrong}")
    return ORDERS[order] if isinstance(order, str) else order


def checked(said: Any, agents: Sequence[str], round: int) -> list[str]:
    """Return the agents that an order named for a round, as a list; refuse unknown names, and an empty list."""
    names = list(said) if isinstance(said, Iterable) else []
    if not names or any(name not in agents for name in names):
        raise SettingsError(
            f"The order for round {round} is {said!r}, but a round needs a list of at least one agent, "
            f"and the agents are {list(agents)}."
        )
    return names
