"""What a site tells systemd: that it is ready, that it lives, that it stops (``sd_notify``)."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress


class ServiceManager:
    """Tells systemd how a site is, over the socket that systemd gave; without a socket, it tells nothing.

    Parameters
    ----------
    environment : mapping, optional
        Where ``NOTIFY_SOCKET`` and ``WATCHDOG_USEC`` are; without it, the environment of this process.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        environment = os.environ if environment is None else environment
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address  # "@" stands for an abstract one
        usec = environment.get("WATCHDOG_USEC", "")
        self._interval = int(usec) / 4e6 if usec.isdecimal() else None
        self._clock = clock
        self._told = -float("inf")
        self._ready = False

    def lives(self, words: str) -> None:
        """Tell that the site lives, and how it is in words; the first time, also that it is ready. Call it often."""
        now = self._clock()
        if not self._ready:
            self._ready = True
            self._tell("READY=1", f"STATUS={words}")
        if self._interval is not None and now - self._told >= self._interval:
            self._told = now
            self._tell("WATCHDOG=1", f"STATUS={words}")

    def stops(self) -> None:
        """Tell that the site stops on purpose."""
        self._tell("STOPPING=1")

    def _tell(self, *facts: str) -> None:
        if self._address:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.settimeout(1)
                end.sendto("\n".join(facts).encode(), self._address)
