"""What a page shows about a run: plain figures and names, but nothing about a single sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from assistlearn.evaluation.calibration import Reliability
from assistlearn.evaluation.result import (
    AgentRow,
    Compared,
    Confusion,
    Findings,
    Headline,
    SharedIn,
    ShareRow,
    TrainedWith,
)
from assistlearn.evaluation.words import unchecked_in_words
from assistlearn.events import (
    Answered,
    Asked,
    CombinationLearned,
    Event,
    JobStarted,
    LabelsTold,
    Predicted,
    ResultJudged,
    RoundFinished,
    RunFinished,
    RunForgotten,
    SamplesDone,
    SamplesMatched,
    SamplesOpened,
    SamplesSettled,
    TurnFinished,
)
from assistlearn.plan import SETTINGS, Plan

# What each type of message says, in words.


WORDS = {
    "open": "a question whether to work together: a name and a purpose",
    "opened": "the agent's name and the number of its samples",
    "align": "ids of samples, hashed or encrypted, to find the common ones",
    "aligned": "which samples are common, hashed or encrypted",
    "begin": "the labels as numbers, and how to train",
    "ready": "how many samples are held",
    "recall": "which earlier run this one goes on from, and who of it takes part again",
    "recalled": "which turns of that run can be taken again",
    "take-turn": "where others' models were right (soft: how sure they were, of every class), and their weights",
    "take-again": "the same, and which turn of the earlier run is taken again",
    "turn-taken": "where the new model is right (soft: how sure it is, of every class), its weight, its answers "
    "for hold-out samples",
    "end": "that training is over",
    "ended": "how many models are kept",
    "predict": "which samples to vote on",
    "scores": "votes: one score per class for each sample asked for",
    "forget": "a request to remove a run",
    "forgotten": "that it is removed",
    "propose": "a request for the owner's consent: a name, a purpose, and how much is wanted",
    "consent": "whether the owner has answered such a request, and how",
    "problem": "why a request was refused",
    "unreadable": "bytes that are no message",
}
"""What each type of message says, in the order in which they come in a run."""


# Numbered rows of which only a limited number is kept, so that the page of a long run stays short.


Row = TypeVar("Row")

MOST = 200
"""The most rounds or looks that are kept for a table of a page, beside the last one."""


class Thinned(Generic[Row]):
    """Keeps every row while there are few; later every second, every fourth and so on, and always the last one.

    Parameters
    ----------
    most : int
        How many rows are kept at the most, beside the last one.

    Examples
    --------
    >>> rows = Thinned(most=4)
    >>> for number in range(1, 10):
    ...     rows[number] = number**2
    >>> rows.items()
    [(1, 1), (5, 25), (9, 81)]
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._step = 1
        self._rows: dict[int, Row] = {}
        self._last: tuple[int, Row] | None = None

    def __setitem__(self, number: int, row: Row) -> None:
        """Add a row, or replace the row with the same number."""
        if self._last is None or number >= self._last[0]:
            self._last = number, row
        if (number - 1) % self._step:
            return
        self._rows[number] = row
        while len(self._rows) > self._most:
            self._step *= 2
            self._rows = {each: kept for each, kept in self._rows.items() if not (each - 1) % self._step}

    def get(self, number: int) -> Row | None:
        """Return a row; None where it is not kept."""
        if self._last is not None and number == self._last[0]:
            return self._last[1]
        return self._rows.get(number)

    def items(self) -> list[tuple[int, Row]]:
        """Return the rows that are kept, with their numbers, in order."""
        found = self._rows if self._last is None else self._rows | {self._last[0]: self._last[1]}
        return sorted(found.items(), key=lambda item: item[0])


# What a page shows about a run: plain figures and names, but nothing about a single sample, a column or a file.
#
# Error texts and other free texts are left out, because they may hold ids, values and paths. They stay in the folder.


State: TypeAlias = Literal["going on", "stopped", "finished"]
"""The state of a run: a process works on it; none does, and there is no result; or there is a result."""

ONE_PROCESS = "one process"
"""The value of ``reach`` where all agents are in this process, so that nothing is sent."""


@dataclass(frozen=True)
class Subject:
    """What a run is about, as far as a page may know.

    Attributes
    ----------
    run, initiator : str
        Their names. The name of the run is empty where all agents were in one process.
    agents : tuple of str
        All agents, the initiator first.
    classes : tuple of str
        The names of the classes.
    reach : str
        How agents were reached; :data:`ONE_PROCESS` where nothing had to be sent.
    settings : tuple of Chosen
        The plan, setting by setting.
    n_rounds : int
        The most rounds that the plan allows.
    keeps_labels : bool
        Whether true labels stay with the initiator.
    metric : str
        The metric that should improve on hold-out samples.
    is_pilot : bool
        Whether the run only asks if help is worth it.
    label_only : bool
        Whether the initiator has labels alone, and takes no turns.
    tells_of_others : bool
        Whether helpers are told what other helpers say about their models.
    """

    run: str
    initiator: str
    agents: tuple[str, ...]
    classes: tuple[str, ...]
    reach: str
    settings: tuple[Chosen, ...]
    n_rounds: int
    keeps_labels: bool
    metric: str
    is_pilot: bool = False
    label_only: bool = False
    tells_of_others: bool = False

    @property
    def helpers(self) -> tuple[str, ...]:
        """All agents but the initiator."""
        return self.agents[1:]


@dataclass(frozen=True)
class Chosen:
    """A setting: its name, its value as text, and what it does."""

    name: str
    value: str
    explanation: str


@dataclass(frozen=True)
class Progress:
    """How far a run is; ``waiting_for`` was asked at ``since`` and has not answered yet."""

    rounds: int
    most_rounds: int
    turns: int
    waiting_for: str | None = None
    since: datetime | None = None


@dataclass(frozen=True)
class RoundRow:
    """How good all agents were together after a round.

    The last round that counts has the figures of the result itself: its combination was learned at the end, with trees
    tried, too, and agents may have been left out.

    Attributes
    ----------
    round : int
        Counts from 1.
    accuracy, metric : float or None
        The accuracy and the chosen metric on the hold-out samples.
    loss, error : float or None
        The loss of the combination on samples that it has not seen, and its standard error.
    kept : bool or None
        Whether the result has the round; None while that is not decided.
    bits : float or None
        Bits per training sample that were sent to all helpers and received from them by then, without the matching of
        ids; None where nothing had to be sent.
    """

    round: int
    accuracy: float | None
    metric: float | None
    loss: float | None
    error: float | None
    kept: bool | None = None
    bits: float | None = None


@dataclass(frozen=True)
class WeightsOfRound:
    """The model weight of each agent in a round, in the order of the agents; None where it has no model."""

    round: int
    weights: tuple[float | None, ...]


@dataclass(frozen=True)
class MessageRow:
    """All messages of a type in one direction."""

    direction: Literal["sent", "received"]
    type: str
    messages: int
    bytes: int


@dataclass(frozen=True)
class Traffic:
    """The messages between the agent whose page this is and one other agent.

    Attributes
    ----------
    helper : str
        The name of the other agent: a helper, or on a helper's page an initiator.
    rows : tuple of MessageRow
        Counts by direction and type.
    turns : int
        Turns that the helper took.
    bits_sent, bits_received : float or None
        Bits per training sample and turn: of what the helper was told before a turn, and of its answer.
    """

    helper: str
    rows: tuple[MessageRow, ...]
    turns: int
    bits_sent: float | None
    bits_received: float | None

    def bytes(self, direction: str) -> int:
        """Return the number of bytes in one direction."""
        return sum(row.bytes for row in self.rows if row.direction == direction)

    def messages(self, direction: str) -> int:
        """Return the number of messages in one direction."""
        return sum(row.messages for row in self.rows if row.direction == direction)


@dataclass(frozen=True)
class Matched:
    """How many samples a helper was asked about, and how many of them it holds."""

    helper: str
    n_asked: int
    n_held: int


@dataclass(frozen=True)
class Spent:
    """The seconds that went to one kind of work with one agent, and how often it was done."""

    what: str
    agent: str
    seconds: float
    times: int


@dataclass(frozen=True)
class Released:
    """What an agent said about one sample, in bits, all times together: as it is said, and as it was sent."""

    kind: str
    about: str
    times: int
    said: float
    sent: float


@dataclass(frozen=True)
class LabelsGiven:
    """The told labels: the epsilon of this run, and what all runs so far have given away (as in ``LabelsTold``)."""

    epsilon: float
    n_samples: int
    n_drawn: int
    n_true: int
    most_spent: float


@dataclass(frozen=True)
class OpenedSoFar:
    """The gain of a pilot and its limits, after ``n_opened`` samples."""

    n_opened: int
    gain: float
    lower: float
    upper: float


@dataclass(frozen=True)
class GainRow:
    """The gain of one helper together with the initiator, in a pilot."""

    helper: str
    answer: str
    gain: float
    lower: float
    upper: float
    holds_with: float


@dataclass(frozen=True)
class View:
    """Everything that a page shows about a run. What is not known is None or empty.

    Attributes
    ----------
    subject : Subject
        What the run is about.
    state : State
        Whether it goes on.
    progress : Progress
        How far it is.
    """

    subject: Subject
    state: State
    progress: Progress
    began: datetime | None = None
    last: datetime | None = None
    stop_reason: str | None = None
    n_rounds: int | None = None
    answer: Headline | None = None
    metrics: tuple[Compared, ...] = ()
    worse: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    rounds: tuple[RoundRow, ...] = ()
    shared_in: SharedIn = "accuracy"
    shares: tuple[ShareRow, ...] = ()
    together: ShareRow | None = None
    accuracy_of_own_votes: float | None = None
    weights: tuple[WeightsOfRound, ...] = ()
    agents: tuple[AgentRow, ...] = ()
    calibration: str | None = None
    reliability: tuple[Reliability, ...] = ()
    reliability_alone: tuple[Reliability, ...] = ()
    confusion: Confusion | None = None
    combination: str | None = None
    trained_with: tuple[TrainedWith, ...] = ()
    exchanges: tuple[Traffic, ...] = ()
    counted_by: Literal["ledger", "events"] = "events"
    matched: tuple[Matched, ...] = ()
    n_training: int | None = None
    n_holdout: int | None = None
    seconds: tuple[Spent, ...] = ()
    released: dict[str, tuple[Released, ...]] = field(default_factory=dict)
    labels_given: LabelsGiven | None = None
    goes_on: tuple[str, ...] = ()
    opened: tuple[OpenedSoFar, ...] = ()
    gains: tuple[GainRow, ...] = ()
    predicted: int = 0
    troubles: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def findings(self) -> Findings:
        """What the hold-out samples say about the result."""
        return Findings(self.subject.metric, **{each.name: getattr(self, each.name) for each in fields(Findings)[1:]})

    @property
    def unchecked(self) -> str:
        """What must be said of a result without hold-out samples; empty of others, and where there is none."""
        judged = self.answer is not None or any(row.accuracy is not None for row in self.rounds)
        if self.state != "finished" or judged or self.n_holdout or self.opened or len(self.subject.classes) == 1:
            return ""
        return unchecked_in_words(self.subject.helpers)

    def to_dict(self) -> dict[str, Any]:
        """Return the view as plain values, with times as text."""
        facts: dict[str, Any] = _plain(asdict(self)) | {"unchecked": self.unchecked or None}
        return facts


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value


# The settings of a plan as a page shows them.


def chosen(plan: Plan, values: Mapping[str, object]) -> tuple[Chosen, ...]:
    """Return the settings that apply to a plan. The purpose is left out, because it is free text.

    >>> chosen(Plan(), {"purpose": "to see", "n_rounds": 20, "order": print})[1].value
    'of its own'
    """
    return tuple(
        Chosen(name, _shown(value), SETTINGS[name].explanation)
        for name, value in values.items()
        if name != "purpose" and SETTINGS[name].applies(plan)
    )


def _shown(value: object) -> str:
    """Return a value as text. The text of anything else than text and numbers is hidden: it may say too much."""
    if value is None:
        return "none"
    return str(value) if isinstance(value, str | int | float) else "of its own"


# Find out where the seconds of a run went, from the times of its events.
#
# The time between two events counts for the work that the second one ends: an answer ends the wait for it, and an
# initiator's turn ends its own fit. So the parts add up to the whole.


MATCHING, TELLING, TURNS, OWN_FITS = "matching samples", "telling the task", "turns", "own turns"
COMBINING, ALONE, ENDING = "putting votes together", "training alone, to compare", "ending the run"
PREDICTING, STARTING, IDLE, OTHER = "predicting", "starting to work together", "nobody at work", "all else"

_ANSWERS = {
    "opened": STARTING,
    "aligned": MATCHING,
    "ready": TELLING,
    "recalled": TELLING,
    "turn-taken": TURNS,
    "ended": ENDING,
    "scores": PREDICTING,
    "forgotten": ENDING,
}
_OWN: dict[type[Event], str] = {
    SamplesMatched: MATCHING,
    SamplesSettled: MATCHING,
    LabelsTold: TELLING,
    RoundFinished: COMBINING,
    CombinationLearned: COMBINING,
    SamplesOpened: PREDICTING,
    Predicted: PREDICTING,
    RunFinished: ENDING,
    RunForgotten: ENDING,
    JobStarted: STARTING,
}
_ORDER = (STARTING, MATCHING, TELLING, TURNS, OWN_FITS, COMBINING, ALONE, ENDING, PREDICTING, OTHER, IDLE)

Key: TypeAlias = tuple[str, str]


class TimeLine:
    """Adds up seconds, event by event.

    Parameters
    ----------
    initiator : str
        The agent whose own work needs no messages.
    is_pilot : bool
        Whether the command goes on when training is over.
    label_only : bool
        Whether the initiator has labels alone, and does not train by itself to compare.
    """

    def __init__(self, initiator: str, is_pilot: bool = False, label_only: bool = False) -> None:
        self._initiator = initiator
        self._is_pilot = is_pilot
        self._judging = COMBINING if label_only else ALONE
        self._before: datetime | None = None
        self._seconds: dict[Key, float] = {}
        self._times: dict[Key, int] = {}
        self._begun: set[Key] = set()
        self._is_over = False
        self._is_idle = False

    def feed(self, time: datetime | None, event: Event) -> None:
        """Add one more event; an event without a time is ignored."""
        if time is None:
            return
        if self._before is not None:
            key = (IDLE, "") if self._is_idle or self._begins_anew(event) else self._key(event)
            self._seconds[key] = self._seconds.get(key, 0.0) + max((time - self._before).total_seconds(), 0.0)
            told = isinstance(event, TurnFinished) and event.agent != self._initiator  # its answer was counted
            self._times[key] = self._times.get(key, 0) + (not told)
        self._before = time
        self._note(event)

    def spent(self) -> tuple[Spent, ...]:
        """Return where the seconds went, in the order of a run."""
        keys = sorted(self._seconds, key=lambda key: _ORDER.index(key[0]))
        return tuple(Spent(*key, round(self._seconds[key], 3), self._times[key]) for key in keys)

    def _begins_anew(self, event: Event) -> bool:
        """Whether an event shows that a command resumes the run, because it comes again. Before it, nobody worked."""
        return _beginning(event) in self._begun

    def _note(self, event: Event) -> None:
        """Remember the first events of a command, and whether a command has ended."""
        begins = _beginning(event)
        if begins is not None:
            self._begun.add(begins)
        self._is_over |= isinstance(event, RunFinished)
        ends = isinstance(event, Predicted | RunForgotten) or (isinstance(event, RunFinished) and not self._is_pilot)
        self._is_idle = ends

    def _key(self, event: Event) -> Key:
        match event:
            case Answered(agent=agent, type=type_):
                what = _ANSWERS.get(type_, OTHER)
            case SamplesDone(agent=agent):
                what = MATCHING
            case TurnFinished(agent=agent):
                what = OWN_FITS if agent == self._initiator else TURNS
            case ResultJudged():
                what, agent = self._judging, self._initiator
            case _:
                what, agent = _OWN.get(type(event), OTHER), self._initiator
        return PREDICTING if self._is_over and what in (STARTING, MATCHING, TELLING) else what, agent


def _beginning(event: Event) -> Key | None:
    """Return what an event begins, and with which agent; None for an event that does not begin a command."""
    match event:
        case Asked(type="open" | "begin", agent=agent):
            return event.type, agent
        case JobStarted():
            return "job", ""
        case _:
            return None
