"""Read the body of a request, with a limit on its bytes and on the seconds that it takes."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from assistlearn.web.serving.serving_limits import ServingLimits

DRAINING = 1.0
"""Seconds to receive and drop the rest of a body that is too large, so that its sender reads the answer."""


async def body_of(request: Request, limits: ServingLimits) -> bytes:
    """Return the body of a request; refuse a body that is too large, too slow or compressed."""
    packed = request.headers.get("content-encoding", "identity")
    if packed != "identity":
        raise HTTPException(415, f"The body is compressed ({packed[:40]!r}). Send it uncompressed.")
    said = request.headers.get("content-length", "0")
    if said.isdecimal() and int(said[:20]) > limits.most_bytes:
        await _drained(request)
        raise _too_large(limits)
    try:
        async with asyncio.timeout(limits.slowest):
            return await _read(request, limits)
    except TimeoutError:
        raise HTTPException(
            408, f"The body did not come within {limits.slowest:g} seconds.", {"connection": "close"}
        ) from None
    except ClientDisconnect:
        raise HTTPException(400, "The body ended before it was complete.") from None


async def _read(request: Request, limits: ServingLimits) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > limits.most_bytes:
            await _drained(request)
            raise _too_large(limits)
    return bytes(body)


async def _drained(request: Request) -> None:
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(DRAINING):
            while (await request.receive()).get("more_body", False):
                pass


def _too_large(limits: ServingLimits) -> HTTPException:
    words = f"The body has more than {limits.most_bytes:,} bytes. Ask about fewer ids at a time."
    return HTTPException(413, words, {"connection": "close"})
