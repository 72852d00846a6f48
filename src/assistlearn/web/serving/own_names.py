"""Under which names a service may be asked: those of loopback, unless it was told to listen elsewhere."""

from __future__ import annotations

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from assistlearn.web.gate import LOOPBACK_NAMES, host_of


class LoopbackGate:
    """Refuses requests that were sent to a foreign name, with 421: a web page may have made it point here.

    Parameters
    ----------
    app : ASGI application
        What stands behind the gate.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or host_of(scope["headers"]) in LOOPBACK_NAMES:
            await self._app(scope, receive, send)
            return
        words = "This service is asked under 127.0.0.1, localhost or [::1] (the Host header), and under no other name."
        await JSONResponse({"error": words}, 421)(scope, receive, send)
