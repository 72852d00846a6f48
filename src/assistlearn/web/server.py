"""Run an application on a port until Ctrl-C or SIGTERM, with limits for clients that are slow or too many."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from assistlearn.errors import SettingsError
from assistlearn.web.access import LOOPBACK

AT_ONCE = 8
"""Connections that are taken at once, before any of them is looked at: so many files are open beside those counted."""

BACKLOG = 1_024

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
    port: int = listening.getsockname()[1]
    return port


class WebServer(uvicorn.Server):
    """Serves an application on a socket that listens; ``settings`` are those of uvicorn.

    ``stopping`` is called in the server's loop when the server must stop. It ends answers that would go on for ever.
    """

    def __init__(
        self, app: ASGIApp, listening: socket.socket, stopping: Callable[[], object] = lambda: None, **settings: Any
    ) -> None:
        quiet = {"log_config": None, "log_level": "warning", "access_log": False, "server_header": False}
        limits = {"http": protocol_for(), "backlog": AT_ONCE, "timeout_graceful_shutdown": LAST_SECONDS}
        own: dict[str, Any] = {"ws": "none", "lifespan": "on", "proxy_headers": False, **quiet, **limits}
        super().__init__(uvicorn.Config(app, **{**own, **settings}))
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


# -- HTTP, with an answer in JSON for clients that are too slow or too many, or do not send HTTP

SLOWEST = 10.0

MOST_CONNECTIONS = 256
"""Fewer where this process may open only a few files."""

REASONS = {400: b"Bad Request", 408: b"Request Timeout", 503: b"Service Unavailable"}


class TimelyProtocol(H11Protocol):
    """A connection on which the head of each request must come within ``slowest`` seconds.

    uvicorn itself waits for the head of a request for ever, and takes any number of connections. Here, where there are
    ``most`` of them, a new one takes the place of the one that has waited longest for its client. So clients that say
    nothing cannot keep others out. Only where each is being answered is the new one refused.
    """

    def __init__(self, *arguments: Any, slowest: float, most: int, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._slowest = slowest
        self._most = most
        self._timer: asyncio.TimerHandle | None = None
        self._waits_since = self.loop.time()

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self._most and not self._make_room():
            self._refuse(503, f"{self._most} connections are open, and all are being answered. Ask again in a second.")
            return
        self._wait_or_not()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._wait_or_not()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_longer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "This is not a valid request of HTTP/1.1, or it contradicts itself.")

    @property
    def _waits(self) -> bool:
        """Whether the client has the next word: no request is being answered."""
        cycle = getattr(self, "cycle", None)
        return cycle is None or bool(cycle.response_complete)

    def _make_room(self) -> bool:
        """End the connection that has waited longest; return whether there was one."""
        others = (each for each in self.connections if isinstance(each, TimelyProtocol) and each is not self)
        waiting = [each for each in others if each._waits and not each.transport.is_closing()]
        if not waiting:
            return False
        min(waiting, key=lambda each: each._waits_since).transport.abort()
        return True

    def _wait_or_not(self) -> None:
        if not self._waits:
            self._wait_no_longer()
        elif self._timer is None:
            self._waits_since = self.loop.time()
            self._timer = self.loop.call_later(self._slowest, self._too_slow)

    def _wait_no_longer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if self._waits and not self.transport.is_closing():
            self._refuse(408, f"The head of the request did not come within {self._slowest:g} seconds.")

    def _refuse(self, status: int, words: str) -> None:
        """Answer and close. The client may not speak HTTP, so the answer is written as plain bytes."""
        if self.transport.is_closing():
            return
        body = json.dumps({"error": words}).encode()
        head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (status, REASONS[status], len(body)) + body)
        self.transport.close()


def protocol_for(slowest: float = SLOWEST, most: int | None = None) -> Any:
    return partial(TimelyProtocol, slowest=slowest, most=most_connections() if most is None else most)


def most_connections() -> int:
    """Return how many connections may be open: half of the files that this process may open, or fewer."""
    if sys.platform == "win32":  # it counts sockets apart from files
        return MOST_CONNECTIONS
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(min(MOST_CONNECTIONS, files // 2), 1)
