"""The live page: what is watched, its newest state, and the stream of changes to every watcher."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib import resources
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from assistlearn.errors import AssistLearnError
from assistlearn.release import __version__
from assistlearn.report.page import Frame, fragment, policy, style_sheet
from assistlearn.report.sections import Section
from assistlearn.web.access import HEADERS, HostGate, TokenGate
from assistlearn.web.server import WebServer

if TYPE_CHECKING:
    from jinja2 import Environment


# What can be watched: it reads news from a file that grows, and makes a top line and sections from them.


Condition: TypeAlias = Literal["waiting", "reading", "running", "resumed", "stopped", "ended", "gone"]
"""The condition of a run, or of an agent.

``waiting``: nothing happens yet. ``reading``: its file is not read to the end yet. ``running``: somebody works on it.
``resumed``: somebody works on it again. ``stopped``: nobody works on it. ``ended``: it is finished. ``gone``: it was
removed.
"""


@dataclass(frozen=True)
class HowItStands:
    """The line at the top of the page: the condition of what is watched.

    Attributes
    ----------
    condition : str
        In one word, for the script and the style.
    name : str
        In one or two words, for people.
    words : str
        In a sentence or two.
    last : datetime or None
        When the last event happened.
    """

    condition: Condition
    name: str
    words: str
    last: datetime | None = None


@dataclass(frozen=True)
class Draft:
    """A section of the page that can be drawn.

    Attributes
    ----------
    key : str
        The id of its element.
    content : hashable
        What it is made from. While this is the same, the section is not drawn again.
    draw : callable
        Returns the element as HTML.
    is_costly : bool
        Whether it has a picture, which takes a while.
    """

    key: str
    content: Hashable
    draw: Callable[[], str]
    is_costly: bool = False


class Watched(Protocol):
    """A run or an agent that can be watched. Only one thread calls its methods."""

    @property
    def place(self) -> int:
        """The byte in the log, or ledger, up to which it was read."""
        ...

    @property
    def generation(self) -> int:
        """How often another log has taken the place of the one that was read. Then the whole page is drawn anew."""
        ...

    def take_news(self) -> bool:
        """Read the next piece of the log; return whether there may be more at once."""
        ...

    def mark(self) -> Hashable:
        """Return a value that changes as soon as there is something new to show."""
        ...

    def standing(self) -> HowItStands:
        """Return the line at the top of the page."""
        ...

    def frame(self) -> Frame:
        """Return the title, the heading and the paragraphs around the sections. They change with the generation."""
        ...

    def drafts(self) -> list[Draft]:
        """Return the sections in their order. To make drafts costs little; to draw them may cost more."""
        ...


# The live page at one time. It is the same for all watchers.


@dataclass(frozen=True)
class Drawn:
    """A section as it was drawn.

    Attributes
    ----------
    html : str
        The HTML element.
    content : hashable
        What the section was made from.
    changed : int
        How many bytes of the log were read when it was drawn.
    """

    html: str
    content: Hashable
    changed: int

    @cached_property
    def version(self) -> str:
        """A digest, by which the page recognises a section that it shows already."""
        return hashlib.sha256(self.html.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PageState:
    """The page at one time.

    Attributes
    ----------
    number : int
        The number of this state. Every new state has the next number.
    log : int
        The number of the log. It changes when another log takes the place of this one.
    place : int
        How many bytes of the log were read for this state.
    standing : HowItStands
        The line at the top of the page.
    frame : Frame
        The title, the heading and the paragraphs around the sections.
    sections : mapping from str to Drawn
        The sections by key, in their order.
    """

    number: int
    log: int
    place: int
    standing: HowItStands
    frame: Frame
    sections: Mapping[str, Drawn] = field(default_factory=lambda: MappingProxyType({}))

    def since(self, place: int) -> dict[str, Drawn]:
        """Return the sections that may have changed since the page was at a place."""
        return {key: drawn for key, drawn in self.sections.items() if drawn.changed >= place}

    def other_than(self, known: Mapping[str, str]) -> dict[str, Drawn]:
        """Return the sections whose versions differ from the known ones."""
        return {key: drawn for key, drawn in self.sections.items() if known.get(key) != drawn.version}

    @property
    def versions(self) -> dict[str, str]:
        """The versions of all sections."""
        return {key: drawn.version for key, drawn in self.sections.items()}


# Draw the sections of a page: those without a picture at once, pictures one by one in a thread of their own.
#
# There is a pause between two drawings. News is read while a picture is drawn.


OFTEN = 0.25
"""Seconds between two drawings of sections without a picture, at least."""

REST = 3.0
"""The pause after a picture, as a multiple of the time that it took: a run on this machine comes first."""


@dataclass(frozen=True)
class _UnderWay:
    """A picture that is being drawn: of what, for which log, since when."""

    draft: Draft
    log: int
    began: float
    html: Future[str]


class Drawing:
    """The newest page of something that is watched.

    Parameters
    ----------
    watched : Watched
        A run or an agent.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(self, watched: Watched, clock: Callable[[], float] = monotonic) -> None:
        self._watched = watched
        self._clock = clock
        self._mark: Hashable = None
        self._pending: dict[str, Draft] = {}
        self._order: tuple[str, ...] = ()
        self._due = self._due_picture = 0.0
        self._under_way: _UnderWay | None = None
        self._artist = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pictures")
        self.state = PageState(0, watched.generation, 0, watched.standing(), watched.frame())

    @property
    def is_whole(self) -> bool:
        """Whether the page shows the newest event. Pictures may still be older."""
        return self._mark == self._watched.mark() and all(key in self.state.sections for key in self._order)

    def draw(self) -> bool:
        """Draw the sections that are due; return whether the page has changed."""
        now, mark = self._clock(), self._watched.mark()
        if mark != self._mark and now >= self._due:
            self._draw_at_once(self._watched.drafts())
            self._mark, self._due = mark, now + OFTEN
            return True
        taken = self._take_picture(now)
        if self._under_way is None:
            self._begin_picture(now)
        return taken

    def close(self) -> None:
        """End the thread that draws pictures, once its present picture is done."""
        self._artist.shutdown()

    def _draw_at_once(self, drafts: list[Draft]) -> None:
        watched, before = self._watched, self.state
        known = before.sections if before.log == watched.generation else {}
        self._order = tuple(draft.key for draft in drafts)
        changed = [draft for draft in drafts if draft.key not in known or known[draft.key].content != draft.content]
        self._pending = {draft.key: draft for draft in changed if draft.is_costly}
        drawn = {each.key: self._drawn(each, each.draw()) for each in changed if not each.is_costly}
        page = replace(before, log=watched.generation, place=watched.place, standing=watched.standing())
        self._show(replace(page, frame=watched.frame()), {**known, **drawn})

    def _begin_picture(self, now: float) -> None:
        """Begin to draw the oldest picture. A picture that was never drawn comes first, without a pause."""
        shown = self.state.sections
        ready = [key for key in self._pending if key not in shown or now >= self._due_picture]
        if ready:
            draft = self._pending.pop(min(ready, key=lambda key: shown[key].changed if key in shown else -1))
            self._under_way = _UnderWay(draft, self.state.log, now, self._artist.submit(draft.draw))

    def _take_picture(self, now: float) -> bool:
        """Put the picture into the page, if it is done; return whether the page has changed."""
        made = self._under_way
        if made is None or not made.html.done():
            return False
        self._under_way, self._due_picture = None, now + REST * (now - made.began)
        key, html = made.draft.key, made.html.result()
        newer = self._pending.get(key)
        if newer is not None and newer.content == made.draft.content:
            del self._pending[key]
        if made.log != self.state.log:
            return False
        self._show(self.state, {**self.state.sections, key: self._drawn(made.draft, html)})
        return True

    def _drawn(self, draft: Draft, html: str) -> Drawn:
        return Drawn(html, draft.content, self._watched.place)

    def _show(self, page: PageState, sections: dict[str, Drawn]) -> None:
        ordered = {key: sections[key] for key in self._order if key in sections}
        self.state = replace(page, number=self.state.number + 1, sections=MappingProxyType(ordered))


# Follow a run or an agent in a thread of its own, and give all watchers the newest page.
#
# All watchers share one state of the page, the newest. A slow watcher gets the newest state when it asks for more; the
# states in between are not kept. So memory grows neither with the length of a run nor with slow watchers. Nothing is
# drawn while nobody watches.


logger = logging.getLogger("assistlearn.web")

PASSING = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EINTR)
"""Errors of the system that pass: too many files are open just now."""

AGAIN = 1.0
"""Seconds after which something is tried again that failed by such an error."""

LOOK = 0.05
"""Seconds between two looks at a log that has not grown."""


class Feed:
    """Reads news, draws the page and wakes the watchers, in a thread of its own.

    Parameters
    ----------
    watched : Watched
        A run or an agent.
    failed : callable, optional
        Called from that thread with the error that ends it.
    """

    def __init__(self, watched: Watched, failed: Callable[[BaseException], object] = lambda error: None) -> None:
        self._watched = watched
        self._failed = failed
        self._drawing = Drawing(watched)
        self._watchers = 0
        self._requests = self._fresh = 0
        self._wanted = threading.Event()
        self._over = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bell = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="feed", daemon=True)

    # -- in the server's loop

    def start(self) -> None:
        """Start the thread. Call this in the loop of the server."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Make the thread end, and wake all watchers that wait for news."""
        self._over.set()
        self._wanted.set()
        self._ring()

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    @property
    def over(self) -> bool:
        """Whether there will be no more news."""
        return self._over.is_set()

    @contextmanager
    def watcher(self) -> Iterator[None]:
        """Count one more watcher inside the ``with`` block. The page is drawn only while there is a watcher."""
        self._watchers += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._watchers -= 1
            if not self._watchers and not self.over:
                self._wanted.clear()

    @property
    def n_watchers(self) -> int:
        """How many watch now."""
        return self._watchers

    async def current(self, seconds: float) -> PageState:
        """Return the page as it is now. If that takes longer than ``seconds``, return the last page that was drawn."""
        self._requests = wanted = self._requests + 1
        end = monotonic() + seconds
        with self.watcher():
            while self._fresh < wanted and not self.over and (left := end - monotonic()) > 0.0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._bell.wait(), left)
        return self._drawing.state

    async def newest(self, beyond: int, seconds: float) -> PageState:
        """Return the newest state. Wait up to ``seconds`` for a state with a higher number than ``beyond``."""
        bell = self._bell
        if self._drawing.state.number <= beyond and not self.over:
            with suppress(TimeoutError):
                await asyncio.wait_for(bell.wait(), seconds)
        return self._drawing.state

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    # -- in the thread

    def _work(self) -> None:
        try:
            self._follow()
        except BaseException as error:
            self._failed(error)
            self._over.set()
            self._tell()
        finally:
            self._drawing.close()

    def _follow(self) -> None:
        while not self.over:
            asked = self._requests
            try:
                more = self._watched.take_news()
                drew = self._wanted.is_set() and self._drawing.draw()
            except (OSError, AssistLearnError) as error:
                if not passes(error):
                    raise
                logger.warning("The page waits a second: %s", error)
                self._over.wait(AGAIN)
                continue
            if self._drawing.is_whole and asked != self._fresh:
                self._fresh = asked
                drew = True
            if drew:
                self._tell()
            elif not more:
                self._over.wait(LOOK)

    def _tell(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring)


def passes(error: BaseException) -> bool:
    """Return whether an error comes of one of the system that passes.

    >>> passes(OSError(errno.EMFILE, "Too many open files")), passes(OSError(errno.EIO, "Input/output error"))
    (True, False)
    """
    while True:
        if isinstance(error, OSError) and error.errno in PASSING:
            return True
        if error.__cause__ is None:
            return False
        error = error.__cause__


# The stream of one watcher: server-sent events with what has changed since the place in the log that it knows.
#
# The id of every event is the byte offset in the log up to which the page is drawn. A watcher that lost its connection
# comes back with the last id. Sections that changed at that very place are sent again, because a section may have been
# drawn since then without a new event. Every section has a version, so that the page skips those that it shows
# already.


BEAT = 5.0
"""Seconds without news after which a watcher is told that the connection still works."""

RETRY = 1000
"""Milliseconds after which a browser tries again."""


async def stream(feed: Feed, log: int, place: int) -> AsyncIterator[str]:
    """Yield events until the feed is over, or another log has taken the place of the one that the watcher knows.

    Parameters
    ----------
    feed : Feed
        What is watched.
    log, place : int
        The number of the log that the watcher's page shows, and how many of its bytes the page shows.
    """
    with feed.watcher():
        yield f"retry: {RETRY}\n\n"
        known: dict[str, str] | None = None
        number = 0
        while True:
            state = await feed.newest(number, BEAT)
            if feed.over:
                yield event("over", {})
                return
            if state.log != log:
                yield event("anew", {})
                return
            if state.number == number:
                yield event("beat", {})
                continue
            changed = state.since(place) if known is None else state.other_than(known)
            known = state.versions
            number = state.number
            yield event("page", told(state, changed), state.place)


def event(kind: str, facts: Mapping[str, Any], place: int | None = None) -> str:
    r"""Return the text of a server-sent event.

    >>> event("page", {"state": "running"}, 120)
    'id: 120\nevent: page\ndata: {"state": "running"}\n\n'
    """
    head = "" if place is None else f"id: {place}\n"
    return f"{head}event: {kind}\ndata: {json.dumps(facts)}\n\n"


def told(state: PageState, changed: Mapping[str, Drawn]) -> dict[str, Any]:
    """Return what the page is told: its top line, the keys of its sections, and the sections that have changed."""
    return {
        **told_standing(state.standing, datetime.now(UTC)),
        "order": list(state.sections),
        "sections": {key: {"version": drawn.version, "html": drawn.html} for key, drawn in changed.items()},
    }


def told_standing(standing: HowItStands, now: datetime) -> dict[str, Any]:
    """Return the top line for the page. It says how long ago the last event was, as the browser's clock may differ."""
    quiet = None if standing.last is None else max((now - standing.last).total_seconds(), 0.0)
    return {
        "condition": standing.condition,
        "name": standing.name,
        "words": standing.words,
        "quiet": quiet,
        "now": now.timestamp(),
    }


# The live page: the report's own page, with a line on how things stand, and a script that keeps it up to date.


def live_page(state: PageState) -> str:
    """Return the page with all sections of a state. Its script asks for later changes."""
    return (
        templates()
        .get_template("live.html")
        .render(
            **vars(state.frame),
            style=style_sheet(),
            policy=live_policy(),
            generator=f"assistlearn watch {__version__}",
            log=state.log,
            place=state.place,
            versions=state.versions,
            standing=told_standing(state.standing, datetime.now(UTC)),
            sections=(),
            drawn=[Markup(drawn.html) for drawn in state.sections.values()],  # noqa: S704 - made by templates
        )
    )


@cache
def live_policy() -> str:
    """Return the content security policy: as that of the report, and a script, a style and a stream of this server."""
    own = policy(style_sheet()).replace("style-src ", "style-src 'self' ")
    return f"{own}; script-src 'self'; connect-src 'self'"


def draft(key: str, template: str, **facts: Any) -> Draft:
    """Return a section that one of the templates here makes of some facts."""
    html = templates().get_template(template).render(**facts).strip()
    return Draft(key, html, lambda: html)


def draft_of(section: Section) -> Draft:
    """Return a section of the report. It is drawn again if its texts, its tables or the label of its picture change."""
    picture = section.picture
    content = section if picture is None else (replace(section, picture=None), picture.label)
    return Draft(section.key, content, lambda: fragment(section), is_costly=picture is not None)


@cache
def templates() -> Environment:
    """Return the templates, with those of the report. Values that are put into them are escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader("assistlearn.web"), PackageLoader("assistlearn.report")])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)


# The live page as an application: the page itself, its script and style, and a stream for every watcher.


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
