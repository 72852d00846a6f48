"""The story of a run: its events, and what its folder holds, gathered into the view that pages show.

Every event takes the same time to add, and the memory that a story needs does not grow with the length of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from assistlearn.evaluation.result import AgentRow
from assistlearn.events import (
    AgentLeft,
    Answered,
    Asked,
    CombinationLearned,
    Event,
    LabelsTold,
    Predicted,
    Recorded,
    ResultJudged,
    RoundFinished,
    RunFinished,
    RunGoesOn,
    SamplesMatched,
    SamplesOpened,
    SamplesSettled,
    TroubleMet,
    TurnFinished,
)
from assistlearn.pages.exchanged import Exchanged
from assistlearn.pages.going_on_words import changes_in_words
from assistlearn.pages.judged import Judged
from assistlearn.pages.thinned import MOST, Thinned
from assistlearn.pages.time_line import TimeLine
from assistlearn.pages.view import (
    ONE_PROCESS,
    LabelsGiven,
    Matched,
    OpenedSoFar,
    Progress,
    Released,
    RoundRow,
    State,
    Subject,
    View,
    WeightsOfRound,
)
from assistlearn.protocol.entries import Entry


@dataclass
class _OfAgent:
    """What an agent has done so far."""

    turns: int = 0
    models: int = 0
    weight: float = 0.0
    best: float | None = None
    left: int | None = None


@dataclass
class Story:
    """Gathers the events of a run one by one, and returns a view of the run at any time.

    Parameters
    ----------
    subject : Subject
        What the run is about.
    most_rows : int
        How many rounds are kept for tables, beside the last one.

    Examples
    --------
    >>> subject = Subject("r", "bank", ("bank", "lab"), ("no", "yes"), "processes", (), 5, False, "accuracy")
    >>> story = Story(subject)
    >>> story.feed(Recorded(None, RoundFinished(round=1, holdout_accuracy=0.8)))
    >>> story.view("going on").rounds[-1].accuracy
    0.8
    """

    subject: Subject
    most_rows: int = MOST
    _began: datetime | None = None
    _last: datetime | None = None
    _agents: dict[str, _OfAgent] = field(default_factory=dict)
    _rounds: Thinned[RoundRow] = field(init=False)
    _weights: Thinned[dict[str, float]] = field(init=False)
    _n_rounds_done: int = 0
    _spent: int = 0
    _matched: dict[str, Matched] = field(default_factory=dict)
    _opened: Thinned[OpenedSoFar] = field(default_factory=Thinned)
    _n_looks: int = 0
    _asked: tuple[str, datetime | None] | None = None
    _told: Exchanged = field(default_factory=Exchanged)
    _ledger: Exchanged | None = None
    _labels: LabelsGiven | None = None
    _settled: SamplesSettled | None = None
    _goes_on: RunGoesOn | None = None
    _finished: RunFinished | None = None
    _judged: Judged = field(default_factory=Judged)
    _released: dict[str, tuple[Released, ...]] = field(default_factory=dict)
    _versions: dict[str, str] = field(default_factory=dict)
    _n_training: int | None = None
    _predicted: int = 0
    _troubles: int = 0

    def __post_init__(self) -> None:
        self._line = TimeLine(self.subject.initiator, self.subject.is_pilot, self.subject.label_only)
        self._agents = {name: _OfAgent() for name in self.subject.agents}
        self._rounds, self._weights = Thinned(self.most_rows), Thinned(self.most_rows)

    # -- what happens

    def feed(self, recorded: Recorded) -> None:
        """Add one more event."""
        time, event = recorded.time, recorded.event
        self._line.feed(time, event)
        if time is not None:
            self._began, self._last = self._began or time, time
        match event:
            case Asked():
                self._spend(event)
                self._told.count(event.agent, "sent", event.type, event.bytes)
                self._asked = event.agent, time
            case Answered():
                self._spend(event)
                self._told.count(event.agent, "received", event.type, event.bytes)
                self._asked = None
            case TurnFinished():
                self._feed_turn(event)
            case RoundFinished():
                self._feed_round(event)
            case RunGoesOn():
                self._goes_on = event
            case _:
                self._feed_other(event)

    def _spend(self, message: Asked | Answered) -> None:
        """Count the bytes of a message for the bits of rounds. Those that match ids do not count."""
        self._spent += 0 if message.type in ("align", "aligned") else message.bytes

    def _feed_turn(self, turn: TurnFinished) -> None:
        agent = self._agents.setdefault(turn.agent, _OfAgent())
        agent.turns += 1
        self._asked = None
        weights = dict(self._weights.get(turn.round) or {})
        if turn.contribution is not None:
            agent.models += 1
            agent.weight += turn.contribution.model_weight
            agent.best = max(agent.best or 0.0, turn.contribution.accuracy)
            weights[turn.agent] = weights.get(turn.agent, 0.0) + turn.contribution.model_weight
        self._weights[turn.round] = weights

    def _feed_round(self, event: RoundFinished) -> None:
        self._n_rounds_done = event.round
        n_training = None if self._settled is None else self._settled.n_samples
        bits = 8 * self._spent / n_training if n_training and self.subject.reach != ONE_PROCESS else None
        row = RoundRow(event.round, event.holdout_accuracy, event.metric, event.loss, event.error, bits=bits)
        self._rounds[event.round] = row

    def _feed_other(self, event: Event) -> None:
        match event:
            case SamplesMatched() if self._settled is None and self._finished is None:  # later ones are for predictions
                self._matched[event.agent] = Matched(event.agent, event.n_asked, event.n_held)
            case SamplesSettled():
                self._settled = event
            case SamplesOpened():
                look = OpenedSoFar(event.n_opened, event.gain, event.lower, event.upper)
                self._n_looks += 1
                self._opened[self._n_looks] = look
            case LabelsTold():
                self._labels = LabelsGiven(
                    event.epsilon, event.n_samples, event.n_drawn, event.n_true, event.most_spent
                )
            case AgentLeft():
                self._agents.setdefault(event.agent, _OfAgent()).left = event.turn
            case CombinationLearned() | ResultJudged():
                self._judged.hear(event)
            case RunFinished():
                self._finished = event
            case Predicted():
                self._predicted += event.n_samples
            case TroubleMet():
                self._troubles += 1
            case _:
                pass  # other events matter only for the times

    # -- what the folder holds

    def take_result(self, result: Mapping[str, Any], calibration: str | None = None) -> None:
        """Add the result, which is written at the end of training; ``calibration`` says how probabilities were made."""
        self._judged.take_result(result, calibration)
        self._n_training = result.get("n_samples")
        self._versions = dict(result.get("versions") or {})

    def take_worth(self, worth: Mapping[str, Any]) -> None:
        """Add what a pilot has found."""
        self._judged.take_worth(worth)

    def take_ledger(self, entries: Iterable[Entry]) -> None:
        """Add what the initiator's ledger says about the run; messages are then counted by it, and not by events."""
        self._ledger = Exchanged.of_ledger(entries)

    def take_released(self, released: Mapping[str, Iterable[Released]]) -> None:
        """Add what each agent has released about samples."""
        self._released = {agent: tuple(each) for agent, each in released.items()}

    # -- the view

    def view(self, state: State) -> View:
        """Return the view of the run. The caller gives the state, which only the folder of the run shows."""
        judged, exchanged = self._judged, self._told if self._ledger is None else self._ledger
        n_training = self._n_training or (None if self._settled is None else self._settled.n_samples)
        turns = {name: agent.turns for name, agent in self._agents.items()}
        view = View(
            self.subject,
            state,
            self._progress(state),
            began=self._began,
            last=self._last,
            rounds=self._round_rows(),
            weights=self._weight_rows(),
            agents=self._agent_rows(),
            exchanges=exchanged.exchanges(self.subject.helpers, turns, n_training),
            counted_by="events" if self._ledger is None else "ledger",
            matched=tuple(self._matched.values()),
            n_training=n_training,
            n_holdout=None if self._settled is None else self._settled.n_holdout,
            seconds=self._line.spent(),
            released=self._released,
            labels_given=self._labels,
            goes_on=() if self._goes_on is None else tuple(changes_in_words(self._goes_on)),
            opened=tuple(look for _, look in self._opened.items()),
            predicted=self._predicted,
            troubles=self._troubles,
            versions=self._versions,
        )
        if self._finished is not None:
            view = replace(view, stop_reason=str(self._finished.reason), n_rounds=self._finished.n_rounds)
        return judged.add_to(view)

    def _progress(self, state: State) -> Progress:
        turns = sum(agent.turns for agent in self._agents.values())
        waiting = self._asked if state == "going on" else None
        again = 0 if self._goes_on is None else max(self._goes_on.again.values(), default=0)
        return Progress(self._n_rounds_done, again + self.subject.n_rounds, turns, *(waiting or (None, None)))

    def _round_rows(self) -> tuple[RoundRow, ...]:
        kept = self._judged.kept_rounds(self._finished)
        if kept is None:
            return tuple(row for _, row in self._rounds.items())
        rows = [replace(row, kept=number <= kept) for number, row in self._rounds.items()]
        last = max(kept, 1)  # if no round was any good, the result is still that of the first
        return tuple(self._judged.of_the_result(row, self.subject.metric) if row.round == last else row for row in rows)

    def _weight_rows(self) -> tuple[WeightsOfRound, ...]:
        return tuple(
            WeightsOfRound(number, tuple(weights.get(name) for name in self.subject.agents))
            for number, weights in self._weights.items()
        )

    def _agent_rows(self) -> tuple[AgentRow, ...]:
        return tuple(
            AgentRow(
                name,
                each.turns,
                each.models,
                each.turns - each.models,
                each.models,
                each.weight,
                each.best,
                each.left,
            )
            for name, each in self._agents.items()
        )
