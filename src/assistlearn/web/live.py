"""The live page: one thread reads news and renders the report, and every watcher is sent the newest page whole."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from assistlearn.errors import AssistLearnError
from assistlearn.release import __version__
from assistlearn.report.page import Frame, body, policy, style_sheet
from assistlearn.report.sections import PagePicture, Section
from assistlearn.web.access import HEADERS, Gate, Policy
from assistlearn.web.server import WebServer

if TYPE_CHECKING:
    from jinja2 import Environment

logger = logging.getLogger("assistlearn.web")

Condition: TypeAlias = Literal["waiting", "reading", "running", "resumed", "stopped", "ended", "gone"]
"""The condition of a run, or of an agent.

``waiting``: nothing happens yet. ``reading``: its file is not read to the end yet. ``running``: somebody works on it.
``resumed``: somebody works on it again. ``stopped``: nobody works on it. ``ended``: it is finished. ``gone``: it was
removed.
"""


@dataclass(frozen=True)
class Status:
    """The line at the top: a condition, its name for people, a sentence or two, and when the last event happened."""

    condition: Condition
    name: str
    words: str
    last: datetime | None = None

    def facts(self) -> dict[str, Any]:
        """Return the line for the page's script. It says how long ago the last event was: clocks may differ."""
        now = datetime.now(UTC)
        quiet = None if self.last is None else max((now - self.last).total_seconds(), 0.0)
        known = {"condition": self.condition, "name": self.name, "words": self.words}
        return known | {"quiet": quiet, "now": now.timestamp()}


class Watched(Protocol):
    """A run or an agent that can be watched. Only one thread calls its methods."""

    @property
    def place(self) -> int:
        """The byte in the log, or ledger, up to which it was read."""
        ...

    @property
    def generation(self) -> int:
        """How often another log has taken the place of the one that was read."""
        ...

    def take_news(self) -> bool:
        """Read the next piece of the log; return whether there may be more at once."""
        ...

    def mark(self) -> Hashable:
        """Return a value that changes as soon as there is something new to show."""
        ...

    def status(self) -> Status:
        """Return the line at the top of the page."""
        ...

    def frame(self) -> Frame: ...

    def sections(self) -> Sequence[Section]:
        """Return the sections in their order; their pictures are drawn later."""
        ...


# -- rendering, in the thread of a feed

OFTEN = 0.25
"""Seconds between two pages, at least."""

REST = 3.0
"""The pause after a picture, as a multiple of the time that it took: a run on this machine comes first."""


@dataclass(frozen=True)
class LivePage:
    """The newest page: its number, and its content. ``place`` is the byte of the log that it goes up to."""

    number: int
    place: int
    status: Status
    title: str
    body: str


class _Renderer:
    """Renders the whole page anew on every change.

    Drawing takes matplotlib a tenth of a second or more for each picture, and there are up to nine. So the page comes
    at once, with the pictures that are there, and the others are drawn one by one in the pauses.
    """

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._mark: Hashable = None
        self._generation = watched.generation
        self._sections: Sequence[Section] = ()
        self._drawn: dict[str, tuple[PagePicture, str]] = {}
        self._due = self._due_picture = 0.0
        self._number = 0
        self.page = self._rendered()

    @property
    def is_up_to_date(self) -> bool:
        """Whether the page shows the newest event. Pictures may still be older."""
        return self._mark == self._watched.mark()

    def work(self) -> bool:
        """Render the page, or draw a picture, if it is time; return whether there is a new page."""
        if not self.is_up_to_date:
            if monotonic() < self._due:
                return False
            self._mark, self._sections = self._watched.mark(), self._watched.sections()
            if self._generation != self._watched.generation:  # pictures of another run
                self._generation = self._watched.generation
                self._drawn.clear()
        elif not self._draw_one():
            return False
        self.page = self._rendered()
        self._due = monotonic() + OFTEN
        return True

    def _draw_one(self) -> bool:
        """Draw one picture that is missing, or, after a rest, one that is out of date; return whether there was one."""
        pictures = {each.key: each.picture for each in self._sections if each.picture is not None}
        missing = [key for key in pictures if key not in self._drawn]
        old = [key for key in self._drawn if key in pictures and self._drawn[key][0] != pictures[key]]
        ready = missing or (old if monotonic() >= self._due_picture else [])
        if not ready:
            return False
        key, begun = ready[0], monotonic()
        self._drawn.pop(key, None)  # so that the one drawn last is the last of the old ones next time
        self._drawn[key] = pictures[key], pictures[key].svg()
        self._due_picture = monotonic() + REST * (monotonic() - begun)
        return True

    def _rendered(self) -> LivePage:
        watched, self._number = self._watched, self._number + 1
        frame = watched.frame()
        html = body(frame, [self._with_picture(each) for each in self._sections])
        return LivePage(self._number, watched.place, watched.status(), frame.title, html)

    def _with_picture(self, section: Section) -> Section:
        if section.picture is None or section.key not in self._drawn:
            return replace(section, picture=None)
        drawn = self._drawn[section.key][1]
        return replace(section, picture=PagePicture(section.picture.label, lambda: drawn))


# -- the feed

PASSING = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EINTR)
"""Errors of the system that pass: too many files are open just now."""

AGAIN = 1.0
"""Seconds after which something is tried again that failed by such an error."""

LOOK = 0.05
"""Seconds between two looks at a log that has not grown."""


class Feed:
    """Reads news and renders the page in a thread of its own, and wakes the watchers.

    All watchers share one page, the newest. A slow watcher gets the newest when it asks for more; those in between are
    not kept. So memory grows neither with the length of a run nor with slow watchers. Nothing is rendered while nobody
    watches.
    """

    def __init__(self, watched: Watched, failed: Callable[[BaseException], object] = lambda error: None) -> None:
        self._watched = watched
        self._failed = failed
        self._renderer = _Renderer(watched)
        self._requests = self._answered = 0
        self._wanted = threading.Event()
        self._over = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bell = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="feed", daemon=True)
        self.n_watchers = 0

    # in the server's loop

    def start(self) -> None:
        """Start the thread, in the loop of the server."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._wanted.set()
        self._ring()

    def join(self) -> None:
        self._thread.join()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    @contextmanager
    def watcher(self) -> Iterator[None]:
        self.n_watchers += 1
        self._wanted.set()
        try:
            yield
        finally:
            self.n_watchers -= 1
            if not self.n_watchers and not self.over:
                self._wanted.clear()

    async def current(self, seconds: float) -> LivePage:
        """Return the page as it is now. If that takes longer than ``seconds``, return the last page."""
        self._requests = wanted = self._requests + 1
        end = monotonic() + seconds
        with self.watcher():
            while self._answered < wanted and not self.over and (left := end - monotonic()) > 0.0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._bell.wait(), left)
        return self._renderer.page

    async def newest(self, beyond: int, seconds: float) -> LivePage:
        """Return the newest page. Wait up to ``seconds`` for one with a higher number than ``beyond``."""
        bell = self._bell
        if self._renderer.page.number <= beyond and not self.over:
            with suppress(TimeoutError):
                await asyncio.wait_for(bell.wait(), seconds)
        return self._renderer.page

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    # in the thread

    def _work(self) -> None:
        try:
            self._follow()
        except BaseException as error:
            self._failed(error)
            self._over.set()
            self._wake()

    def _follow(self) -> None:
        while not self.over:
            asked = self._requests
            try:
                more = self._watched.take_news()
                is_new = self._wanted.is_set() and self._renderer.work()
            except (OSError, AssistLearnError) as error:
                if not _passes(error):
                    raise
                logger.warning("The page waits a second: %s", error)
                self._over.wait(AGAIN)
                continue
            if asked != self._answered and self._renderer.is_up_to_date:
                self._answered, is_new = asked, True
            if is_new:
                self._wake()
            elif not more:
                self._over.wait(LOOK)

    def _wake(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring)


def _passes(error: BaseException) -> bool:
    """Return whether an error comes of one of the system that passes.

    >>> _passes(OSError(errno.EMFILE, "Too many open files")), _passes(OSError(errno.EIO, "Input/output error"))
    (True, False)
    """
    while True:
        if isinstance(error, OSError) and error.errno in PASSING:
            return True
        if error.__cause__ is None:
            return False
        error = error.__cause__


# -- the application: the page, its script and style, and a stream of server-sent events for every watcher

MOST_WATCHERS = 100

FIRST = 10.0

BEAT = 5.0
"""Seconds without news after which a watcher is told that the connection still works."""

RETRY = 1000

SERVED = {"live.js": "text/javascript", "live.css": "text/css"}


def run_watch(watched: Watched, listening: socket.socket, token: str) -> None:
    """Show a run or an agent until Ctrl-C or SIGTERM; raise the error that ends the feed, if there is one."""
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
        return StreamingResponse(stream(feed), media_type="text/event-stream")

    async def served(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in SERVED:
            raise HTTPException(404)
        content = resources.files("assistlearn.web").joinpath("static", name).read_bytes()
        return Response(content, media_type=SERVED[name])

    routes = [Route("/", page), Route("/events", events), Route("/{name}", served)]
    headers = {**HEADERS, "content-security-policy": f"{live_policy()}; frame-ancestors 'none'"}
    return Gate(Starlette(routes=routes, lifespan=lifespan), Policy(token, in_path=True, headers=headers))


async def stream(feed: Feed) -> AsyncIterator[str]:
    """Yield the newest page whenever there is a newer one, until the feed is over."""
    with feed.watcher():
        yield f"retry: {RETRY}\n\n"
        number = 0
        while True:
            page = await feed.newest(number, BEAT)
            if feed.over:
                yield event("over", {})
                return
            if page.number == number:
                yield event("beat", {})
                continue
            number = page.number
            yield event("page", page.status.facts() | {"place": page.place, "title": page.title, "body": page.body})


def event(kind: str, facts: Mapping[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(facts)}\n\n"


def live_page(page: LivePage) -> str:
    facts = {"title": page.title, "status": page.status.facts(), "body": page.body}
    made = {"style": style_sheet(), "policy": live_policy(), "generator": f"assistlearn watch {__version__}"}
    return templates().get_template("live.html").render(**facts, **made)


@cache
def live_policy() -> str:
    own = policy(style_sheet()).replace("style-src ", "style-src 'self' ")
    return f"{own}; script-src 'self'; connect-src 'self'"


def section_of(template: str, title: str, **facts: Any) -> Section:
    return Section("now", title, html=templates().get_template(template).render(**facts))


@cache
def templates() -> Environment:
    """Return the templates, with those of the report. Values that are put into them are escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader("assistlearn.web"), PackageLoader("assistlearn.report")])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
