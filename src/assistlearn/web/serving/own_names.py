"""Refuse what web pages send: to a name that they have made point here, or from the browser of somebody who may ask."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from assistlearn.web.gate import LOOPBACK_NAMES, host_of

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
