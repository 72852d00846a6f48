"""A run that is watched: before it is there, while it goes on, when it was stopped, is resumed, has ended, is gone."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from datetime import datetime
from pathlib import Path
from time import monotonic

from assistlearn.errors import AssistLearnError, RunError
from assistlearn.events import Recorded, recorded_on
from assistlearn.pages.run_story import subject_of, take_folder
from assistlearn.pages.story import Story
from assistlearn.pages.view import State
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.folder_lock import somebody_works
from assistlearn.storage.growing_file import GrowingFile
from assistlearn.web.fact_words import fact_in_words
from assistlearn.web.live_page import fragment
from assistlearn.web.watched import Condition, Fragment, Standing

LATEST = 20
"""Facts that are listed."""

PATIENCE = 1.5
"""Seconds without anybody at work before a run counts as stopped: between two commands nobody is."""

FOLDER = 5.0
"""Seconds between two looks at what the folder of a run that has ended holds: that means reading its ledger."""

STATES: dict[Condition, State] = {"running": "going on", "resumed": "going on", "ended": "finished"}


class LiveRun:
    """A run's folder, followed.

    Parameters
    ----------
    path : path
        The folder; need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._folder = RunFolder(path)
        self.generation = 0
        self._gone = False
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._log = GrowingFile(self._folder.events)
        self._story: Story | None = None
        self._latest: deque[Recorded] = deque(maxlen=LATEST)
        self._n_facts = 0
        self._last: datetime | None = None
        self._all_read = False
        self._condition: Condition = "forgotten" if self._gone else "waiting"
        self._at_work = monotonic()
        self._was_stopped = False
        self._taken: tuple[int, bool] | None = None
        self._took = -FOLDER
        self._unread = False

    @property
    def title(self) -> str:
        """The name of the run, or of its folder while it is not there."""
        return self._folder.path.name if self._story is None else self._story.subject.run

    @property
    def place(self) -> int:
        """The byte in the log up to which it was read."""
        return self._log.place

    # -- reading

    def take_news(self) -> bool:
        """Read on in the log, and look at the folder where there is nothing to read."""
        if not self._folder.exists:
            if self._story is not None:
                self._gone = True
                self.generation += 1
                self._begin_anew()
            return False
        if self._story is None:
            try:
                self._story = Story(subject_of(self._folder.settings()))
            except RunError:
                if self._folder.exists:
                    raise
                return False  # it was forgotten just now
        before, lines = self._log.generation, self._log.lines()
        if self._log.generation != before:  # another run has taken its place, between two looks
            self.generation += 1
            self._begin_anew()
            return True
        for number, (_, line) in enumerate(lines, start=self._log.number - len(lines) + 1):
            self._take(recorded_on(line, f"{self._log.path}, line {number}", strict=False))
        self._all_read = self._all_read or not lines
        self._condition = self._found_condition()
        if not lines and self._condition == "ended":
            self._take_folder()
        return bool(lines)

    def _take(self, recorded: Recorded) -> None:
        assert self._story is not None
        self._story.feed(recorded)
        self._latest.append(recorded)
        self._n_facts += 1
        self._last = recorded.time or self._last

    def _found_condition(self) -> Condition:
        assert self._story is not None
        if not self._all_read:
            return "reading"
        if self._has_result():
            return "ended"
        now = monotonic()
        if somebody_works(self._folder.path):
            self._at_work = now
            return "resumed" if self._was_stopped else "running"
        if now < self._at_work + PATIENCE and self._condition in ("running", "resumed"):
            return self._condition
        self._was_stopped = self._n_facts > 0
        return "stopped" if self._was_stopped else "waiting"

    def _has_result(self) -> bool:
        assert self._story is not None
        name = "worth.json" if self._story.subject.is_pilot else "result.json"
        return (self._folder.path / name).exists()

    def _take_folder(self) -> None:
        """Take what is written down at the end, and again when more has happened since."""
        assert self._story is not None
        seen = self.place, True
        if self._taken == seen or monotonic() < self._took + FOLDER:
            return
        try:
            take_folder(self._story, self._folder)
            self._unread = False
        except (AssistLearnError, OSError):
            self._unread = True
        self._taken, self._took = seen, monotonic()

    # -- showing

    def mark(self) -> Hashable:
        """Return what is another as soon as there is something new to be seen."""
        return self.generation, self.place, self._condition, self._story is None, self._taken

    def standing(self) -> Standing:
        """Return how the run stands."""
        return Standing(self._condition, self._condition, self._words(), self._last)

    def _words(self) -> str:
        if self._condition == "waiting":
            what = "There is no run yet" if self._story is None else "The run is set up, and nothing has happened yet"
            return f"{what}. It is shown as soon as it begins."
        if self._condition == "forgotten":
            return "The run was forgotten, and its folder is gone."
        assert self._story is not None
        view = self._story.view(STATES.get(self._condition, "stopped"))
        if self._condition == "reading":
            size = self._folder.events.stat().st_size if self._folder.events.exists() else 0
            return f"What has happened so far is being read: {100 * self.place // max(size, 1)} %."
        if self._condition == "ended":
            unread = " What its folder holds cannot be read; 'assistlearn show' says why." if self._unread else ""
            return (f"Because: {view.stop_reason}." if view.stop_reason else "") + unread
        progress = view.progress
        words = f"Round {progress.rounds + 1} of {progress.most_rounds}, {progress.turns} turns taken."
        if self._condition == "stopped":
            return f"Nobody works on it. {words}"
        return words + (f" Waiting for {progress.waiting_for}." if progress.waiting_for else "")

    def fragments(self) -> Iterator[Fragment]:
        """Yield the sections of the page."""
        if self._story is None:
            return
        progress = self._story.view(STATES.get(self._condition, "stopped")).progress
        yield fragment(
            "now",
            "run_now.html",
            done=progress.rounds,
            most=progress.most_rounds,
            turns=progress.turns,
            waiting_for=progress.waiting_for,
            waiting_since=progress.since,
            n_facts=self._n_facts,
            facts=[(recorded.time, fact_in_words(recorded.event)) for recorded in reversed(self._latest)],
        )
