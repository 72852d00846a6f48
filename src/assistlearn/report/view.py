"""What a page shows about a run: plain figures and names, but nothing about a single sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, TypeAlias

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
from assistlearn.plan import SETTINGS, Plan
from assistlearn.protocol.messages import ReleasedBits

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


# Error texts and other free texts are left out of views: they may hold ids, values and paths. They stay in the folder.

State: TypeAlias = Literal["going on", "stopped", "finished"]
"""The state of a run: a process works on it; none does, and there is no result; or there is a result."""

ONE_PROCESS = "one process"
"""The value of ``reach`` where all agents are in this process, so that nothing is sent."""


@dataclass(frozen=True)
class Subject:
    """What a run is about, as far as a page may know.

    The name of the run is empty where all agents were in one process. ``agents`` begins with the initiator;
    ``n_rounds`` is the most that the plan allows; a pilot only asks if help is worth it; ``label_only``: the initiator
    has labels alone, and takes no turns; ``tells_of_others``: helpers learn what other helpers say about their models.
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
        return self.agents[1:]


@dataclass(frozen=True)
class Chosen:
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

    ``loss`` is that of the combination on samples that it has not seen, ``error`` its standard error; ``kept`` is None
    while it is not decided whether the result has the round; ``bits`` per training sample were sent to all helpers and
    received from them by then, without the matching of ids.
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
    direction: Literal["sent", "received"]
    type: str
    messages: int
    bytes: int


@dataclass(frozen=True)
class Traffic:
    """The messages between the agent whose page this is and one other agent.

    ``helper`` is an initiator on a helper's page. Bits are per training sample and turn: of what the helper was told
    before a turn, and of its answer.
    """

    helper: str
    rows: tuple[MessageRow, ...]
    turns: int
    bits_sent: float | None
    bits_received: float | None

    def bytes(self, direction: str) -> int:
        return sum(row.bytes for row in self.rows if row.direction == direction)

    def messages(self, direction: str) -> int:
        return sum(row.messages for row in self.rows if row.direction == direction)


@dataclass(frozen=True)
class Matched:
    helper: str
    n_asked: int
    n_held: int


@dataclass(frozen=True)
class Spent:
    what: str
    agent: str
    seconds: float
    times: int


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
    n_opened: int
    gain: float
    lower: float
    upper: float


@dataclass(frozen=True)
class GainRow:
    helper: str
    answer: str
    gain: float
    lower: float
    upper: float
    holds_with: float


@dataclass(frozen=True)
class View:
    """Everything that a page shows about a run. What is not known is None or empty."""

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
    released: dict[str, tuple[ReleasedBits, ...]] = field(default_factory=dict)
    labels_given: LabelsGiven | None = None
    goes_on: tuple[str, ...] = ()
    opened: tuple[OpenedSoFar, ...] = ()
    gains: tuple[GainRow, ...] = ()
    predicted: int = 0
    troubles: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def findings(self) -> Findings:
        return Findings(self.subject.metric, **{each.name: getattr(self, each.name) for each in fields(Findings)[1:]})

    @property
    def unchecked(self) -> str:
        """What must be said of a result without hold-out samples; empty of others, and where there is none."""
        judged = self.answer is not None or any(row.accuracy is not None for row in self.rounds)
        if self.state != "finished" or judged or self.n_holdout or self.opened or len(self.subject.classes) == 1:
            return ""
        return unchecked_in_words(self.subject.helpers)

    def to_dict(self) -> dict[str, Any]:
        facts: dict[str, Any] = _plain(asdict(self)) | {"unchecked": self.unchecked or None}
        return facts


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value


def chosen(plan: Plan, values: Mapping[str, object]) -> tuple[Chosen, ...]:
    """Return the settings that apply to a plan. The purpose is left out, because it is free text.

    >>> chosen(Plan(), {"purpose": "to see", "n_rounds": 20, "order": print})[1].value
    'of its own'
    """
    return tuple(
        Chosen(name, _value(value), SETTINGS[name].explanation)
        for name, value in values.items()
        if name != "purpose" and SETTINGS[name].applies(plan)
    )


def _value(value: object) -> str:
    """Return a value as text. The text of anything else than text and numbers is hidden: it may say too much."""
    if value is None:
        return "none"
    return str(value) if isinstance(value, str | int | float) else "of its own"
