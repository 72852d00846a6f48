"""Watches FLARE's process: whether it lives, which jobs it runs, what it leaves behind. Tells the kit and systemd."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.reach.flare.site.health import SILENCE, Health, say, status_file
from assistlearn.reach.flare.site.job_folders import jobs_below, sweep
from assistlearn.reach.flare.site.log_pump import LogPump
from assistlearn.reach.flare.site.rotating_log import cut_back
from assistlearn.reach.flare.site.service_manager import ServiceManager
from assistlearn.reach.flare.site.signs import Signs

LOOK = 3.0
"""Seconds between two looks."""

STARTING = 180.0
"""Seconds until a process that was started must have given its first sign of life."""


class Watch:
    """Watches one process of FLARE after the other, for one kit.

    Parameters
    ----------
    kit : Kit
        The kit of a site or of the relay.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._since = datetime.now(UTC)
        self._manager = ServiceManager()
        self._starts = 0
        self._lost = 0
        self._looked = 0.0
        self._running: set[str] = set()
        self._ended: set[str] = set()
        self._process: int | None = None

    def begin(self, process: int, signs: Signs, pump: LogPump) -> None:
        """Watch a process from now on."""
        self._process, self._signs, self._pump = process, signs, pump
        self._starts += 1
        self._say()

    def look(self) -> bool:
        """Return whether the process must be started anew; call it often, most calls cost nothing."""
        if time.monotonic() - self._looked < LOOK:
            return False
        self._looked = time.monotonic()
        assert self._process is not None
        running = jobs_below(self._process)
        self._ended = (self._ended | (self._running - running)) - running
        self._running = running
        self._ended -= set(sweep(self._kit.folder, running, self._ended))
        cut_back(self._kit.folder / "audit.log")
        health = self._say()
        if self._signs.heard and health.serves:
            self._manager.lives(health.words)
        return self._signs.age > (SILENCE if self._signs.heard else STARTING)

    def end(self, exit_code: int | None, meant: bool) -> None:
        """Stop watching a process that has ended, or will be. If that is meant, tell systemd; else log the reason."""
        if meant:
            self._manager.stops()
        else:
            why = self._health().words if exit_code is None else f"FLARE's process ended with exit code {exit_code}"
            self._pump.file.put(f"assistlearn: {why}. It is started anew.\n".encode())
        self._lost += self._pump.file.lost
        self._process = None
        self._say()

    def close(self) -> None:
        """Remove the site's report: nobody is left to keep it true."""
        status_file(self._kit.folder).unlink(missing_ok=True)

    def _say(self) -> Health:
        health = self._health()
        say(self._kit, health)
        return health

    def _health(self) -> Health:
        return Health(
            name=self._kit.name,
            kind=self._kit.kind,
            network=self._kit.network,
            pid=os.getpid(),
            flare=self._process,
            since=self._since,
            said=datetime.now(UTC),
            starts=self._starts,
            silent=round(self._signs.age, 1),
            connected=self._signs.connected,
            jobs=tuple(sorted(self._running)),
            last_line=self._pump.last,
            lost_lines=self._lost + (self._pump.file.lost if self._process is not None else 0),
        )
