"""Everything that happens in a run. Progress bars, reports, plots and ledgers of times read these facts.

A new fact is a frozen dataclass below :class:`Event`: it is then written to logs and read back by its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from assistlearn.core import Contribution


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

    @classmethod
    def _missing_(cls, value: object) -> StopReason | None:
        """Understand what earlier versions wrote into logs and results."""
        return next((reason for reason in cls if value == _EARLIER.get(reason.name)), None)


_EARLIER = {
    "ALL_AGENTS_PERFECT": "every agent's model was perfect, so that ignorance carries no information",
    "HOLDOUT_STOPPED_IMPROVING": "the error on the hold-out samples stopped improving",
    "ROUNDS_NO_LONGER_PAY": "another round was not worth its bits: the loss of the combination hardly fell",
    "NO_AGENT_LEFT": "every helper is gone, and the initiator has labels alone",
}


@dataclass(frozen=True)
class Event:
    """A fact. ``kinds`` knows all of them by name."""

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
    """The samples of the run are settled: so many to train on, so many held out."""

    n_samples: int
    n_holdout: int


@dataclass(frozen=True)
class SamplesDone(Event):
    """So many samples of so many are done with an agent, in matching or in prediction."""

    agent: str
    done: int
    total: int


@dataclass(frozen=True)
class RunGoesOn(Event):
    """The run goes on from an earlier one: what has changed since, and what is kept of it.

    Of its people, ``n_same`` are as they were, ``n_gone`` are gone, and ``n_relabelled`` have another label; ``n_new``
    are new. ``again`` says how many turns of each agent are taken again, ``anew`` why an agent cannot; ``settings`` has
    those that differ: what they were, and what they are.
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


# -- messages and the way they take


@dataclass(frozen=True)
class Asked(Event):
    """A request went to an agent."""

    agent: str
    type: str
    bytes: int


@dataclass(frozen=True)
class Answered(Event):
    """Its answer came, after so many seconds."""

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
    """Something did not work, and is tried again; in words."""

    words: str


# -- training


@dataclass(frozen=True)
class LabelsTold(Event):
    """Labels were changed by chance, for helpers: so many of them now, the others as they were told before.

    ``most_spent`` is what all runs so far have given away about one person's label at the most, as an epsilon.
    """

    label: str
    epsilon: float
    n_samples: int
    n_drawn: int
    most_spent: float


@dataclass(frozen=True)
class TurnFinished(Event):
    """An agent has had its turn; ``contribution`` is None where it sat out, and ``why`` says why if it said so."""

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

    ``loss`` is that of the combination on samples it has not seen; ``metric`` is what decides when to stop, on the
    hold-out samples.
    """

    round: int
    holdout_accuracy: float | None
    loss: float | None = None
    error: float | None = None
    metric: float | None = None


@dataclass(frozen=True)
class CombinationLearned(Event):
    """The initiator has learned what to make of ``n_rounds`` rounds' scores; ``losses`` are those of all kinds."""

    n_rounds: int
    kind: str
    loss: float
    error: float
    losses: dict[str, float] = field(default_factory=dict)
    skipped: str = ""


@dataclass(frozen=True)
class AloneBegan(Event):
    """The initiator trains alone, with so many models at the most, to compare; nobody else hears of it."""

    n_models: int


@dataclass(frozen=True)
class ResultJudged(Event):
    """What the hold-out samples say: metrics with help and alone, their differences, and who makes it worse."""

    n_samples: int
    assisted: dict[str, float | None]
    alone: dict[str, float | None]
    differences: dict[str, dict[str, float] | None]
    worse: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RunFinished(Event):
    """Training is over; the ensemble is made of the contributions of the first ``n_rounds`` rounds."""

    reason: StopReason
    n_rounds: int


# -- a pilot


@dataclass(frozen=True)
class SamplesOpened(Event):
    """So many samples of so many were opened in a pilot: how much all helpers together gain, and its limits."""

    n_opened: int
    n_pool: int
    gain: float
    lower: float
    upper: float


# -- afterwards


@dataclass(frozen=True)
class Predicted(Event):
    """Samples were predicted: how many each agent knows, and who did not take part, and why."""

    n_samples: int
    n_unknown: int
    known: dict[str, int] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunForgotten(Event):
    """Agents were asked to forget the run: how many models each removed, and who did not, and why."""

    removed: dict[str, int] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UnknownEvent(Event):
    """A fact that another release wrote and this one does not know."""

    kind: str
    facts: dict[str, Any] = field(default_factory=dict)
