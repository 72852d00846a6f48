"""Who may ask: pages by a token and a host's name, programs by a bearer token, and no strange web page."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assistlearn.errors import SettingsError

# Protect every page: by the name of its host, by a token in its address, and by headers.
#
# Every program and every web page on a machine can reach a server on its loopback. So
#
# - the ``Host`` header must name this machine's loopback. A foreign name that was made to point here (DNS rebinding) is
#   refused. The port is not checked, so that a forwarded port works;
# - the first part of the path must be the token. It is in no cookie: browsers would also send that to other servers on
#   this machine;
# - headers tell the browser not to store the answer, and not to show it in a frame or to other sites. The page itself
#   may ask no other server.


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


# Answer only clients that have the token. It is made once, and kept in a file that only its owner can read.


OPEN_PATHS = ("/v2/health/live", "/v2/health/ready")
"""What anybody may ask: whether the service lives, and is ready."""

SHORTEST = 16
"""Characters that a token must have at least."""


def kept_token(file: Path) -> str:
    """Return the token in a file. If there is no file, make one that only its owner can read.

    Raises
    ------
    SettingsError
        Others may read the file, or what it holds is no token.
    """
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


class BearerGate:
    """Refuses requests without the token, with 401.

    Parameters
    ----------
    app : ASGI application
        What stands behind the gate.
    token : str
        The token.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._has_token(scope):
            await self._app(scope, receive, send)
            return
        words = "The token is missing or wrong. Send it in the header 'Authorization: Bearer TOKEN'."
        await JSONResponse({"error": words}, 401, {"www-authenticate": "Bearer"})(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        said = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(said) != 1:
            return False
        kind, _, token = said[0].partition(b" ")
        return bool(kind.lower() == b"bearer") and hmac.compare_digest(token.strip(), self._expected)


# Refuse what web pages send: to a name that they have made point here, or from the browser of somebody who may ask.


OF_FORMS = (b"application/x-www-form-urlencoded", b"multipart/form-data", b"text/plain")
"""The types of content that a form on any web page can send."""


class LoopbackGate:
    """Refuses requests to a foreign host name, with status 421: a web page may have made that name point here.

    Parameters
    ----------
    app : ASGI application
        The application behind the gate.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or host_of(scope["headers"]) in LOOPBACK_NAMES:
            await self._app(scope, receive, send)
            return
        words = "This service answers only to the names 127.0.0.1, localhost and [::1] in the Host header."
        await JSONResponse({"error": words}, 421)(scope, receive, send)


class PagesGate:
    """Refuses requests that a browser sends for a web page, with status 403, and contents as forms send them, with 415.

    For a service that needs no token: any page could have the browser of somebody who reaches the service ask it.
    The service has no pages of its own, so no page has a reason to. A browser says which page asks (``Origin``), and
    whether one does (``Sec-Fetch-Site``); pages cannot change these headers.

    Parameters
    ----------
    app : ASGI application
        The application behind the gate.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        refused = None if scope["type"] != "http" else _why_refused(scope["headers"])
        if refused is None:
            await self._app(scope, receive, send)
            return
        status, words = refused
        await JSONResponse({"error": words}, status)(scope, receive, send)


def _why_refused(headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
    """Return status and words for a request that a page may have caused; None for one that none has."""
    for name, value in headers:
        said = value.strip().lower()
        if name == b"origin" or (name == b"sec-fetch-site" and said != b"none"):
            return 403, "A web page asks, and this service needs no token: it answers programs only."
        if name == b"content-type" and said.partition(b";")[0].strip() in OF_FORMS:
            kind = said[:80].decode("ascii", "replace")
            return 415, f"The content is of type {kind}, as web pages send it. Send application/json."
    return None
