"""Sections of a helper's report, for its live page. They are made in a thread of their own while nobody asks it.

To read a large store takes seconds, and the page must not wait for that.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic

from assistlearn.agent_files import AgentDescription
from assistlearn.errors import AssistLearnError
from assistlearn.pages.helper_page import helper_sections
from assistlearn.pages.helper_story import helper_view
from assistlearn.pages.section import Section

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
