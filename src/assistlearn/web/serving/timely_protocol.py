"""uvicorn's HTTP, with an answer in JSON for clients that are too slow or do not send HTTP."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from assistlearn.web.serving.serving_limits import ServingLimits


class TimelyProtocol(H11Protocol):
    """A connection on which the head of each request must come within ``slowest`` seconds.

    uvicorn itself waits for the head of a request for ever.
    """

    def __init__(self, *arguments: Any, slowest: float, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._slowest = slowest
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._wait_or_not()

    def data_received(self, data: bytes) -> None:
        """Handle new bytes. Then start the timer, or stop it if a request is being answered."""
        super().data_received(data)
        self._wait_or_not()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._wait_no_longer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Say in JSON that this is no request."""
        self._refuse(400, "This is not a valid request of HTTP/1.1, or it contradicts itself.")

    def _wait_or_not(self) -> None:
        cycle = getattr(self, "cycle", None)
        if cycle is not None and not cycle.response_complete:
            self._wait_no_longer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self._slowest, self._too_slow)

    def _wait_no_longer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        cycle = getattr(self, "cycle", None)
        if (cycle is None or cycle.response_complete) and not self.transport.is_closing():
            self._refuse(408, f"The head of the request did not come within {self._slowest:g} seconds.")

    def _refuse(self, status: int, words: str) -> None:
        """Answer and close the connection. The client may not speak HTTP, so the answer is written as plain bytes."""
        if self.transport.is_closing():
            return
        body = json.dumps({"error": words}).encode()
        reason = {400: b"Bad Request", 408: b"Request Timeout"}[status]
        head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (status, reason, len(body)) + body)
        self.transport.close()


def protocol_for(limits: ServingLimits) -> Any:
    """Return a function that makes protocols, for uvicorn's setting ``http``."""
    return partial(TimelyProtocol, slowest=limits.slowest)
