"""The story of a run: its events, and what its folder holds, gathered into the view that a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from assistlearn.agent.file import load_description
from assistlearn.errors import AssistLearnError
from assistlearn.evaluation.calibration import ScoreCalibration, in_words
from assistlearn.evaluation.differences import Difference
from assistlearn.evaluation.result import AgentRow, Findings, Headline, findings, in_the_result, trained_with
from assistlearn.evaluation.terms import LOSS_WORDS
from assistlearn.evaluation.words import counted
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
    StopReason,
    TroubleMet,
    TurnFinished,
    read,
)
from assistlearn.initiator.folder import RunFolder, log_is_whole, releases_of_run, somebody_works
from assistlearn.initiator.settings import RunSettings, terms_of
from assistlearn.protocol.ledger import Entry, entries_of, verify
from assistlearn.report.view import (
    MOST,
    ONE_PROCESS,
    WORDS,
    GainRow,
    LabelsGiven,
    Matched,
    MessageRow,
    OpenedSoFar,
    Progress,
    Released,
    RoundRow,
    State,
    Subject,
    Thinned,
    TimeLine,
    Traffic,
    View,
    WeightsOfRound,
    chosen,
)

# Gather what is known about how good a result is: from events during the run, and from the folder afterwards.


@dataclass
class Judged:
    """Gathers what is known about how good a result is, and adds it to a view."""

    _evaluation: dict[str, Any] = field(default_factory=dict)
    _worth: Mapping[str, Any] | None = None
    _learned: Mapping[str, Any] = field(default_factory=dict)
    _calibration: str | None = None
    _result: Mapping[str, Any] | None = None

    def hear(self, event: CombinationLearned | ResultJudged) -> None:
        """Add which combination was learned, or what the hold-out samples show."""
        if isinstance(event, CombinationLearned):
            self._learned = vars(event)
        else:
            self._evaluation = dict(vars(event))

    def take_result(self, result: Mapping[str, Any], calibration: str | None) -> None:
        """Add the result, which is written at the end of training."""
        self._result = result
        self._evaluation |= result.get("evaluation") or {}
        self._learned = result.get("combination") or self._learned
        self._calibration = calibration

    def take_worth(self, worth: Mapping[str, Any]) -> None:
        """Add what a pilot has found."""
        self._worth = worth

    def kept_rounds(self, finished: RunFinished | None) -> int | None:
        """Return how many rounds the result has; None while that is not decided."""
        known = (self._learned.get("n_rounds"), self._of_result("n_rounds"), getattr(finished, "n_rounds", None))
        return next((number for number in known if number is not None), None)

    def _of_result(self, name: str) -> Any:
        return None if self._result is None else self._result.get(name)

    def add_to(self, view: View) -> View:
        """Return a copy of a view, to which everything gathered here is added."""
        found = findings(self._evaluation, view.subject.metric)
        facts = {each.name: getattr(found, each.name) for each in fields(Findings)[1:]}
        facts["answer"] = self._answer_of_pilot() if view.subject.is_pilot else found.answer
        reason, n_rounds = self._of_result("stop_reason"), self._of_result("n_rounds")
        view = replace(
            view,
            stop_reason=str(StopReason[reason]) if reason in StopReason.__members__ else view.stop_reason,
            n_rounds=view.n_rounds if n_rounds is None else n_rounds,
            calibration=self._calibration,
            combination=self._learned.get("kind"),
            trained_with=() if not self._of_result("traffic") else trained_with(self._result or {}),
            gains=self._gains(),
            **facts,
        )
        contributions = self._of_result("contributions")
        if contributions is None:
            return view
        rows = []
        for row in view.agents:
            models, weight, best = in_the_result(row.agent, contributions, found.left_out)
            rows.append(replace(row, models=models, weight=weight, best=best))
        return replace(view, agents=tuple(rows))

    def of_the_result(self, row: RoundRow, metric: str) -> RoundRow:
        """Return the row of the last round that counts with the figures of the result itself, where these are known."""
        found = findings(self._evaluation, metric)
        accuracy, leading = found.measured("accuracy"), found.measured(metric)
        if accuracy is not None and leading is not None:
            row = replace(row, accuracy=accuracy.assisted, metric=leading.assisted)
        loss, error = self._learned.get("loss"), self._learned.get("error")
        return row if loss is None else replace(row, loss=loss, error=error)

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


# Count the messages and bytes exchanged with each helper, by type, from events or from the ledger.


PLACES = tuple(WORDS)


class Exchanged:
    """Counts messages by helper, direction and type."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], list[int]] = {}

    @classmethod
    def of_ledger(cls, entries: Iterable[Entry]) -> Exchanged:
        """Count the messages among a ledger's entries of a run."""
        found = cls()
        for entry in entries:
            if entry.direction in ("sent", "received"):
                found.count(entry.peer, entry.direction, entry.type, entry.bytes)
        return found

    def count(self, helper: str, direction: Literal["sent", "received"], type: str, n_bytes: int) -> None:
        """Count one more message."""
        counts = self._counts.setdefault((helper, direction, type), [0, 0])
        counts[0] += 1
        counts[1] += n_bytes

    @property
    def names(self) -> list[str]:
        """The agents with which messages were exchanged."""
        return sorted({who for who, _, _ in self._counts if who})

    def rows_of(self, helper: str) -> tuple[MessageRow, ...]:
        """Return the counts of one helper, in the order of a run."""
        found: list[MessageRow] = []
        for (who, direction, type_), (messages, n_bytes) in self._counts.items():
            if who == helper and direction in ("sent", "received"):
                found.append(MessageRow("sent" if direction == "sent" else "received", type_, messages, n_bytes))
        return tuple(sorted(found, key=lambda row: (row.direction == "received", _place(row.type), row.type)))

    def exchanges(self, helpers: Sequence[str], turns: dict[str, int], n_samples: int | None) -> tuple[Traffic, ...]:
        """Return what was exchanged with each helper; ``turns`` is the number of turns that each has taken."""
        return tuple(self._exchange(helper, turns.get(helper, 0), n_samples or 0) for helper in helpers)

    def _exchange(self, helper: str, turns: int, n_samples: int) -> Traffic:
        rows = self.rows_of(helper)
        bits = [
            8 * sum(row.bytes for row in rows if row.type in types) / (turns * n_samples) if turns * n_samples else None
            for types in (("take-turn", "take-again"), ("turn-taken",))
        ]
        return Traffic(helper, rows, turns, *bits)


def _place(type_: str) -> int:
    return PLACES.index(type_) if type_ in PLACES else len(PLACES)


# Say in words what has changed since the earlier run that a run goes on from.


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
    words = [people_in_words(event), *_agents(event), *_settings(event.settings)]
    if event.n_new >= event.n_same:
        words.append("At least half of the people are new: a run from the beginning is likely to be better.")
    return words


def people_in_words(event: RunGoesOn) -> str:
    """Return how many people are the same, new or gone, in a sentence without the words of other agents."""
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


def _settings(settings: dict[str, str]) -> Iterator[str]:
    for name, words in settings.items():
        yield f"The setting {name} {words}."


# The story of a run: its events, and what its folder holds, gathered into the view that pages show.
#
# Every event takes the same time to add, and the memory that a story needs does not grow with the length of the run.


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


# The story of a run as its folder tells it, from the first event to the last.


def subject_of(settings: RunSettings) -> Subject:
    """Return what a run is about, without files, fingerprints and places."""
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
    """Return the story of a run so far: its events, its result, its ledger.

    Parameters
    ----------
    folder : RunFolder
        The folder of a run that has begun, goes on, was interrupted or is finished.
    ledger : bool, default=True
        Whether to read what the initiator's ledger says, too, and what was released.
    most_rows : int
        How many rounds are kept for tables, beside the last one.

    Raises
    ------
    LedgerError
        The initiator's ledger was changed, so it must not be counted.
    """
    at = _ledger(folder.settings()) if ledger else None
    if at is not None:
        verify(at)
    story = Story(subject_of(folder.settings()), most_rows)
    for recorded in read(folder.events):
        story.feed(recorded)
    take_result(story, folder)
    if ledger:
        take_ledger(story, folder)
    return story


def take_folder(story: Story, folder: RunFolder) -> None:
    """Add to a story what the folder holds besides the events: the result, and what the ledger says."""
    take_result(story, folder)
    take_ledger(story, folder)


def take_result(story: Story, folder: RunFolder) -> None:
    """Add to a story the result of its run, or what its pilot has found, if the run is finished."""
    settings, result, worth = folder.settings(), folder.result(), folder.worth()
    if result is not None:
        calibration = ScoreCalibration.from_json(result.get("calibration"))
        learned = result.get("combination") is not None
        story.take_result(result, in_words(calibration, wanted=settings.plan.calibrates, learned=learned))
    if worth is not None:
        story.take_worth(worth)


def take_ledger(story: Story, folder: RunFolder) -> None:
    """Add to a story what the initiator's ledger says, and what each agent has released about samples."""
    settings = folder.settings()
    ledger = _ledger(settings)
    entries = [] if ledger is None else entries_of(ledger, settings.run)
    if entries:
        story.take_ledger(entries)
    story.take_released(
        {
            agent: [Released(each.kind, each.about, each.times, each.said, each.sent) for each in released]
            for agent, released in releases_of_run(folder).items()
        }
    )


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
    """Return the view of a run, from its folder."""
    return story_of(folder).view(state_of(folder))


def state_of(folder: RunFolder) -> State:
    """Return whether a run is finished, goes on, or was stopped."""
    is_pilot = terms_of(folder.settings()) is not None
    if (folder.worth() if is_pilot else folder.result()) is not None:
        return "finished"
    return "going on" if somebody_works(folder.path) else "stopped"


def _ledger(settings: RunSettings) -> Path | None:
    """Return the path of the initiator's ledger; None where it is no longer there."""
    try:
        path = load_description(Path(settings.files[settings.initiator])).models / "ledger.jsonl"
    except (AssistLearnError, OSError, KeyError):
        return None
    return path if path.exists() else None
