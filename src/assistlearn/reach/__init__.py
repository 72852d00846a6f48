"""The ways to reach agents by name: in processes of their own on this machine, or at other organisations over FLARE.

To add a way of your own, write a class with the members of :class:`~assistlearn.reach.reach.Reach` and register it:
``register("name", YourClass)``. Runs whose settings name it are then opened by it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

from assistlearn.errors import RunError

if TYPE_CHECKING:
    from assistlearn.reach.reach import Reach

__all__ = ["A_YEAR", "TIMEOUT", "reach_named", "register"]

TIMEOUT = 3600.0
"""Seconds to wait for an answer of an agent on this machine, if nobody says otherwise."""

A_YEAR = 365.0 * 24 * 3600
"""Seconds in a year: the longest time to wait for an answer that commands accept."""

_REACHES: dict[str, Callable[[], Reach]] = {}


def register(name: str, made: Callable[[], Reach]) -> None:
    """Add a way to reach agents, under a name; ``made`` is called whenever the way is needed."""
    _REACHES[name] = made


def _of_module(module: str) -> Callable[[], Reach]:
    """Return a function that imports a way only when a run needs it: FLARE is large, and may not be installed."""
    return lambda: cast("Reach", import_module(module).REACH)


register("processes", _of_module("assistlearn.reach.processes.reach_processes"))
register("flare", _of_module("assistlearn.reach.flare.reach_flare"))


def reach_named(name: str) -> Reach:
    """Return the way to reach agents that was registered under a name."""
    if name not in _REACHES:
        raise RunError(f"The run's agents are reached by {name!r}, which this release does not know.")
    return _REACHES[name]()
