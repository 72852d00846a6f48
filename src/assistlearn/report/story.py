"""The story of a run: its events, and what its folder holds, gathered into the view that a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from assistlearn.agent.file import load_description
from assistlearn.errors import AssistLearnError
from assistlearn.evaluation.calibration import Reliability, ScoreCalibration, in_words
from assistlearn.evaluation.metrics import Difference
from assistlearn.evaluation.result import (
    AgentRow,
    Compared,
    Confusion,
    Findings,
    Headline,
    SharedIn,
    ShareRow,
    TrainedWith,
    findings,
    in_the_result,
    trained_with,
)
from assistlearn.evaluation.words import LOSS_WORDS, counted, unchecked_in_words
from assistlearn.events import (
    AgentLeft,
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
    StopReason,
    TroubleMet,
    TurnFinished,
    read,
)
from assistlearn.initiator.folder import RunFolder, RunSettings, log_is_whole, releases_of_run, somebody_works, terms_of
from assistlearn.plan import SETTINGS, Plan
from assistlearn.protocol.codec import ReleasedBits
from assistlearn.protocol.ledger import Entry, entries_of, verify

# What a page shows about a run: plain figures and names, but nothing about a single sample.

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


Row = TypeVar("Row")
Key: TypeAlias = tuple[str, str]

MOST = 200
"""The most rounds or looks that are kept for a table of a page, beside the last one."""


@dataclass
class _OfAgent:
    turns: int = 0
    models: int = 0
    weight: float = 0.0
    best: float | None = None
    left: int | None = None


@dataclass
class Story:
    """Gathers the events of a run one by one, and what its folder holds, and returns a view of the run at any time.

    Every event takes the same time, and the memory that a story needs does not grow with the length of the run.
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
    _opened: Thinned[OpenedSoFar] = field(init=False)
    _n_looks: int = 0
    _asked: tuple[str, datetime | None] | None = None
    _messages: Exchanged = field(init=False)
    _ledger: Exchanged | None = None
    _labels: LabelsGiven | None = None
    _settled: SamplesSettled | None = None
    _goes_on: RunGoesOn | None = None
    _finished: RunFinished | None = None
    _evaluation: dict[str, Any] = field(default_factory=dict)
    _learned: Mapping[str, Any] = field(default_factory=dict)
    _result: Mapping[str, Any] = field(default_factory=dict)
    _worth: Mapping[str, Any] | None = None
    _calibration: str | None = None
    _released: dict[str, tuple[ReleasedBits, ...]] = field(default_factory=dict)
    _predicted: int = 0
    _troubles: int = 0

    def __post_init__(self) -> None:
        self._line = TimeLine(self.subject.initiator, self.subject.is_pilot, self.subject.label_only)
        self._agents = {name: _OfAgent() for name in self.subject.agents}
        self._rounds, self._weights = Thinned(self.most_rows), Thinned(self.most_rows)
        self._opened, self._messages = Thinned(), Exchanged()

    # -- what happens

    def feed(self, recorded: Recorded) -> None:
        time, event = recorded.time, recorded.event
        self._line.feed(time, event)
        if time is not None:
            self._began, self._last = self._began or time, time
        match event:
            case Asked():
                self._spend(event)
                self._messages.count(event.agent, "sent", event.type, event.bytes)
                self._asked = event.agent, time
            case Answered():
                self._spend(event)
                self._messages.count(event.agent, "received", event.type, event.bytes)
                self._asked = None
            case TurnFinished():
                self._feed_turn(event)
            case RoundFinished():
                self._feed_round(event)
            case RunGoesOn():
                self._goes_on = event
            case CombinationLearned():
                self._learned = vars(event)
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
            case ResultJudged():
                self._evaluation = dict(vars(event))
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
        self._result, self._calibration = result, calibration
        self._evaluation |= result.get("evaluation") or {}
        self._learned = result.get("combination") or self._learned

    def take_worth(self, worth: Mapping[str, Any]) -> None:
        self._worth = worth

    def take_ledger(self, entries: Iterable[Entry], released: Mapping[str, Iterable[ReleasedBits]]) -> None:
        """Add what the initiator's ledger says, and what each agent has released about samples.

        Where there are entries, messages are counted by them, and not by events.
        """
        entries = list(entries)
        self._ledger = Exchanged.of_ledger(entries) if entries else None
        self._released = {agent: tuple(each) for agent, each in released.items()}

    # -- the view

    def view(self, state: State) -> View:
        """Return the view of the run. The caller gives the state, which only the folder of the run shows."""
        exchanged = self._messages if self._ledger is None else self._ledger
        settled, result, finished = self._settled, self._result, self._finished
        n_training = result.get("n_samples") or (None if settled is None else settled.n_samples)
        turns = {name: agent.turns for name, agent in self._agents.items()}
        found = findings(self._evaluation, self.subject.metric)
        facts = {each.name: getattr(found, each.name) for each in fields(Findings)[1:]}
        if self.subject.is_pilot:
            facts["answer"] = self._answer_of_pilot()
        reason = StopReason.__members__.get(
            result.get("stop_reason", ""), None if finished is None else finished.reason
        )
        return View(
            self.subject,
            state,
            self._progress(state),
            began=self._began,
            last=self._last,
            stop_reason=None if reason is None else str(reason),
            n_rounds=result.get("n_rounds", None if finished is None else finished.n_rounds),
            rounds=self._round_rows(),
            weights=tuple(
                WeightsOfRound(number, tuple(weights.get(name) for name in self.subject.agents))
                for number, weights in self._weights.items()
            ),
            agents=self._agent_rows(found.left_out),
            calibration=self._calibration,
            combination=self._learned.get("kind"),
            trained_with=trained_with(result) if result.get("traffic") else (),
            exchanges=exchanged.exchanges(self.subject.helpers, turns, n_training),
            counted_by="events" if self._ledger is None else "ledger",
            matched=tuple(self._matched.values()),
            n_training=n_training,
            n_holdout=None if settled is None else settled.n_holdout,
            seconds=self._line.spent(),
            released=self._released,
            labels_given=self._labels,
            goes_on=() if self._goes_on is None else tuple(changes_in_words(self._goes_on)),
            opened=tuple(look for _, look in self._opened.items()),
            gains=self._gains(),
            predicted=self._predicted,
            troubles=self._troubles,
            versions=dict(result.get("versions") or {}),
            **facts,
        )

    def _progress(self, state: State) -> Progress:
        turns = sum(agent.turns for agent in self._agents.values())
        waiting = self._asked if state == "going on" else None
        again = 0 if self._goes_on is None else max(self._goes_on.again.values(), default=0)
        return Progress(self._n_rounds_done, again + self.subject.n_rounds, turns, *(waiting or (None, None)))

    def _round_rows(self) -> tuple[RoundRow, ...]:
        known = (each.get("n_rounds") for each in (self._learned, self._result))
        kept = next((number for number in known if number is not None), None)
        if kept is None and self._finished is not None:
            kept = self._finished.n_rounds
        if kept is None:  # that is not decided yet
            return tuple(row for _, row in self._rounds.items())
        rows = [replace(row, kept=number <= kept) for number, row in self._rounds.items()]
        last = max(kept, 1)  # if no round was any good, the result is still that of the first
        return tuple(self._of_the_result(row) if row.round == last else row for row in rows)

    def _of_the_result(self, row: RoundRow) -> RoundRow:
        """Return the row of the last round that counts with the figures of the result itself, where these are known."""
        found = findings(self._evaluation, self.subject.metric)
        accuracy, leading = found.measured("accuracy"), found.measured(self.subject.metric)
        if accuracy is not None and leading is not None:
            row = replace(row, accuracy=accuracy.assisted, metric=leading.assisted)
        loss, error = self._learned.get("loss"), self._learned.get("error")
        return row if loss is None else replace(row, loss=loss, error=error)

    def _agent_rows(self, left_out: Sequence[str]) -> tuple[AgentRow, ...]:
        contributions = self._result.get("contributions")
        rows = []
        for name, each in self._agents.items():
            kept: tuple[int, float, float | None] = each.models, each.weight, each.best
            if contributions is not None:
                kept = in_the_result(name, contributions, left_out)
            rows.append(AgentRow(name, each.turns, each.models, each.turns - each.models, *kept, each.left))
        return tuple(rows)

    def _answer_of_pilot(self) -> Headline | None:
        worth = self._worth
        if worth is None:
            return None
        between = Difference(worth["estimate"], worth["lower"], worth["upper"])
        what = LOSS_WORDS[worth["asked"]["loss"]]
        figures = worth["loss_alone"], worth["loss_assisted"]
        return Headline(worth["answer"], what, worth["n_opened"], *figures, between, False, is_gain=True)

    def _gains(self) -> tuple[GainRow, ...]:
        each = {} if self._worth is None else self._worth["each"]
        return tuple(
            GainRow(name, gain["answer"], gain["estimate"], gain["lower"], gain["upper"], 1.0 - gain["alpha"])
            for name, gain in each.items()
        )


# -- from the folder of a run


def subject_of(settings: RunSettings) -> Subject:
    return Subject(
        run=settings.run,
        initiator=settings.initiator,
        agents=tuple(settings.agents),
        classes=tuple(map(str, settings.classes)),
        reach=settings.reach,
        settings=chosen(settings.plan, settings.plan.of_runs()),
        n_rounds=settings.plan.most_rounds,
        keeps_labels=settings.plan.make_method().keeps_labels,
        metric=settings.plan.metric,
        is_pilot=terms_of(settings) is not None,
        label_only=settings.label_only,
        tells_of_others=len(settings.helpers) > 1 and settings.plan.make_method().shares_state,
    )


def story_of(folder: RunFolder, ledger: bool = True, most_rows: int = MOST) -> Story:
    """Return the story of a run so far; a ledger that was changed must not be counted, and raises ``LedgerError``."""
    at = _ledger(folder.settings()) if ledger else None
    if at is not None:
        verify(at)
    story = Story(subject_of(folder.settings()), most_rows)
    for recorded in read(folder.events):
        story.feed(recorded)
    take_folder(story, folder, ledger)
    return story


def take_folder(story: Story, folder: RunFolder, ledger: bool = True) -> None:
    settings, result, worth = folder.settings(), folder.result(), folder.worth()
    if result is not None:
        calibration = ScoreCalibration.from_json(result.get("calibration"))
        learned = result.get("combination") is not None
        story.take_result(result, in_words(calibration, wanted=settings.plan.calibrates, learned=learned))
    if worth is not None:
        story.take_worth(worth)
    if ledger:
        at = _ledger(settings)
        story.take_ledger([] if at is None else entries_of(at, settings.run), releases_of_run(folder))


def lacking(folder: RunFolder) -> list[str]:
    """Return sentences about the files that a run lacks, and what its page lacks because of that."""
    found = []
    if folder.n_turns and not folder.events.exists():
        found.append(f"{folder.events} is missing: rounds, model weights, samples and times are not on the page.")
    elif folder.result() is not None and not log_is_whole(folder):
        found.append(f"{folder.events} lacks the end of the run: rounds, model weights and times may be missing.")
    if folder.lost_result:
        found.append("The run was finished once, but its result.json is lost. Resume the run to make it again.")
    if folder.n_turns and _ledger(folder.settings()) is None:
        found.append("The initiator's ledger is not where it was: messages are counted by the run's own events.")
    return found


def view_of(folder: RunFolder) -> View:
    return story_of(folder).view(state_of(folder))


def state_of(folder: RunFolder) -> State:
    is_pilot = terms_of(folder.settings()) is not None
    if (folder.worth() if is_pilot else folder.result()) is not None:
        return "finished"
    return "going on" if somebody_works(folder.path) else "stopped"


def _ledger(settings: RunSettings) -> Path | None:
    try:
        path = load_description(Path(settings.files[settings.initiator])).models / "ledger.jsonl"
    except (AssistLearnError, OSError, KeyError):
        return None
    return path if path.exists() else None


# -- what has changed since the earlier run that a run goes on from


def changes_in_words(event: RunGoesOn) -> list[str]:
    """Return the changes since the earlier run, each as a sentence.

    >>> from assistlearn.events import RunGoesOn
    >>> for words in changes_in_words(RunGoesOn("spring", 40, 60, 2, 1, again={"lab": 2}, anew={"shop": "it is lost"})):
    ...     print(words)
    Going on from run spring: 40 people are as they were, 60 are new, 2 are gone, and 1 have another label.
    Kept without new training: 2 turns of lab.
    shop trains anew: it is lost.
    At least half of the people are new: a run from the beginning is likely to be better.
    """
    words = [
        people_in_words(event),
        *_agents(event),
        *(f"The setting {name} {words}." for name, words in event.settings.items()),
    ]
    if event.n_new >= event.n_same:
        words.append("At least half of the people are new: a run from the beginning is likely to be better.")
    return words


def people_in_words(event: RunGoesOn) -> str:
    people = f"{event.n_same:,} people are as they were, {event.n_new:,} are new, {event.n_gone:,} are gone"
    if event.n_relabelled:
        people += f", and {event.n_relabelled:,} have another label"
    return f"Going on from run {event.earlier}: {people}."


def _agents(event: RunGoesOn) -> Iterator[str]:
    if event.again:
        kept = ", ".join(f"{counted(n, 'turn')} of {name}" for name, n in event.again.items())
        yield f"Kept without new training: {kept}."
    for name, why in event.anew.items():
        yield f"{name} trains anew: {why}."
    for names, words in ((event.new_agents, "New"), (event.lost_agents, "No longer there")):
        if names:
            yield f"{words}: {', '.join(names)}."
    if event.changed_tables:
        yield f"Tables that have changed since: {', '.join(event.changed_tables)}."


# -- what a story counts


class Exchanged:
    """Counts messages and bytes by helper, direction and type, from events or from a ledger."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Literal["sent", "received"], str], list[int]] = {}

    @classmethod
    def of_ledger(cls, entries: Iterable[Entry]) -> Exchanged:
        found = cls()
        for entry in entries:
            if entry.direction in ("sent", "received"):
                found.count(entry.peer, entry.direction, entry.type, entry.bytes)
        return found

    def count(self, helper: str, direction: Literal["sent", "received"], type: str, n_bytes: int) -> None:
        counts = self._counts.setdefault((helper, direction, type), [0, 0])
        counts[0] += 1
        counts[1] += n_bytes

    @property
    def names(self) -> list[str]:
        return sorted({who for who, _, _ in self._counts if who})

    def rows_of(self, helper: str) -> tuple[MessageRow, ...]:
        found = [MessageRow(way, type_, *counts) for (who, way, type_), counts in self._counts.items() if who == helper]
        places = {name: place for place, name in enumerate(WORDS)}
        return tuple(
            sorted(found, key=lambda row: (row.direction == "received", places.get(row.type, len(places)), row.type))
        )

    def exchanges(self, helpers: Sequence[str], turns: dict[str, int], n_samples: int | None) -> tuple[Traffic, ...]:
        return tuple(self._traffic(helper, turns.get(helper, 0), n_samples or 0) for helper in helpers)

    def _traffic(self, helper: str, turns: int, n_samples: int) -> Traffic:
        rows = self.rows_of(helper)
        bits = [
            8 * sum(row.bytes for row in rows if row.type in types) / (turns * n_samples) if turns * n_samples else None
            for types in (("take-turn", "take-again"), ("turn-taken",))
        ]
        return Traffic(helper, rows, turns, *bits)


class Thinned(Generic[Row]):
    """Keeps every row while there are few; later every second, every fourth and so on, and always the last one.

    So the page of a long run stays short: ``most`` rows are kept beside the last one.

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
        if self._last is None or number >= self._last[0]:
            self._last = number, row
        if (number - 1) % self._step:
            return
        self._rows[number] = row
        while len(self._rows) > self._most:
            self._step *= 2
            self._rows = {each: kept for each, kept in self._rows.items() if not (each - 1) % self._step}

    def get(self, number: int) -> Row | None:
        if self._last is not None and number == self._last[0]:
            return self._last[1]
        return self._rows.get(number)

    def items(self) -> list[tuple[int, Row]]:
        found = self._rows if self._last is None else self._rows | {self._last[0]: self._last[1]}
        return sorted(found.items(), key=lambda item: item[0])


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


class TimeLine:
    """Adds up where the seconds of a run went, event by event.

    The time between two events counts for the work that the second one ends: an answer ends the wait for it, and an
    initiator's turn ends its own fit. So the parts add up to the whole.
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
        if time is None:
            return
        if self._before is not None:
            key = (IDLE, "") if self._is_idle or self._begins_anew(event) else self._key(event)
            self._seconds[key] = self._seconds.get(key, 0.0) + max((time - self._before).total_seconds(), 0.0)
            is_counted = isinstance(event, TurnFinished) and event.agent != self._initiator  # its answer was counted
            self._times[key] = self._times.get(key, 0) + (not is_counted)
        self._before = time
        self._note(event)

    def spent(self) -> tuple[Spent, ...]:
        keys = sorted(self._seconds, key=lambda key: _ORDER.index(key[0]))
        return tuple(Spent(*key, round(self._seconds[key], 3), self._times[key]) for key in keys)

    def _begins_anew(self, event: Event) -> bool:
        """Whether an event shows that a command resumes the run, because it comes again. Before it, nobody worked."""
        return _beginning(event) in self._begun

    def _note(self, event: Event) -> None:
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
