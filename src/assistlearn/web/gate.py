"""Protect every page: by the name of its host, by a token in its address, and by headers.

Every program and every web page on a machine can reach a server on its loopback. So

- the ``Host`` header must name this machine's loopback. A foreign name that was made to point here (DNS rebinding) is
  refused. The port is not checked, so that a forwarded port works;
- the first part of the path must be the token. It is in no cookie: browsers would also send that to other servers on
  this machine;
- headers tell the browser not to store the answer, and not to show it in a frame or to other sites. The page itself
  may ask no other server.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping, MutableMapping
from typing import Any, TypeAlias

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
LOOPBACK_NAMES = frozenset({LOOPBACK, "localhost", "[::1]"})
"""The names under which a browser may ask a server that only this machine reaches."""

HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""The headers of every answer."""

_Headers: TypeAlias = Collection[tuple[bytes, bytes]]


def new_token() -> str:
    """Return a token that nobody guesses: 192 bits, fit for an address."""
    return secrets.token_urlsafe(24)


def host_of(headers: _Headers) -> str:
    """Return the host that a request names, without the port, in small letters; empty unless it names exactly one.

    >>> host_of([(b"host", b"LocalHost:8080")]), host_of([(b"host", b"[::1]:80")]), host_of([])
    ('localhost', '[::1]', '')
    """
    said = [value for name, value in headers if name == b"host"]
    if len(said) != 1:
        return ""
    name = said[0].decode("latin-1").lower()
    head, colon, tail = name.rpartition(":")
    return head if colon and tail.isascii() and tail.isdigit() else name


class HostGate:
    """Refuses requests to a host name that is not this server's, with status 421. Adds headers to all answers.

    Parameters
    ----------
    app : ASGI application
        The application behind the gate.
    names : collection of str, default=LOOPBACK_NAMES
        The names of this server, in small letters.
    headers : mapping
        The headers that an answer gets if it does not have them.
    """

    def __init__(
        self, app: ASGIApp, names: Collection[str] = LOOPBACK_NAMES, headers: Mapping[str, str] = HEADERS
    ) -> None:
        self._app = app
        self._names = frozenset(names)
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    said.setdefault(name, value)
            await send(message)

        host = host_of(scope["headers"])
        if host in self._names:
            await self._app(scope, receive, with_headers)
            return
        words = f"This server is not {host[:100] or 'nameless'!r}. Use the address that its command printed.\n"
        await PlainTextResponse(words, 421)(scope, receive, with_headers)


class TokenGate:
    """Refuses requests whose path does not begin with the token, with status 403. Passes the rest of the path on.

    Parameters
    ----------
    app : ASGI application
        The application behind the gate.
    token : str
        The token.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said, slash, rest = scope["path"].lstrip("/").partition("/")
        if hmac.compare_digest(said.encode(), self._token):
            there: ASGIApp = self._app if slash else RedirectResponse(f"/{said}/", 308)
            await there(_behind(scope, f"/{rest}"), receive, send)
            return
        await _no_token()(scope, receive, send)


def _behind(scope: MutableMapping[str, Any], path: str) -> Scope:
    return {**scope, "path": path, "raw_path": path.encode()}


def _no_token() -> Response:
    words = "The token is missing or wrong. Use the whole address that the command printed.\n"
    return PlainTextResponse(words, 403)
