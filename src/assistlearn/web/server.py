"""What every application stands behind: a gate with a policy, tokens, and a server with limits for its clients."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import socket
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from assistlearn.errors import SettingsError

# -- who may ask

LOOPBACK = "127.0.0.1"
LOOPBACK_NAMES = frozenset({LOOPBACK, "localhost", "[::1]"})

HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""The headers of a page: a browser neither stores it nor shows it in a frame or to other sites."""

OPEN_PATHS = ("/v2/health/live", "/v2/health/ready")
"""What anybody may ask a service: whether it lives, and is ready."""

OF_FORMS = (b"application/x-www-form-urlencoded", b"multipart/form-data", b"text/plain")

_Headers: TypeAlias = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Policy:
    """Who may ask a server, and how it refuses others: in words for people, or in JSON for programs.

    ``token`` None: programs need none, but what a web page sends is refused, because any page could have the browser of
    somebody who reaches the service ask it. With ``in_path``, for pages, it is the first part of the path and not a
    header. It is in no cookie: browsers would also send that to other servers on this machine. ``hosts`` are this
    server's names (None: any), since a foreign one may have been made to point here (DNS rebinding). The port is not
    checked, so that a forwarded port works.
    """

    token: str | None
    in_path: bool = False
    hosts: Collection[str] | None = LOOPBACK_NAMES
    headers: Mapping[str, str] = field(default_factory=dict)


class Gate:
    """Answers, in the place of an application, the requests that a policy refuses.

    A foreign host is refused with status 421, a wrong token with 403 in a path and with 401 in a header. Where no token
    is needed, a web page is refused with 403, and contents as forms send them with 415.
    """

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._policy.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None and self._policy.in_path:
            path = "/" + scope["path"].lstrip("/").partition("/")[2]
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        policy, headers = self._policy, scope["headers"]
        host = host_of(headers)
        if policy.hosts is not None and host not in policy.hosts:
            known = ", ".join(sorted(policy.hosts))
            words = f"This server is not {host[:100] or 'nameless'!r}. In the Host header, its names are {known}."
            return self._refused(421, words)
        if policy.token is None:
            return self._refused_page(headers)
        if policy.in_path:
            first, slash, _ = scope["path"].lstrip("/").partition("/")
            if not hmac.compare_digest(first.encode(), policy.token.encode()):
                return self._refused(
                    403, "The token is missing or wrong. Use the whole address that the command printed."
                )
            return None if slash else RedirectResponse(f"/{first}/", 308)
        if scope["path"] in OPEN_PATHS or _has_token(headers, policy.token):
            return None
        words = "The token is missing or wrong. Send it in the header 'Authorization: Bearer TOKEN'."
        return self._refused(401, words, {"www-authenticate": "Bearer"})

    def _refused_page(self, headers: _Headers) -> Response | None:
        """Refuse what a page may have caused: browsers say so, in headers that pages cannot change."""
        for name, value in headers:
            value = value.strip().lower()
            if name == b"origin" or (name == b"sec-fetch-site" and value != b"none"):
                return self._refused(403, "A web page asks, and this service needs no token: it answers programs only.")
            if name == b"content-type" and value.partition(b";")[0].strip() in OF_FORMS:
                kind = value[:80].decode("ascii", "replace")
                return self._refused(
                    415, f"The content is of type {kind}, as web pages send it. Send application/json."
                )
        return None

    def _refused(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> Response:
        if self._policy.in_path:
            return PlainTextResponse(f"{words}\n", status, headers)
        return JSONResponse({"error": words}, status, headers)


def host_of(headers: _Headers) -> str:
    """Return the host that a request names, without the port, in small letters; empty unless it names exactly one.

    >>> host_of([(b"host", b"LocalHost:8080")]), host_of([(b"host", b"[::1]:80")]), host_of([])
    ('localhost', '[::1]', '')
    """
    values = [value for name, value in headers if name == b"host"]
    if len(values) != 1:
        return ""
    name = values[0].decode("latin-1").lower()
    head, colon, tail = name.rpartition(":")
    return head if colon and tail.isascii() and tail.isdigit() else name


def _has_token(headers: _Headers, token: str) -> bool:
    values = [value for name, value in headers if name == b"authorization"]
    if len(values) != 1:
        return False
    kind, _, given = values[0].partition(b" ")
    return kind.lower() == b"bearer" and hmac.compare_digest(given.strip(), token.encode())


# -- tokens

SHORTEST = 16


def new_token() -> str:
    """Return a token that nobody guesses: 192 bits, fit for an address."""
    return secrets.token_urlsafe(24)


def kept_token(file: Path) -> str:
    """Return the token in a file, which nobody else may read; if there is no file, make one."""
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _checked(file)
    with os.fdopen(opened, "w", encoding="ascii") as made:
        token = new_token()
        made.write(token + "\n")
    return token


def _checked(file: Path) -> str:
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise SettingsError(f"{file} holds the token, and others may read it. Make it yours alone: chmod 600 {file}")
    token = file.read_bytes().decode("ascii", errors="replace").strip()
    if len(token) < SHORTEST or not all(33 <= ord(letter) <= 126 for letter in token):
        raise SettingsError(
            f"{file} holds no valid token: it needs at least {SHORTEST} letters, digits and signs, without blanks. "
            "Remove the file, and a new token is made."
        )
    return token


# -- the server: it answers until Ctrl-C or SIGTERM

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
