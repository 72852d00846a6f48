"""An agent that is watched at its own site: who asks it, its turns, and since when it waits, all from its ledger."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from pathlib import Path

from assistlearn.agent_files import load_description
from assistlearn.evaluation.figures_in_words import counted
from assistlearn.pages.rendering import Frame
from assistlearn.pages.section import PageTable, Section
from assistlearn.protocol.entries import entry_on
from assistlearn.storage.growing_file import GrowingFile
from assistlearn.web.agent_story import AgentStory
from assistlearn.web.live_page import draft, draft_of
from assistlearn.web.report_behind import ReportBehind
from assistlearn.web.watched import Draft, HowItStands


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
