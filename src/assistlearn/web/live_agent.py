"""An agent that is watched at its own site: who asks it, its turns, and since when it waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from time import monotonic

from assistlearn.agent.file import AgentDescription, load_description
from assistlearn.errors import AssistLearnError
from assistlearn.evaluation.words import counted
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import Entry, entry_on
from assistlearn.protocol.messages import type_of
from assistlearn.report.helper import helper_sections, helper_view
from assistlearn.report.page import Frame
from assistlearn.report.sections import PageTable, Section
from assistlearn.storage.files import GrowingFile
from assistlearn.web.live import Draft, HowItStands, draft, draft_of

# What an agent does, read from its own ledger: who asks it for what, its turns, and since when it waits or works.
#
# An entry costs as much at the end of a ledger as at its beginning. Memory grows only with the number of runs: a run
# that is no longer listed keeps its figures, for it may speak again.


MOST_RUNS = 50
"""How many runs are listed: those with the latest messages."""

LATEST = 12
"""How many turns are listed."""

CONSENT = frozenset(type_of(kind) for kind in (m.Propose, m.Consent))
REQUESTS = frozenset(type_of(kind) for kind in m.REQUESTS) - CONSENT
ENDINGS = {type_of(m.Ended): "trained", type_of(m.Forgotten): "forgotten"}


@dataclass(frozen=True)
class TurnAsked:
    """A turn: who asked for it and when, when it was answered, and with how many bytes."""

    asker: str
    run: str
    turn: int | None
    asked: datetime
    answered: datetime | None = None
    bytes: int = 0

    @property
    def seconds(self) -> float | None:
        """How many seconds the turn took; None while it is not answered."""
        return None if self.answered is None else (self.answered - self.asked).total_seconds()


@dataclass(slots=True)
class RunAsked:
    """A run in which somebody asks this agent for help.

    Attributes
    ----------
    asker, run : str
        The agent that asks, and the name of its run.
    first, last : datetime
        When the first and the last message came or went.
    turns, votes, refused : int
        How many turns, and how many votes, were asked for; how many requests were refused.
    received, sent : int
        How many bytes came in, and how many went out.
    state : str
        Whether the run is in training, is trained or is forgotten.
    """

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


@dataclass
class AgentStory:
    """Takes the entries of an agent's ledger one by one, and keeps what the live page shows about them.

    Attributes
    ----------
    runs : dict
        The runs that are listed, by asker and name. The run with the latest message is the last.
    older : dict
        The other runs in which the agent was asked.
    turns : deque of TurnAsked
        The latest turns.
    at_work : dict
        The requests that were not answered yet, by asker and run, with their times.
    last, answered : datetime or None
        When the last entry was written, and when the agent last gave an answer.
    asks : int
        How many requests the agent has sent to others, as an initiator.
    turned_away : int
        How many messages were refused unread.
    """

    runs: dict[tuple[str, str], RunAsked] = field(default_factory=dict)
    older: dict[tuple[str, str], RunAsked] = field(default_factory=dict)
    turns: deque[TurnAsked] = field(default_factory=lambda: deque(maxlen=LATEST))
    at_work: dict[tuple[str, str], tuple[Entry, datetime]] = field(default_factory=dict)
    last: datetime | None = None
    answered: datetime | None = None
    asks: int = 0
    turned_away: int = 0

    @property
    def n_runs(self) -> int:
        """How many runs there were in all."""
        return len(self.runs) + len(self.older)

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
        self.at_work[entry.peer, entry.run] = entry, time
        run = self._run(entry, time)
        run.received += entry.bytes
        run.state = "training" if entry.type == type_of(m.Open) else run.state
        if entry.type in (type_of(m.TakeTurn), type_of(m.TakeAgain)):
            run.turns += entry.amount or 0
            self.turns.append(TurnAsked(entry.peer, entry.run, entry.turn, time))
        elif entry.type == type_of(m.Predict):
            run.votes += entry.amount or 0

    def _take_answer(self, entry: Entry, time: datetime) -> None:
        self.answered = time
        if not entry.run:
            return  # an answer to a message that could not be read
        self.at_work.pop((entry.peer, entry.run), None)
        run = self._run(entry, time)
        run.sent += entry.bytes
        run.state = ENDINGS.get(entry.type, run.state)
        run.refused += entry.type == type_of(m.Problem)
        for place, turn in enumerate(self.turns):
            if turn.answered is None and (turn.asker, turn.run) == (entry.peer, entry.run):
                self.turns[place] = replace(turn, answered=time, bytes=entry.bytes)

    def _run(self, entry: Entry, time: datetime) -> RunAsked:
        key = entry.peer, entry.run
        run = self.runs.pop(key, None) or self.older.pop(key, None) or RunAsked(entry.peer, entry.run, time, time)
        run.last = time
        self.runs[key] = run
        while len(self.runs) > MOST_RUNS:
            oldest = next(iter(self.runs))
            self.older[oldest] = self.runs.pop(oldest)
            self.at_work.pop(oldest, None)
        return run


# Sections of a helper's report, for its live page. They are made in a thread of their own while nobody asks it.
#
# To read a large store takes seconds, and the page must not wait for that.


QUIET = 1.0
"""Seconds without news before the store is read."""

AGAIN = 10.0
"""Seconds between two readings, at least."""

SHOWN_LIVE = {"asked"}
"""Sections that say what the live page says already."""


class ReportBehind:
    """The sections of an agent's report, made again when there is news and the agent is not at work.

    Parameters
    ----------
    agent : AgentDescription
        The description in the agent's file.

    Attributes
    ----------
    sections : tuple of Section
        The sections as they were last made.
    number : int
        How often the store was read, with or without success.
    unread : bool
        Whether the store, or the ledger, could not be read the last time.
    """

    def __init__(self, agent: AgentDescription) -> None:
        self._agent = agent
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="report")
        self._reading: Future[tuple[Section, ...] | None] | None = None
        self._place, self._news, self._read = 0, 0.0, -AGAIN
        self._read_place = 0
        self.sections: tuple[Section, ...] = ()
        self.number = 0
        self.unread = False

    def look(self, place: int, at_work: bool) -> None:
        """Take sections that are done. Begin to make them again if there is news and the agent is not at work."""
        now = monotonic()
        if place != self._place:
            self._place, self._news = place, now
        if self._reading is not None and self._reading.done():
            made, self._reading, self._read = self._reading.result(), None, now
            self.unread = made is None
            self.sections = self.sections if made is None else made
            self.number += 1
        quiet = not at_work and now >= self._news + QUIET and now >= self._read + AGAIN
        if quiet and self._reading is None and place != self._read_place:
            self._read_place = place
            self._reading = self._reader.submit(self._made)

    def _made(self) -> tuple[Section, ...] | None:
        """Return the sections; None if the store or the ledger cannot be read."""
        try:
            return tuple(each for each in helper_sections(helper_view(self._agent)) if each.key not in SHOWN_LIVE)
        except (AssistLearnError, OSError):
            return None


# An agent that is watched at its own site: who asks it, its turns, and since when it waits, all from its ledger.


class LiveAgent:
    """An agent that is watched, by reading its ledger as it grows.

    Parameters
    ----------
    file : path
        The agent's file.
    """

    def __init__(self, file: Path) -> None:
        description = load_description(file)
        self._name = description.name
        self._ledger = GrowingFile(description.models / "ledger.jsonl")
        self._story = AgentStory()
        self._report = ReportBehind(description)
        self._all_read = False

    @property
    def place(self) -> int:
        """The byte in the ledger up to which it was read."""
        return self._ledger.place

    @property
    def generation(self) -> int:
        """How often another ledger has taken the place of the one that was read."""
        return self._ledger.generation

    def take_news(self) -> bool:
        """Read the next piece of the ledger; return whether there was any."""
        before, lines = self.generation, self._ledger.lines()
        if self.generation != before:
            self._story = AgentStory()
        for number, (_, line) in enumerate(lines, start=self._ledger.number - len(lines) + 1):
            self._story.feed(entry_on(line, f"{self._ledger.path}, line {number}"))
        self._all_read = self._all_read or not lines
        if not lines:
            self._report.look(self.place, at_work=bool(self._story.at_work))
        return bool(lines)

    def mark(self) -> Hashable:
        """Return a value that changes as soon as there is something new to show."""
        return self.generation, self.place, self._all_read, self._report.number

    def standing(self) -> HowItStands:
        """Return whether the agent is at work."""
        story = self._story
        if not self._all_read:
            return HowItStands("reading", "reading", "What has happened so far is being read.", story.last)
        if story.at_work:
            askers = sorted({asker for asker, _ in story.at_work})
            return HowItStands("running", "at work", f"For {' and '.join(askers)}.", story.last)
        words = "For the next request." if story.answered is not None else "For the first request."
        if self._report.unread:
            words += " What its store holds cannot be read; 'assistlearn report' says why."
        return HowItStands("waiting", "waiting", words, story.last)

    def frame(self) -> Frame:
        """Return the title, the heading and the paragraphs around the sections."""
        name = self._name
        return Frame(
            title=f"{name}: who asks for help?",
            kicker=f"Agent {name}, at its own site",
            heading=f"Who asks {name} for help?",
            intro=(f"All of this is in {name}'s own ledger and store. Nobody else is asked.",),
            closing=("It holds names of agents and runs, times and sizes; no ids, no values and no names of columns.",),
        )

    def drafts(self) -> list[Draft]:
        """Return the sections: what happens now, who asks, the turns, and other sections of the agent's report."""
        story = self._story
        at_work, turned = list(story.at_work.values()), story.turned_away
        facts = {"name": self._name, "answered": story.answered, "at_work": at_work, "turned_away": turned}
        sections = (_askers(story), _turns(story), *self._report.sections)
        return [draft("now", "agent_now.html", **facts), *map(draft_of, sections)]


def _askers(story: AgentStory) -> Section:
    columns = (
        "who asks",
        "run",
        "since (UTC)",
        "last (UTC)",
        "turns",
        "votes asked",
        "refused",
        "bytes in",
        "bytes out",
    )
    rows = tuple(
        (
            *(run.asker, run.run, _shown(run.first), _shown(run.last)),
            *(f"{count:,}" for count in (run.turns, run.votes, run.refused, run.received, run.sent)),
            run.state,
        )
        for run in reversed(story.runs.values())
    )
    older = story.n_runs - len(rows)
    words = [f"{counted(story.n_runs, 'run')} in which help was asked for." if rows else "Nobody has asked yet."]
    words += [f"Not listed: {counted(older, 'older one')}."] if older else []
    words += [f"It has itself sent {counted(story.asks, 'request')} to others."] if story.asks else []
    tables = (PageTable("Runs, the latest first", (*columns, "state"), rows, words=(1, 9)),) if rows else ()
    return Section("askers", "Who asks", tuple(words), tables=tables)


def _turns(story: AgentStory) -> Section:
    columns = ("asked (UTC)", "by", "run", "turn", "answered after", "bytes out")
    rows = tuple(
        (
            *(_shown(turn.asked), turn.asker, turn.run, "-" if turn.turn is None else str(turn.turn)),
            *(("at work", "-") if turn.seconds is None else (f"{turn.seconds:.2f} s", f"{turn.bytes:,}")),
        )
        for turn in reversed(story.turns)
    )
    if not rows:
        return Section("turns", "Its turns", ("No turn was asked for yet.",))
    return Section("turns", "Its turns", tables=(PageTable("The last turns, the latest first", columns, rows, (1, 2)),))


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"
