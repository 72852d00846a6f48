"""The live page as an application: the page itself, its script and style, and a stream for every watcher."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from assistlearn.web.feed import Feed
from assistlearn.web.gate import HEADERS, HostGate, TokenGate
from assistlearn.web.live_page import live_page, live_policy
from assistlearn.web.running import WebServer
from assistlearn.web.stream import stream
from assistlearn.web.watched import Watched

MOST_WATCHERS = 100
"""How many streams there may be at the same time."""

FIRST = 10.0
"""Seconds to wait until a page is drawn. Then the last page that was drawn is shown."""

SERVED = {"live.js": "text/javascript", "live.css": "text/css"}


def run_watch(watched: Watched, listening: socket.socket, token: str) -> None:
    """Show a run or an agent until Ctrl-C or SIGTERM; raise the error that ends the feed, if there is one.

    Parameters
    ----------
    watched : Watched
        A run or an agent.
    listening : socket
        Where the page is served.
    token : str
        The first part of the page's path.
    """
    failures: list[BaseException] = []

    def failed(error: BaseException) -> None:
        failures.append(error)
        server.stop()

    feed = Feed(watched, failed)
    server = WebServer(watching(feed, token), listening, stopping=feed.stop)
    server.run_until_stopped()
    if failures:
        raise failures[0]


def watching(feed: Feed, token: str) -> ASGIApp:
    """Return the application that shows what a feed follows, behind its gates.

    Parameters
    ----------
    feed : Feed
        What is watched; it is started and ended with the application.
    token : str
        The first part of the page's path.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        feed.start()
        yield
        feed.stop()
        await asyncio.to_thread(feed.join)

    async def page(_: Request) -> Response:
        return HTMLResponse(live_page(await feed.current(FIRST)))

    async def events(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if feed.n_watchers >= MOST_WATCHERS:
            return PlainTextResponse(f"{MOST_WATCHERS} watch already. Close a page.\n", 503)
        log, place = _number(request, "log"), _number(request, "after")
        last = request.headers.get("last-event-id", "")
        place = int(last) if last.isascii() and last.isdigit() and len(last) < 20 else place
        return StreamingResponse(stream(feed, log, place), media_type="text/event-stream")

    async def served(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in SERVED:
            raise HTTPException(404)
        content = resources.files("assistlearn.web").joinpath("static", name).read_bytes()
        return Response(content, media_type=SERVED[name])

    routes = [Route("/", page), Route("/events", events), Route("/{name}", served)]
    headers = {**HEADERS, "content-security-policy": f"{live_policy()}; frame-ancestors 'none'"}
    return HostGate(TokenGate(Starlette(routes=routes, lifespan=lifespan), token), headers=headers)


def _number(request: Request, name: str) -> int:
    said = request.query_params.get(name, "0")
    if not (said.isascii() and said.isdigit() and len(said) < 20):
        raise HTTPException(400, f"{name} is a number")
    return int(said)
