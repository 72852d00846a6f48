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
from assistlearn.web.timely_protocol import protocol_for

AT_ONCE = 8
"""Connections that are taken at once, before any of them is looked at: so many files are open beside those counted."""

BACKLOG = 1_024
"""Connections that may wait until they are taken."""

LAST_SECONDS = 5
"""Seconds to wait for incomplete answers when the server stops."""


def listening(port: int = 0, host: str = LOOPBACK) -> socket.socket:
    """Return a socket that listens at a port; 0 is any free port. Connections wait until a server answers."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sends at once only if TCP is named
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen()
    except OSError as error:
        made.close()
        why = error.strerror or error
        raise SettingsError(
            f"Cannot listen at port {port} of {host}: {why}. Name another port; 0 means any free port."
        ) from None
    return made


def port_of(listening: socket.socket) -> int:
    """Return the port of a socket."""
    port: int = listening.getsockname()[1]
    return port


class WebServer(uvicorn.Server):
    """Serves an application on a socket.

    Parameters
    ----------
    app : ASGI application
        The application, which answers requests.
    listening : socket
        The socket to listen at.
    stopping : callable, optional
        Called in the server's loop when the server must stop. It ends answers that would go on for ever.
    **settings
        Settings of uvicorn, such as ``ssl_certfile``.
    """

    def __init__(
        self, app: ASGIApp, listening: socket.socket, stopping: Callable[[], object] = lambda: None, **settings: Any
    ) -> None:
        quiet: dict[str, Any] = {
            "log_config": None,
            "log_level": "warning",
            "access_log": False,
            "server_header": False,
            "ws": "none",
        }
        quiet |= {"http": protocol_for(), "backlog": AT_ONCE}
        own = {"timeout_graceful_shutdown": LAST_SECONDS, "lifespan": "on", "proxy_headers": False}
        super().__init__(uvicorn.Config(app, **{**quiet, **own, **settings}))
        self._listening = listening
        self._stopping = stopping

    def run_until_stopped(self) -> None:
        """Answer until Ctrl-C, SIGTERM or :meth:`stop`; then complete the answers that were begun, and return."""
        with self._listening:
            self.run(sockets=[self._listening])

    def stop(self) -> None:
        """Let the server end; may be called from another thread."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer. asyncio has one number for the connections that wait and for those that it takes at once."""
        await super().startup(sockets)
        self._listening.listen(BACKLOG)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End answers that would go on for ever, then shut down as uvicorn does."""
        self._stopping()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, and drop it. uvicorn would raise it again afterwards, before the command has ended."""
        with super().capture_signals():
            try:
                yield
            finally:
                self._captured_signals.clear()
