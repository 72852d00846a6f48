"""Facts that the loop yields. Progress bars, ledgers, plots and reports read them; the loop knows none of these."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from assistlearn.core import Contribution


class StopReason(StrEnum):
    """Why a run ended."""

    ALL_ROUNDS_DONE = "all rounds done"
    NO_AGENT_CONTRIBUTED = "no agent contributed in a whole round"
    WEAK_AGENT = "an agent's model was no better than chance"
    ALL_AGENTS_PERFECT = "every agent's model was perfect, so that ignorance carries no information"
    HOLDOUT_STOPPED_IMPROVING = "the error on the hold-out samples stopped improving"
    ONE_CLASS = "the labels have one class only"


@dataclass(frozen=True)
class TurnFinished:
    """An agent has had its turn; ``contribution`` is None where it sat out."""

    turn: int
    round: int
    agent: str
    model_weight: float
    mean_reward: float
    contribution: Contribution | None


@dataclass(frozen=True)
class AgentLeft:
    """An agent was to take this turn but is gone; the run goes on without it, and the next agent takes the turn."""

    turn: int
    round: int
    agent: str
    reason: str


@dataclass(frozen=True)
class RoundFinished:
    """Every agent has had its turn in this round."""

    round: int
    holdout_accuracy: float | None


@dataclass(frozen=True)
class RunFinished:
    """Training is over; the ensemble is made of the contributions of the first ``n_rounds`` rounds."""

    reason: StopReason
    n_rounds: int


Event: TypeAlias = TurnFinished | AgentLeft | RoundFinished | RunFinished
