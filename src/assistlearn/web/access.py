"""Who may ask: one gate before every server, with a policy; and the tokens that the policy names."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assistlearn.errors import SettingsError

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
