"""Refuse requests to other host names than those of loopback, for a service that listens at loopback."""

from __future__ import annotations

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from assistlearn.web.gate import LOOPBACK_NAMES, host_of


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
