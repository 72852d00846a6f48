"""What a fitted estimator has learned from the events of its session."""

from __future__ import annotations

from dataclasses import dataclass, field

from assistlearn.core import Contribution
from assistlearn.events import (
    AgentLeft,
    CombinationLearned,
    Event,
    RoundFinished,
    RunFinished,
    StopReason,
    TurnFinished,
)


@dataclass
class Learned:
    """What a fitted estimator keeps of the events of its session.

    Attributes
    ----------
    contributions : list of Contribution
        The kept models of all rounds.
    sat_out : list of TurnFinished
        The turns of all rounds that gave no model.
    holdout_scores : list of float
        The accuracy on the hold-out samples after each round.
    metrics : list of float or None
        The metric that decides when to stop, after each round.
    losses : list of float
        The loss of the combination after each round.
    left : dict of str to str
        The agents that left the run, and why.
    n_rounds, stop_reason : int, StopReason
        The number of rounds whose models vote, and why training ended.
    """

    contributions: list[Contribution] = field(default_factory=list)
    sat_out: list[TurnFinished] = field(default_factory=list)
    holdout_scores: list[float] = field(default_factory=list)
    metrics: list[float | None] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    n_rounds: int = 0
    stop_reason: StopReason = StopReason.ALL_ROUNDS_DONE

    def hear(self, event: Event) -> None:
        """Record an event."""
        match event:
            case TurnFinished(contribution=Contribution() as contribution):
                self.contributions.append(contribution)
            case TurnFinished():
                self.sat_out.append(event)
            case RoundFinished():
                self.holdout_scores += [] if event.holdout_accuracy is None else [event.holdout_accuracy]
                self.metrics += [] if event.holdout_accuracy is None else [event.metric]
                self.losses += [] if event.loss is None else [event.loss]
            case CombinationLearned() if event.holdout_accuracy is not None:
                self.holdout_scores[event.n_rounds - 1] = event.holdout_accuracy
                self.metrics[event.n_rounds - 1] = event.metric
            case AgentLeft():
                self.left[event.agent] = event.reason
            case RunFinished():
                self.n_rounds, self.stop_reason = event.n_rounds, event.reason
