"""An agent that is watched at its own site: who asks it, its turns, since when it waits. Its ledger is what is read."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path

from assistlearn.agent_files import load_description
from assistlearn.protocol.entries import entry_on
from assistlearn.storage.growing_file import GrowingFile
from assistlearn.web.agent_story import AgentStory
from assistlearn.web.live_page import fragment
from assistlearn.web.watched import Fragment, Standing


class LiveAgent:
    """An agent's ledger, followed.

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
        self._all_read = False

    @property
    def title(self) -> str:
        """The agent's name."""
        return self._name

    @property
    def place(self) -> int:
        """The byte in the ledger up to which it was read."""
        return self._ledger.place

    @property
    def generation(self) -> int:
        """How often another ledger has taken its place."""
        return self._ledger.generation

    def take_news(self) -> bool:
        """Read on in the ledger."""
        before, lines = self.generation, self._ledger.lines()
        if self.generation != before:
            self._story = AgentStory()
        for number, (_, line) in enumerate(lines, start=self._ledger.number - len(lines) + 1):
            self._story.feed(entry_on(line, f"{self._ledger.path}, line {number}"))
        self._all_read = self._all_read or not lines
        return bool(lines)

    def mark(self) -> Hashable:
        """Return what is another as soon as there is something new to be seen."""
        return self.generation, self.place, self._all_read

    def standing(self) -> Standing:
        """Return whether the agent is at work."""
        story = self._story
        if not self._all_read:
            return Standing("reading", "reading", "What has happened so far is being read.", story.last)
        if story.at_work:
            askers = sorted({asker for asker, _ in story.at_work})
            return Standing("running", "at work", f"For {' and '.join(askers)}.", story.last)
        asked = "For the next request." if story.answered is not None else "For the first request."
        return Standing("waiting", "waiting", asked, story.last)

    def fragments(self) -> Iterator[Fragment]:
        """Yield the sections of the page."""
        story = self._story
        yield fragment("now", "agent_now.html", name=self._name, story=story, at_work=list(story.at_work.values()))
        yield fragment("askers", "agent_runs.html", name=self._name, story=story, runs=list(story.runs.values())[::-1])
        yield fragment("turns", "agent_turns.html", turns=list(story.turns)[::-1])
