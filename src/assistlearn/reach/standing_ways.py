"""The standing ways to all helpers of a run. Together they are the run's transport."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from assistlearn.errors import UnreachableError
from assistlearn.events import EventLog
from assistlearn.initiator.folder import RunSettings
from assistlearn.reach import TIMEOUT, reach_named
from assistlearn.reach.standing_way import StandingWay

CLOSING = 10.0
"""Seconds to wait for all ways together to close."""


class StandingWays(Mapping[str, StandingWay]):
    """The ways to a run's helpers, by name. Each helper has its own way, so that trouble stays with one helper.

    Parameters
    ----------
    settings : RunSettings
        Who takes part, and where they are.
    log : EventLog
        Gets the jobs that were started, and trouble.
    timeout : float
        Seconds to wait for an answer of an agent on this machine.
    """

    def __init__(self, settings: RunSettings, log: EventLog, timeout: float = TIMEOUT) -> None:
        self._settings = settings
        self._log = log
        self._timeout = timeout
        self._ways: dict[str, StandingWay] = {}

    def start(self, greet: Callable[[str], object]) -> None:
        """Begin to open all ways; ``greet`` asks a helper something harmless over this transport, by its name."""
        reach = reach_named(self._settings.reach)
        for name in self._settings.helpers:
            alone = replace(self._settings, agents=[self._settings.initiator, name])
            opened = partial(reach.opened, alone, self._log, self._timeout)
            self._ways[name] = StandingWay(name, opened, partial(greet, name))
            self._ways[name].start()

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return a helper's reply; only work that was submitted to its way may call this."""
        if agent not in self._ways:
            raise UnreachableError(f"There is no agent {agent!r} here. The agents are {sorted(self._ways)}.")
        return self._ways[agent].ask(request)

    def close(self) -> list[str]:
        """Close all ways at the same time; return the names of those that did not close in time."""
        for way in self._ways.values():
            way.close()
        until = time.monotonic() + CLOSING
        return [name for name, way in self._ways.items() if not way.join(max(0.0, until - time.monotonic()))]

    def __getitem__(self, agent: str) -> StandingWay:
        return self._ways[agent]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ways)

    def __len__(self) -> int:
        return len(self._ways)
