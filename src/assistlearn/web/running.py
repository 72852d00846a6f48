"""Run an application on a port until Ctrl-C or SIGTERM, and end in good order."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from assistlearn.errors import SettingsError
from assistlearn.web.gate import LOOPBACK

LAST_SECONDS = 5
"""Seconds that answers under way have to end, once the server is to stop."""


def listening(port: int = 0, host: str = LOOPBACK) -> socket.socket:
    """Return a socket that listens at a port; 0 is any that is free. Whoever calls waits until a server answers."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, so that asyncio sends at once
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen()
    except OSError as error:
        made.close()
        why = error.strerror or error
        raise SettingsError(f"Port {port} of {host} cannot be had: {why}. Name another; 0 is any free one.") from None
    return made


def port_of(listening: socket.socket) -> int:
    """Return the port of a socket."""
    port: int = listening.getsockname()[1]
    return port


class WebServer(uvicorn.Server):
    """An application on a socket.

    Parameters
    ----------
    app : ASGI application
        What answers.
    listening : socket
        Where it listens.
    stopping : callable, optional
        Called in the server's loop as soon as it is to stop: ends answers that would go on for ever.
    **settings
        Of uvicorn, such as ``ssl_certfile``.
    """

    def __init__(
        self, app: ASGIApp, listening: socket.socket, stopping: Callable[[], object] = lambda: None, **settings: Any
    ) -> None:
        quiet = {"log_config": None, "log_level": "warning", "access_log": False, "server_header": False, "ws": "none"}
        own = {"timeout_graceful_shutdown": LAST_SECONDS, "lifespan": "on", "proxy_headers": False}
        super().__init__(uvicorn.Config(app, **{**quiet, **own, **settings}))
        self._listening = listening
        self._stopping = stopping

    def run_until_stopped(self) -> None:
        """Answer until Ctrl-C, SIGTERM or :meth:`stop`; then let answers under way end, and return."""
        with self._listening:
            self.run(sockets=[self._listening])

    def stop(self) -> None:
        """Let the server end; may be called from another thread."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what goes on for ever, then as uvicorn does."""
        self._stopping()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals as the wish to stop. uvicorn would raise them again afterwards, before the command has ended."""
        with super().capture_signals():
            try:
                yield
            finally:
                self._captured_signals.clear()
