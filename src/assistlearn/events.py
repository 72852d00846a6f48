"""Everything that can happen in a run, as typed facts, and the log that each is appended to when it happens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from assistlearn.core import Contribution
from assistlearn.errors import RunError
from assistlearn.storage import GrowingFile, appending, drop_cut_line, wait_for

# Progress bars, reports and plots read these facts. To add a kind of fact, write a frozen dataclass that inherits from
# :class:`Event`. It is then written to logs and read back by its name.


class StopReason(StrEnum):
    """Why a run ended."""

    ALL_ROUNDS_DONE = "all rounds done"
    NO_AGENT_CONTRIBUTED = "no agent contributed in a whole round"
    WEAK_AGENT = "an agent's model was no better than chance"
    ALL_AGENTS_PERFECT = "every agent's model was right about all samples, so they have nothing to tell each other"
    HOLDOUT_STOPPED_IMPROVING = "the result on the hold-out samples stopped improving"
    ROUNDS_NO_LONGER_PAY = "another round hardly improved the result"
    NO_AGENT_LEFT = "every helper is gone, and the initiator has no columns of its own"
    ONE_CLASS = "the labels have one class only"


@dataclass(frozen=True)
class Event:
    """Something that happened in a run. ``kinds`` has the class of every kind of event, by its name."""

    kinds: ClassVar[dict[str, type[Event]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Event.kinds[cls.__name__] = cls


# -- matching samples


@dataclass(frozen=True)
class SamplesMatched(Event):
    """A helper and the initiator know which samples they share: ``n_held`` of ``n_asked``."""

    agent: str
    n_asked: int
    n_held: int


@dataclass(frozen=True)
class SamplesSettled(Event):
    """The samples of the run are settled: ``n_samples`` to train on, and ``n_holdout`` hold-out samples."""

    n_samples: int
    n_holdout: int


@dataclass(frozen=True)
class SamplesDone(Event):
    """Of ``total`` samples, ``done`` have been matched with an agent, or predicted by it."""

    agent: str
    done: int
    total: int


@dataclass(frozen=True)
class RunGoesOn(Event):
    """The run goes on from an earlier run: what has changed since, and which turns are taken again.

    Of the people of the earlier run, ``n_same`` are unchanged, ``n_gone`` are gone, and ``n_relabelled`` have another
    label. ``n_new`` people are new. ``again`` says how many turns of each agent are taken again. ``anew`` says why an
    agent cannot take its turns again. ``settings`` has the settings that differ, with the old and the new value.
    """

    earlier: str
    n_same: int
    n_new: int
    n_gone: int
    n_relabelled: int
    new_agents: list[str] = field(default_factory=list)
    lost_agents: list[str] = field(default_factory=list)
    again: dict[str, int] = field(default_factory=dict)
    anew: dict[str, str] = field(default_factory=dict)
    changed_tables: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)


# -- messages, and how they travel


@dataclass(frozen=True)
class Asked(Event):
    agent: str
    type: str
    bytes: int


@dataclass(frozen=True)
class Answered(Event):
    """An agent's answer to a request came, after ``seconds``."""

    agent: str
    type: str
    bytes: int
    seconds: float


@dataclass(frozen=True)
class JobStarted(Event):
    """A job was started that carries messages between organisations."""

    job: str
    sites: list[str]


@dataclass(frozen=True)
class TroubleMet(Event):
    """Something did not work and is tried again. ``words`` say what."""

    words: str


# -- training


@dataclass(frozen=True)
class LabelsTold(Event):
    """Helpers were told labels that chance has changed.

    Of ``n_samples`` labels, ``n_drawn`` were drawn now. The others are told as they were told before; ``n_changed`` of
    them have changed since, and helpers do not hear of it. Of ``n_true`` people helpers were told the true label in
    another run, which no epsilon limits. ``most_spent`` is the most that all runs so far have revealed about the label
    of one of the others, as an epsilon.
    """

    label: str
    epsilon: float
    n_samples: int
    n_drawn: int
    n_changed: int
    n_true: int
    most_spent: float


@dataclass(frozen=True)
class TurnFinished(Event):
    """An agent has had its turn. If it sat out, ``contribution`` is None, and ``why`` is its reason, if it gave one."""

    turn: int
    round: int
    agent: str
    model_weight: float
    mean_reward: float
    contribution: Contribution | None
    why: str = ""


@dataclass(frozen=True)
class AgentLeft(Event):
    """An agent was to take this turn but is gone; the run goes on without it, and the next agent takes the turn."""

    turn: int
    round: int
    agent: str
    reason: str


@dataclass(frozen=True)
class RoundFinished(Event):
    """Every agent has had its turn in this round.

    ``loss`` and ``error`` are those of the combination on samples that it has not seen. One sample has no error.
    ``metric`` is the figure on the hold-out samples that decides when to stop.
    """

    round: int
    holdout_accuracy: float | None
    loss: float | None = None
    error: float | None = None
    metric: float | None = None


@dataclass(frozen=True)
class CombinationLearned(Event):
    """The initiator has learned how to combine the scores of ``n_rounds`` rounds.

    ``kind`` is the combination that it uses, and ``losses`` has the losses, in three folds, by which it was chosen.
    ``loss`` was measured anew, in more folds. The loss of a single sample has no ``error``. The accuracy and the metric
    on the hold-out samples are those of this combination. They replace those of round ``n_rounds``, which are of a
    quicker one, without trees.
    """

    n_rounds: int
    kind: str
    loss: float
    error: float | None
    losses: dict[str, float] = field(default_factory=dict)
    skipped: str = ""
    holdout_accuracy: float | None = None
    metric: float | None = None


@dataclass(frozen=True)
class AloneBegan(Event):
    """The initiator trains alone, with at most ``n_models`` models, to compare. Nobody else is told."""

    n_models: int


@dataclass(frozen=True)
class ResultJudged(Event):
    """The hold-out samples have judged the result: metrics with help and alone, differences, who makes it worse."""

    n_samples: int
    assisted: dict[str, float | None]
    alone: dict[str, float | None]
    differences: dict[str, dict[str, float] | None]
    worse: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RunFinished(Event):
    """Training is over. The contributions of the first ``n_rounds`` rounds make up the result."""

    reason: StopReason
    n_rounds: int


# -- a pilot


@dataclass(frozen=True)
class SamplesOpened(Event):
    """In a pilot, ``n_opened`` of ``n_pool`` samples are open: the gain with all helpers so far, and its limits."""

    n_opened: int
    n_pool: int
    gain: float
    lower: float
    upper: float


# -- afterwards


@dataclass(frozen=True)
class Predicted(Event):
    """Samples were predicted: how many of them each agent knows, and why an agent did not take part (``absent``)."""

    n_samples: int
    n_unknown: int
    known: dict[str, int] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunForgotten(Event):
    """Agents were asked to forget the run: how many models each removed, and why an agent did not (``absent``)."""

    removed: dict[str, int] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UnknownEvent(Event):
    """A fact that another release wrote and this one does not know."""

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)


# The log of a run: one fact per line, appended the moment it happens.
#
# A line is a JSON object: the time (UTC), the kind of the fact, and its fields. A crash can cut the last line short.
# Such a line is not read, and the next line that is appended replaces it.


@dataclass(frozen=True)
class Recorded:
    """A fact, and when it happened; the time is None where the line could not be read."""

    time: datetime | None
    event: Event


class EventLog:
    """Appends each fact to a file, if it has one, when the fact happens, and tells all listeners.

    The file is created with the first fact, if its folder exists by then. Without a file, listeners are told all the
    same.
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = path
        self._clock = clock
        self._listeners: list[Callable[[Event], object]] = []
        self._complained = False

    def listen(self, listener: Callable[[Event], object]) -> None:
        self._listeners.append(listener)

    def append(self, event: Event) -> None:
        if self._path is not None and self._path.parent.is_dir():  # a run that was forgotten has no folder any more
            facts = {"time": self._clock().isoformat(timespec="milliseconds"), "event": type(event).__name__}
            line = json.dumps(facts | asdict(event), ensure_ascii=False) + "\n"
            try:
                _write(self._path, line.encode())
            except OSError as error:
                self._complain(error)
        self.tell(event)

    def _complain(self, error: OSError) -> None:
        """Say once that the log cannot be written. The run goes on: the ledger is the record that must be whole."""
        if not self._complained:
            self._complained = True
            self.tell(
                TroubleMet(f"The events of the run cannot be written to {self._path}: {error.strerror or error}.")
            )

    def tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)


def read(path: Path, wait: Callable[[], bool] | None = None, strict: bool = True) -> Iterator[Recorded]:
    """Yield the facts of a log: those that are written already and, with ``wait``, those that follow.

    ``wait`` is called at the end of the log; it waits a while and returns whether to look again. A whole line that is
    no fact raises ``RunError``: the log was damaged. If not ``strict``, it is read as an ``UnknownEvent``.
    """
    file = GrowingFile(path)
    while True:
        lines = file.lines()
        for number, (_, line) in enumerate(lines, start=file.number - len(lines) + 1):
            yield recorded_on(line, f"{path}, line {number}", strict)
        if not lines and (wait is None or not wait()):
            return


def recorded_on(line: bytes, where: str, strict: bool = True) -> Recorded:
    try:
        facts = msgspec.convert(json.loads(line), dict[str, Any])  # json reads NaN, too
        when, kind = datetime.fromisoformat(facts.pop("time")), facts.pop("event")
        if kind not in Event.kinds:
            return Recorded(when, UnknownEvent(kind, facts))
        return Recorded(when, msgspec.convert(facts, Event.kinds[kind]))
    except (ValueError, TypeError, KeyError, msgspec.ValidationError) as error:
        if not strict:
            return Recorded(None, UnknownEvent("damaged"))
        raise RunError(
            f"{where}: this line is not an event of a run ({error}). The log was changed or damaged."
        ) from None


def _write(path: Path, line: bytes) -> None:
    """Append a line. Several processes may append at the same time: each waits until the file is free."""
    with appending(path) as file:
        wait_for(file)
        drop_cut_line(file)
        file.write(line)
