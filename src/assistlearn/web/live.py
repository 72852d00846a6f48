"""The live page: one thread reads news and renders the report, and every watcher is sent the newest page whole."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, Literal, Protocol, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from assistlearn import events as e
from assistlearn.agent.file import load_description
from assistlearn.errors import AssistLearnError, RunError
from assistlearn.evaluation.words import TITLES, counted
from assistlearn.initiator.folder import RunFolder, somebody_works
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import type_of
from assistlearn.protocol.ledger import Entry, entry_on
from assistlearn.release import __version__
from assistlearn.report.helper import helper_sections, helper_view
from assistlearn.report.page import Frame, PagePicture, PageTable, Section, body, policy, style_sheet, templates
from assistlearn.report.run import frame_of, sections_of
from assistlearn.report.story import State, Story, View, people_in_words, subject_of, take_folder
from assistlearn.storage import GrowingFile
from assistlearn.web.server import HEADERS, Gate, Policy, WebServer

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
    """A run or an agent that can be watched. Only one thread calls its methods.

    ``place`` is the byte in its log, or ledger, up to which it was read; ``generation`` counts how often another log
    has taken the place of the one that was read. Only the pictures of its sections are drawn later.
    """

    @property
    def place(self) -> int: ...

    @property
    def generation(self) -> int: ...

    def take_news(self) -> bool:
        """Read the next piece of the log; return whether there may be more at once."""
        ...

    def mark(self) -> Hashable:
        """Return a value that changes as soon as there is something new to show."""
        ...

    def status(self) -> Status: ...

    def frame(self) -> Frame: ...

    def sections(self) -> Sequence[Section]: ...


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
    return templates("assistlearn.web").get_template("live.html").render(**facts, **made)


@cache
def live_policy() -> str:
    own = policy(style_sheet()).replace("style-src ", "style-src 'self' ")
    return f"{own}; script-src 'self'; connect-src 'self'"


def section_of(template: str, title: str, **facts: Any) -> Section:
    return Section("now", title, html=templates("assistlearn.web").get_template(template).render(**facts))


# -- what can be watched: a run, from before it exists until it is removed

LATEST_FACTS = 10

PATIENCE = 1.5
"""Seconds after which a run that nobody works on counts as stopped: between two commands nobody works on it."""

FOLDER = 5.0
"""Seconds between two readings of the folder of a run that has ended. Each reads the ledger, too."""

ENDING = 0.5
"""Seconds between the end of a run and the reading of its folder, so that watchers see the end first."""

STATES: dict[Condition, State] = {"running": "going on", "resumed": "going on", "ended": "finished"}


class LiveRun:
    """A run that is watched, by reading its folder, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._folder = RunFolder(path)
        self.generation = 0
        self._begin_anew("waiting")
        self._find()

    def _begin_anew(self, condition: Condition) -> None:
        self._log = GrowingFile(self._folder.events)
        self._story: Story | None = None
        self._latest: deque[e.Recorded] = deque(maxlen=LATEST_FACTS)
        self._last: datetime | None = None
        self._all_read = False
        self._condition = condition
        self._at_work = monotonic()
        self._was_stopped = False
        self._taken: int | None = None
        self._took = -FOLDER
        self._unread = False

    def _find(self) -> None:
        try:
            self._story = Story(subject_of(self._folder.settings())) if self._folder.exists else None
        except RunError:
            if self._folder.exists:
                raise  # otherwise the run was removed just now

    @property
    def place(self) -> int:
        return self._log.place

    # reading

    def take_news(self) -> bool:
        """Read the next piece of the log, or the folder of an ended run; return whether there may be more at once."""
        if self._story is None:
            self._find()
            if self._story is None:
                return False
        elif not self._folder.exists:
            self.generation += 1
            self._begin_anew("gone")
            return False
        before, lines = self._log.generation, self._log.lines()
        if self._log.generation != before:  # another run has taken its place, between two looks
            self.generation += 1
            self._begin_anew("waiting")
            return True
        for number, (_, line) in enumerate(lines, start=self._log.number - len(lines) + 1):
            recorded = e.recorded_on(line, f"{self._log.path}, line {number}", strict=False)
            self._story.feed(recorded)
            self._latest.append(recorded)
            self._last = recorded.time or self._last
        self._all_read = self._all_read or not lines
        was, self._condition = self._condition, self._found_condition(self._story)
        if was in STATES and was != self._condition == "ended":
            self._took = monotonic() - FOLDER + ENDING
        if not lines and self._condition == "ended":
            self._take_folder(self._story)
        return bool(lines)

    def _found_condition(self, story: Story) -> Condition:
        if not self._all_read:
            return "reading"
        if (self._folder.path / ("worth.json" if story.subject.is_pilot else "result.json")).exists():
            return "ended"
        now = monotonic()
        if somebody_works(self._folder.path):
            self._at_work = now
            return "resumed" if self._was_stopped else "running"
        if now < self._at_work + PATIENCE and self._condition in ("running", "resumed"):
            return self._condition
        self._was_stopped = self._log.number > 0
        return "stopped" if self._was_stopped else "waiting"

    def _take_folder(self, story: Story) -> None:
        """Read what is written to the folder at the end; read it again when the log has grown since."""
        if self._taken == self.place or monotonic() < self._took + FOLDER:
            return
        try:
            take_folder(story, self._folder)
            self._unread = False
        except (AssistLearnError, OSError):
            self._unread = True
        self._taken, self._took = self.place, monotonic()

    # showing

    def mark(self) -> Hashable:
        return self.generation, self.place, self._condition, self._story is None, self._taken

    def status(self) -> Status:
        return Status(self._condition, self._condition, self._words(), self._last)

    def _words(self) -> str:
        if self._condition == "gone":
            return "The run was forgotten, or failed before its first turn: nothing of it is kept."
        if self._story is None:
            return "There is no run yet. It is shown as soon as it begins."
        if self._condition == "waiting":
            return "The run is set up, and nothing has happened yet."
        if self._condition == "reading":
            return f"What has happened so far is being read: {self._log.number:,} facts."
        view = self._view(self._story)
        if self._condition == "ended":
            unread = " What its folder holds cannot be read; 'assistlearn show' says why." if self._unread else ""
            return (f"It stopped because: {view.stop_reason}." if view.stop_reason else "Training is over.") + unread
        taken = f"{counted(view.rounds_done, 'round')} and {counted(view.turns, 'turn')} are done."
        if self._condition == "stopped":
            return f"Nobody works on it. {taken}"
        waits = view.waiting_for
        return taken if waits is None else f"{taken} Waiting for {waits}."

    def _view(self, story: Story) -> View:
        return story.view(STATES.get(self._condition, "stopped"))

    def frame(self) -> Frame:
        if self._story is None:
            name = self._folder.path.name
            return Frame(title=name, kicker=f"Folder {name}", heading="Waiting for a run")
        frame = frame_of(self._view(self._story))
        return replace(frame, kicker=frame.kicker.rpartition(":")[0])  # the line at the top says how it stands

    def sections(self) -> list[Section]:
        """Return what happens now, and the sections of the report; once the run has ended, the answer comes first."""
        if self._story is None:
            return []
        view, over = self._view(self._story), self._condition == "ended"
        facts = [(each.time, fact_in_words(each.event, view.subject.metric)) for each in reversed(self._latest)]
        told = {"view": view, "n_facts": self._log.number, "facts": facts, "over": over}
        now = section_of("run_now.html", "What happened" if over else "Now", **told)
        report = sections_of(view)
        return [*report, now] if over else [now, *report]


def fact_in_words(event: e.Event, metric: str) -> str:
    """Return what happened, in a few words; ``metric`` leads in this run. Texts of others may name files or values."""
    match event:
        case e.RoundFinished():
            return _round_in_words(event, metric)
        case e.TurnFinished(contribution=None):
            return f"Turn {event.turn}: {event.agent} sat out."
        case e.RunGoesOn():
            return people_in_words(event)
        case e.JobStarted():
            return f"A job was started with {', '.join(event.sites)}."
    unknown = f"Something that this release does not know: {type(event).__name__}."
    return IN_WORDS.get(type(event), unknown).format_map(vars(event))


def _round_in_words(event: e.RoundFinished, metric: str) -> str:
    if metric != "accuracy" and event.metric is not None:
        return f"Round {event.round} is over: on the hold-out samples, {TITLES[metric]} is {event.metric:.3f}."
    if event.holdout_accuracy is not None:
        return f"Round {event.round} is over: {100 * event.holdout_accuracy:.1f} % of the hold-out samples are right."
    loss = "" if event.loss is None else f": the loss of the combination is {event.loss:.3f}"
    return f"Round {event.round} is over{loss}."


IN_WORDS: dict[type[e.Event], str] = {
    e.Asked: "{agent} was sent {type} ({bytes:,} bytes).",
    e.Answered: "{agent} answered {type} ({bytes:,} bytes) after {seconds:.1f} s.",
    e.TroubleMet: "Something did not work, and is tried again.",
    e.SamplesMatched: "{agent} holds {n_held:,} of {n_asked:,} samples.",
    e.SamplesSettled: "The samples are settled: {n_samples:,} to train on, {n_holdout:,} held out.",
    e.SamplesDone: "{done:,} of {total:,} samples are done with {agent}.",
    e.SamplesOpened: (
        "{n_opened:,} of {n_pool:,} samples are opened: gain {gain:.3f}, from {lower:.3f} to {upper:.3f}."
    ),
    e.TurnFinished: "Turn {turn}: {agent} has made a model, with weight {model_weight:.3f}.",
    e.AgentLeft: "The run goes on without {agent} from turn {turn} on.",
    e.LabelsTold: "Helpers are told {n_samples:,} labels changed at random, epsilon {epsilon:g}.",
    e.CombinationLearned: "How to combine the scores of {n_rounds} rounds is learned: {kind}.",
    e.AloneBegan: "The initiator trains alone, to compare.",
    e.ResultJudged: "The result is judged on {n_samples:,} hold-out samples.",
    e.RunFinished: "Training is over: {reason}.",
    e.Predicted: "{n_samples:,} samples were predicted.",
    e.RunForgotten: "The agents were asked to forget the run.",
}


# -- what can be watched: an agent at its own site

MOST_RUNS = 50

LATEST_TURNS = 12

QUIET = 1.0
"""Seconds without news before the agent's store is read."""

REREAD = 10.0
"""Seconds between two readings of the store, at least."""

CONSENT = frozenset(type_of(kind) for kind in (m.Propose, m.Consent))
REQUESTS = frozenset(type_of(kind) for kind in m.REQUESTS) - CONSENT
ENDINGS = {type_of(m.Ended): "trained", type_of(m.Forgotten): "forgotten"}


class LiveAgent:
    """An agent that is watched at its own site, by reading its ledger as it grows."""

    def __init__(self, file: Path) -> None:
        self._agent = load_description(file)
        self._ledger = GrowingFile(self._agent.models / "ledger.jsonl")
        self._story = AgentStory()
        self._all_read = False
        self._report: list[Section] = []
        self._unread = False
        self._news = monotonic()
        self._read, self._read_place = -REREAD, 0

    @property
    def place(self) -> int:
        return self._ledger.place

    @property
    def generation(self) -> int:
        return self._ledger.generation

    def take_news(self) -> bool:
        """Read the next piece of the ledger; return whether there was any."""
        before, lines = self.generation, self._ledger.lines()
        if self.generation != before:
            self._story = AgentStory()
        for number, (_, line) in enumerate(lines, start=self._ledger.number - len(lines) + 1):
            self._story.feed(entry_on(line, f"{self._ledger.path}, line {number}"))
        self._all_read = self._all_read or not lines
        if lines:
            self._news = monotonic()
        else:
            self._read_report()
        return bool(lines)

    def _read_report(self) -> None:
        """Make the sections of the report again when nobody asks. To read a large store takes seconds."""
        now = monotonic()
        busy = self._story.at_work or now < self._news + QUIET or now < self._read + REREAD
        if busy or self.place == self._read_place:
            return
        try:
            sections = helper_sections(helper_view(self._agent))
            self._report, self._unread = [each for each in sections if each.key != "asked"], False
        except (AssistLearnError, OSError):
            self._unread = True
        self._read, self._read_place = monotonic(), self.place

    def mark(self) -> Hashable:
        return self.generation, self.place, self._all_read, self._read

    def status(self) -> Status:
        story = self._story
        if not self._all_read:
            return Status("reading", "reading", "What has happened so far is being read.", story.last)
        if story.at_work:
            askers = sorted({run.asker for run in story.at_work})
            return Status("running", "at work", f"For {' and '.join(askers)}.", story.last)
        words = "For the next request." if story.answered is not None else "For the first request."
        if self._unread:
            words += " What its store holds cannot be read; 'assistlearn report' says why."
        return Status("waiting", "waiting", words, story.last)

    def frame(self) -> Frame:
        name = self._agent.name
        return Frame(
            title=f"{name}: who asks for help?",
            kicker=f"Agent {name}, at its own site",
            heading=f"Who asks {name} for help?",
            intro=(f"All of this is in {name}'s own ledger and store. Nobody else is asked.",),
            closing=("It holds names of agents and runs, times and sizes; no ids, no values and no names of columns.",),
        )

    def sections(self) -> list[Section]:
        now = section_of("agent_now.html", "Now", name=self._agent.name, story=self._story)
        return [now, _askers(self._story), _turns(self._story), *self._report]


@dataclass(slots=True)
class RunAsked:
    asker: str
    run: str
    first: datetime
    last: datetime
    turns: int = 0
    votes: int = 0
    refused: int = 0
    received: int = 0
    sent: int = 0
    state: str = "training"
    request: Entry | None = None


@dataclass
class AgentStory:
    """Takes the entries of an agent's ledger one by one, and keeps what the live page shows about them.

    An entry costs as much at the end of a ledger as at its beginning. Memory grows only with the number of runs (by
    asker and name, the latest last): one that is no longer listed keeps its figures, for it may speak again. ``turns``
    are the last requests for one, each with its answer, if there is one. ``asks`` counts requests sent as an initiator,
    ``turned_away`` messages refused unread.
    """

    runs: dict[tuple[str, str], RunAsked] = field(default_factory=dict)
    turns: deque[list[Entry]] = field(default_factory=lambda: deque(maxlen=LATEST_TURNS))
    last: datetime | None = None
    answered: datetime | None = None
    asks: int = 0
    turned_away: int = 0

    @property
    def listed(self) -> list[RunAsked]:
        return list(islice(reversed(self.runs.values()), MOST_RUNS))

    @property
    def at_work(self) -> list[RunAsked]:
        return [run for run in self.listed if run.request is not None]

    def feed(self, entry: Entry) -> None:
        """Take one more entry. Requests for the owner's consent, and the answers, are no part of a run."""
        time = self.last = datetime.fromisoformat(entry.time)
        if entry.type in CONSENT:
            return
        is_request = entry.type in REQUESTS
        if entry.direction == "refused":
            self.turned_away += 1
        elif entry.direction == "received" and is_request:
            self._take_request(entry, time)
        elif entry.direction == "sent" and not is_request:
            self._take_answer(entry, time)
        elif entry.direction == "sent":
            self.asks += 1

    def _take_request(self, entry: Entry, time: datetime) -> None:
        run = self._run(entry, time)
        run.request = entry
        run.received += entry.bytes
        run.state = "training" if entry.type == type_of(m.Open) else run.state
        if entry.type in (type_of(m.TakeTurn), type_of(m.TakeAgain)):
            run.turns += entry.amount or 0
            self.turns.append([entry])
        elif entry.type == type_of(m.Predict):
            run.votes += entry.amount or 0

    def _take_answer(self, entry: Entry, time: datetime) -> None:
        self.answered = time
        if not entry.run:
            return  # an answer to a message that could not be read
        run = self._run(entry, time)
        run.request = None
        run.sent += entry.bytes
        run.state = ENDINGS.get(entry.type, run.state)
        run.refused += entry.type == type_of(m.Problem)
        for turn in self.turns:
            if len(turn) == 1 and (turn[0].peer, turn[0].run) == (entry.peer, entry.run):
                turn.append(entry)

    def _run(self, entry: Entry, time: datetime) -> RunAsked:
        key = entry.peer, entry.run
        run = self.runs.pop(key) if key in self.runs else RunAsked(*key, time, time)
        self.runs[key] = run
        run.last = time
        return run


def _askers(story: AgentStory) -> Section:
    counts = ("turns", "votes asked", "refused", "bytes in", "bytes out")
    columns = ("who asks", "run", "since (UTC)", "last (UTC)", *counts, "state")
    rows = tuple(
        (
            *(run.asker, run.run, f"{run.first:{TIME}}", f"{run.last:{TIME}}"),
            *(f"{count:,}" for count in (run.turns, run.votes, run.refused, run.received, run.sent)),
            run.state,
        )
        for run in story.listed
    )
    n_runs, older = len(story.runs), len(story.runs) - len(rows)
    words = [f"{counted(n_runs, 'run')} in which help was asked for." if rows else "Nobody has asked yet."]
    words += [f"Not listed: {counted(older, 'older one')}."] if older else []
    words += [f"It has itself sent {counted(story.asks, 'request')} to others."] if story.asks else []
    tables = (PageTable("Runs, the latest first", columns, rows, words=(1, 9)),) if rows else ()
    return Section("askers", "Who asks", tuple(words), tables=tables)


def _turns(story: AgentStory) -> Section:
    columns = ("asked (UTC)", "by", "run", "turn", "answered after", "bytes out")
    rows = []
    for asked, *answer in reversed(story.turns):
        begun = datetime.fromisoformat(asked.time)
        outcome = ("at work", "-")
        for each in answer:
            seconds = (datetime.fromisoformat(each.time) - begun).total_seconds()
            outcome = (f"{seconds:.2f} s", f"{each.bytes:,}")
        rows.append(
            (f"{begun:{TIME}}", asked.peer, asked.run, "-" if asked.turn is None else str(asked.turn), *outcome)
        )
    if not rows:
        return Section("turns", "Its turns", ("No turn was asked for yet.",))
    table = PageTable("The last turns, the latest first", columns, tuple(rows), words=(1, 2))
    return Section("turns", "Its turns", tables=(table,))


TIME = "%Y-%m-%d %H:%M:%S"
