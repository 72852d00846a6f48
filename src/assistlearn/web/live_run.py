"""A run that is watched, from before it exists until it has ended or is removed."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from time import monotonic

from assistlearn.errors import AssistLearnError, RunError
from assistlearn.evaluation.words import TITLES, counted
from assistlearn.events import (
    AgentLeft,
    AloneBegan,
    Answered,
    Asked,
    CombinationLearned,
    Event,
    JobStarted,
    LabelsTold,
    Predicted,
    Recorded,
    ResultJudged,
    RoundFinished,
    RunFinished,
    RunForgotten,
    RunGoesOn,
    SamplesDone,
    SamplesMatched,
    SamplesOpened,
    SamplesSettled,
    TroubleMet,
    TurnFinished,
    recorded_on,
)
from assistlearn.initiator.folder import RunFolder, somebody_works
from assistlearn.report.page import Frame, frame_of
from assistlearn.report.sections import sections_of
from assistlearn.report.story import Story, people_in_words, subject_of, take_folder
from assistlearn.report.view import State, View
from assistlearn.storage.files import GrowingFile
from assistlearn.web.live import Condition, Draft, HowItStands, draft, draft_of

# Say an event in words, for the list of the latest events. Texts of others stay out: they may name files or values.


def fact_in_words(event: Event, metric: str) -> str:
    """Return what happened, in a few words; ``metric`` is the one that leads in this run.

    >>> fact_in_words(RoundFinished(round=3, holdout_accuracy=0.8125), "accuracy")
    'Round 3 is over: 81.2 % of the hold-out samples are right.'
    """
    match event:
        case Asked() | Answered() | JobStarted() | TroubleMet():
            return _on_the_way(event)
        case SamplesMatched() | SamplesSettled() | SamplesDone() | SamplesOpened():
            return _of_samples(event)
        case TurnFinished() | AgentLeft() | RoundFinished():
            return _in_a_round(event, metric)
        case _:
            return _of_the_run(event)


def _on_the_way(event: Asked | Answered | JobStarted | TroubleMet) -> str:
    match event:
        case Asked():
            return f"{event.agent} was sent {event.type} ({event.bytes:,} bytes)."
        case Answered():
            return f"{event.agent} answered {event.type} ({event.bytes:,} bytes) after {event.seconds:.1f} s."
        case JobStarted():
            return f"A job was started with {', '.join(event.sites)}."
    return "Something did not work, and is tried again."


def _of_samples(event: SamplesMatched | SamplesSettled | SamplesDone | SamplesOpened) -> str:
    match event:
        case SamplesMatched():
            return f"{event.agent} holds {event.n_held:,} of {event.n_asked:,} samples."
        case SamplesSettled():
            return f"The samples are settled: {event.n_samples:,} to train on, {event.n_holdout:,} held out."
        case SamplesDone():
            return f"{event.done:,} of {event.total:,} samples are done with {event.agent}."
    gain = f"gain {event.gain:.3f}, from {event.lower:.3f} to {event.upper:.3f}"
    return f"{event.n_opened:,} of {event.n_pool:,} samples are opened: {gain}."


def _in_a_round(event: TurnFinished | AgentLeft | RoundFinished, metric: str) -> str:
    match event:
        case TurnFinished(contribution=None):
            return f"Turn {event.turn}: {event.agent} sat out."
        case TurnFinished():
            return f"Turn {event.turn}: {event.agent} has made a model, with weight {event.model_weight:.3f}."
        case AgentLeft():
            return f"The run goes on without {event.agent} from turn {event.turn} on."
    if metric != "accuracy" and event.metric is not None:
        return f"Round {event.round} is over: on the hold-out samples, {TITLES[metric]} is {event.metric:.3f}."
    if event.holdout_accuracy is not None:
        return f"Round {event.round} is over: {100 * event.holdout_accuracy:.1f} % of the hold-out samples are right."
    loss = "" if event.loss is None else f": the loss of the combination is {event.loss:.3f}"
    return f"Round {event.round} is over{loss}."


def _of_the_run(event: Event) -> str:
    match event:
        case RunGoesOn():
            return people_in_words(event)
        case LabelsTold():
            return f"Helpers are told {event.n_samples:,} labels changed at random, epsilon {event.epsilon:g}."
        case CombinationLearned():
            return f"How to combine the scores of {event.n_rounds} rounds is learned: {event.kind}."
        case AloneBegan():
            return "The initiator trains alone, to compare."
        case ResultJudged():
            return f"The result is judged on {event.n_samples:,} hold-out samples."
        case RunFinished():
            return f"Training is over: {event.reason}."
        case Predicted():
            return f"{event.n_samples:,} samples were predicted."
        case RunForgotten():
            return "The agents were asked to forget the run."
    return f"Something that this release does not know: {type(event).__name__}."


# A run that is watched, from before it exists until it has ended or is removed.


LATEST = 10
"""How many events are listed."""

PATIENCE = 1.5
"""Seconds after which a run that nobody works on counts as stopped: between two commands nobody works on it."""

FOLDER = 5.0
"""Seconds between two readings of the folder of a run that has ended. Each reads the ledger, too."""

ENDING = 0.5
"""Seconds between the end of a run and the reading of its folder, so that watchers see the end first."""

STATES: dict[Condition, State] = {"running": "going on", "resumed": "going on", "ended": "finished"}


class LiveRun:
    """A run that is watched, by reading its folder.

    Parameters
    ----------
    path : path
        The run's folder. It need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._folder = RunFolder(path)
        self.generation = 0
        self._begin_anew("waiting")
        self._find()

    def _begin_anew(self, condition: Condition) -> None:
        self._log = GrowingFile(self._folder.events)
        self._story: Story | None = None
        self._latest: deque[Recorded] = deque(maxlen=LATEST)
        self._last: datetime | None = None
        self._all_read = False
        self._condition = condition
        self._at_work = monotonic()
        self._was_stopped = False
        self._taken: int | None = None
        self._took = -FOLDER
        self._unread = False

    def _find(self) -> None:
        """Begin the story of the run, if the run exists."""
        try:
            self._story = Story(subject_of(self._folder.settings())) if self._folder.exists else None
        except RunError:
            if self._folder.exists:
                raise  # otherwise the run was removed just now

    @property
    def place(self) -> int:
        """The byte in the log up to which it was read."""
        return self._log.place

    # -- reading

    def take_news(self) -> bool:
        """Read the next piece of the log, or the folder of an ended run; return whether there may be more at once."""
        if self._story is None:
            self._find()
            if self._story is None:
                return False
            self.generation += 1  # the heading of the page has changed
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
            self._take(recorded_on(line, f"{self._log.path}, line {number}", strict=False))
        self._all_read = self._all_read or not lines
        was, self._condition = self._condition, self._found_condition()
        if was in STATES and was != self._condition == "ended":
            self._took = monotonic() - FOLDER + ENDING
        if not lines and self._condition == "ended":
            self._take_folder()
        return bool(lines)

    def _take(self, recorded: Recorded) -> None:
        assert self._story is not None
        self._story.feed(recorded)
        self._latest.append(recorded)
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
        self._was_stopped = self._log.number > 0
        return "stopped" if self._was_stopped else "waiting"

    def _has_result(self) -> bool:
        assert self._story is not None
        name = "worth.json" if self._story.subject.is_pilot else "result.json"
        return (self._folder.path / name).exists()

    def _take_folder(self) -> None:
        """Read what is written to the folder at the end; read it again when the log has grown since."""
        assert self._story is not None
        if self._taken == self.place or monotonic() < self._took + FOLDER:
            return
        try:
            take_folder(self._story, self._folder)
            self._unread = False
        except (AssistLearnError, OSError):
            self._unread = True
        self._taken, self._took = self.place, monotonic()

    # -- showing

    def mark(self) -> Hashable:
        """Return a value that changes as soon as there is something new to show."""
        return self.generation, self.place, self._condition, self._story is None, self._taken

    def standing(self) -> HowItStands:
        """Return the condition of the run, in one word and in a sentence."""
        return HowItStands(self._condition, self._condition, self._words(), self._last)

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
        taken = f"{counted(view.progress.rounds, 'round')} and {counted(view.progress.turns, 'turn')} are done."
        if self._condition == "stopped":
            return f"Nobody works on it. {taken}"
        waits = view.progress.waiting_for
        return taken if waits is None else f"{taken} Waiting for {waits}."

    def _view(self, story: Story) -> View:
        return story.view(STATES.get(self._condition, "stopped"))

    def frame(self) -> Frame:
        """Return the title, the heading and the paragraphs around the sections."""
        if self._story is None:
            name = self._folder.path.name
            return Frame(title=name, kicker=f"Folder {name}", heading="Waiting for a run")
        frame = frame_of(self._view(self._story))
        return replace(frame, kicker=frame.kicker.rpartition(":")[0])  # the line below says how it stands

    def drafts(self) -> list[Draft]:
        """Return what happens now, and the sections of the report; once the run has ended, the answer comes first."""
        if self._story is None:
            return []
        view = self._view(self._story)
        now, report = self._now(view), [draft_of(section) for section in sections_of(view)]
        return [*report, now] if self._condition == "ended" else [now, *report]

    def _now(self, view: View) -> Draft:
        facts = [(each.time, fact_in_words(each.event, view.subject.metric)) for each in reversed(self._latest)]
        over = self._condition == "ended"
        return draft("now", "run_now.html", progress=view.progress, n_facts=self._log.number, facts=facts, over=over)
