"""The story of a run: its events, and what its folder holds, gathered into the view that a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from assistlearn import events as e
from assistlearn.agent.file import load_description
from assistlearn.errors import AssistLearnError
from assistlearn.evaluation import result as r
from assistlearn.evaluation.calibration import ScoreCalibration, in_words
from assistlearn.evaluation.metrics import Difference
from assistlearn.evaluation.words import LOSS_WORDS, counted, unchecked_in_words
from assistlearn.initiator.folder import RunFolder, RunSettings, log_is_whole, releases_of_run, somebody_works, terms_of
from assistlearn.plan import SETTINGS, Plan
from assistlearn.protocol.codec import ReleasedBits
from assistlearn.protocol.ledger import Entry, entries_of, verify

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

MOST = 200
"""The most rounds or looks that are kept for a table of a page, beside the last one."""

ONE_PROCESS = "one process"
"""The value of ``reach`` where all agents are in this process, so that nothing is sent."""

State: TypeAlias = Literal["going on", "stopped", "finished"]
"""The state of a run: a process works on it; none does, and there is no result; or there is a result."""

Direction: TypeAlias = Literal["sent", "received"]
Spent: TypeAlias = tuple[str, str, float, int]
"""What time was spent on, at or with whom, how many seconds, and how often."""
Key: TypeAlias = tuple[str, str]
Row = TypeVar("Row")
E = TypeVar("E", bound=e.Event)


# -- what a page shows: plain figures and names, but nothing about a single sample. Error texts and other free texts are
# left out, because they may hold ids, values and paths. They stay in the folder.


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
    settings: dict[str, str]
    n_rounds: int
    metric: str
    is_pilot: bool = False
    label_only: bool = False
    tells_of_others: bool = False

    @property
    def helpers(self) -> tuple[str, ...]:
        return self.agents[1:]


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
class Traffic:
    """The messages between the agent whose page this is and one other: messages and bytes, by direction and type.

    ``helper`` is an initiator on a helper's page. Bits are per training sample and turn: of what the helper was told
    before a turn, and of its answer.
    """

    helper: str
    counts: dict[Direction, dict[str, tuple[int, int]]] = field(default_factory=lambda: {"sent": {}, "received": {}})
    turns: int = 0
    bits_sent: float | None = None
    bits_received: float | None = None

    def count(self, direction: Direction, type: str, n_bytes: int) -> None:
        messages, total = self.counts[direction].get(type, (0, 0))
        self.counts[direction][type] = messages + 1, total + n_bytes

    def messages(self, direction: Direction) -> int:
        return sum(messages for messages, _ in self.counts[direction].values())

    def bytes(self, direction: Direction, *types: str) -> int:
        found = self.counts[direction]
        return sum(n_bytes for type_, (_, n_bytes) in found.items() if not types or type_ in types)

    def rows(self) -> Iterator[tuple[Direction, str, int, int]]:
        """Yield direction, type, messages and bytes, in the order in which messages come in a run."""
        places = {name: place for place, name in enumerate(WORDS)}
        for direction, found in self.counts.items():
            for type_ in sorted(found, key=lambda name: (places.get(name, len(places)), name)):
                yield direction, type_, *found[type_]

    def shown(self, turns: int, n_samples: int) -> Traffic:
        """Return these counts as they are now, with the bits of so many turns on so many samples."""
        per = turns * n_samples
        return Traffic(
            self.helper,
            {direction: dict(found) for direction, found in self.counts.items()},
            turns,
            8 * self.bytes("sent", "take-turn", "take-again") / per if per else None,
            8 * self.bytes("received", "turn-taken") / per if per else None,
        )


@dataclass(frozen=True, kw_only=True)
class View(r.Findings):
    """Everything that a page shows about a run. What is not known is None or empty.

    ``turns`` and ``rounds_done`` of ``most_rounds`` are over; ``waiting_for`` was asked at ``since``, and has not
    answered yet. ``weights`` are the model weights of each round, in the order of the agents, None where one has no
    model. ``gains`` of a pilot's helpers: the answer, the gain, its limits, and the confidence.
    """

    subject: Subject
    state: State
    rounds_done: int
    most_rounds: int
    turns: int
    waiting_for: str | None = None
    since: datetime | None = None
    began: datetime | None = None
    last: datetime | None = None
    stop_reason: str | None = None
    n_rounds: int | None = None
    rounds: tuple[RoundRow, ...] = ()
    weights: dict[int, tuple[float | None, ...]] = field(default_factory=dict)
    agents: tuple[r.AgentRow, ...] = ()
    calibration: str | None = None
    combination: str | None = None
    trained_with: tuple[r.TrainedWith, ...] = ()
    exchanges: tuple[Traffic, ...] = ()
    counted_by: Literal["ledger", "events"] = "events"
    matched: tuple[e.SamplesMatched, ...] = ()
    n_training: int | None = None
    n_holdout: int | None = None
    seconds: tuple[Spent, ...] = ()
    released: dict[str, tuple[ReleasedBits, ...]] = field(default_factory=dict)
    labels_given: e.LabelsTold | None = None
    goes_on: tuple[str, ...] = ()
    opened: tuple[e.SamplesOpened, ...] = ()
    gains: dict[str, tuple[str, float, float, float, float]] = field(default_factory=dict)
    predicted: int = 0
    troubles: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def unchecked(self) -> str:
        """What must be said of a result without hold-out samples; empty of others, and where there is none."""
        judged = self.answer is not None or any(row.accuracy is not None for row in self.rounds)
        if self.state != "finished" or judged or self.n_holdout or self.opened or len(self.subject.classes) == 1:
            return ""
        return unchecked_in_words(self.subject.helpers)

    def to_dict(self) -> dict[str, Any]:
        times = {name: None if (time := getattr(self, name)) is None else time.isoformat() for name in _TIMES}
        return asdict(self) | times | {"unchecked": self.unchecked or None}


_TIMES = ("since", "began", "last")


def chosen(plan: Plan, values: Mapping[str, object]) -> dict[str, str]:
    """Return the settings that apply to a plan. The purpose is left out, because it is free text.

    Of a value that is neither text nor number the text is left out, too: it may say too much.

    >>> chosen(Plan(), {"purpose": "to see", "n_rounds": 20, "order": print})
    {'n_rounds': '20', 'order': 'of its own'}
    """
    return {
        name: "none" if value is None else str(value) if isinstance(value, str | int | float) else "of its own"
        for name, value in values.items()
        if name != "purpose" and SETTINGS[name].applies(plan)
    }


class Story:
    """Gathers the events of a run one by one, and what its folder holds, and returns a view of the run at any time.

    Every event takes the same time, and the memory that a story needs does not grow with the length of the run.
    """

    def __init__(self, subject: Subject, most_rows: int = MOST) -> None:
        self.subject = subject
        self._line = TimeLine(subject.initiator, subject.is_pilot, subject.label_only)
        self._newest: dict[type[e.Event], e.Event] = {}  # the last event of each kind
        self._agents = {name: _nothing_of(name) for name in subject.agents}
        self._rounds, self._weights = Thinned[RoundRow](most_rows), Thinned[dict[str, float]](most_rows)
        self._matched: dict[str, e.SamplesMatched] = {}
        self._opened = Thinned[e.SamplesOpened]()
        self._asked: tuple[str, datetime | None] | None = None
        self._messages: dict[str, Traffic] = {}
        self._spent = self._looks = self._predicted = self._troubles = 0
        self._result: Mapping[str, Any] = {}
        self._calibration: str | None = None
        self._worth: Mapping[str, Any] | None = None
        self._ledger: dict[str, Traffic] = {}
        self._released: dict[str, tuple[ReleasedBits, ...]] = {}

    def feed(self, recorded: e.Recorded) -> None:
        time, event = recorded.time, recorded.event
        self._line.feed(time, event)
        match event:
            case e.Asked() | e.Answered():
                self._feed_message(event, time)
            case e.TurnFinished():
                self._asked = None
                self._feed_turn(event)
            case e.RoundFinished():
                self._feed_round(event)
            case e.SamplesMatched():
                if not self._newest.keys() & {e.SamplesSettled, e.RunFinished}:  # later ones are for predictions
                    self._matched[event.agent] = event
            case e.SamplesOpened():
                self._looks += 1
                self._opened[self._looks] = event
            case e.AgentLeft():
                self._agents[event.agent] = replace(self._row_of(event.agent), left=event.turn)
            case e.Predicted():
                self._predicted += event.n_samples
            case e.TroubleMet():
                self._troubles += 1
        self._newest[type(event)] = event

    def _feed_message(self, message: e.Asked | e.Answered, time: datetime | None) -> None:
        # what matches ids does not count for the bits of rounds
        self._spent += 0 if message.type in ("align", "aligned") else message.bytes
        sent = isinstance(message, e.Asked)
        counts = traffic_with(self._messages, message.agent)
        counts.count("sent" if sent else "received", message.type, message.bytes)
        self._asked = (message.agent, time) if sent else None

    def _feed_round(self, event: e.RoundFinished) -> None:
        settled = self._newest_of(e.SamplesSettled)
        n = 0 if settled is None or self.subject.reach == ONE_PROCESS else settled.n_samples
        bits = 8 * self._spent / n if n else None
        figures = event.holdout_accuracy, event.metric, event.loss, event.error
        self._rounds[event.round] = RoundRow(event.round, *figures, bits=bits)

    def _newest_of(self, kind: type[E]) -> E | None:
        found = self._newest.get(kind)
        return found if isinstance(found, kind) else None

    def _row_of(self, agent: str) -> r.AgentRow:
        return self._agents.get(agent) or _nothing_of(agent)

    def _feed_turn(self, turn: e.TurnFinished) -> None:
        row, made = self._row_of(turn.agent), turn.contribution
        weights = dict(self._weights.get(turn.round) or {})
        if made is None:
            row = replace(row, turns=row.turns + 1, sat_out=row.sat_out + 1)
        else:
            n, weight, best = row.made + 1, row.weight + made.model_weight, max(row.best or 0.0, made.accuracy)
            row = replace(row, turns=row.turns + 1, made=n, models=n, weight=weight, best=best)
            weights[turn.agent] = weights.get(turn.agent, 0.0) + made.model_weight
        self._agents[turn.agent] = row
        self._weights[turn.round] = weights

    def take(
        self,
        result: Mapping[str, Any] | None,
        calibration: str | None = None,
        worth: Mapping[str, Any] | None = None,
        entries: Iterable[Entry] = (),
        released: Mapping[str, Iterable[ReleasedBits]] | None = None,
    ) -> None:
        """Add what the folder holds: the result, a pilot's answer, the initiator's ledger, what each agent released.

        Where there are entries of the ledger, messages are counted by them, and not by events. ``calibration`` says how
        probabilities were made.
        """
        self._result, self._calibration, self._worth = result or {}, calibration, worth
        self._ledger = {}
        for entry in entries:
            if entry.direction in ("sent", "received"):
                traffic_with(self._ledger, entry.peer).count(entry.direction, entry.type, entry.bytes)
        self._released = {agent: tuple(each) for agent, each in (released or {}).items()}

    # -- the view

    def view(self, state: State) -> View:
        """Return the view of the run. The caller gives the state, which only the folder of the run shows."""
        subject, result = self.subject, self._result
        settled, finished = self._newest_of(e.SamplesSettled), self._newest_of(e.RunFinished)
        n_training = result.get("n_samples") or (None if settled is None else settled.n_samples)
        told, goes_on = self._newest_of(e.LabelsTold), self._newest_of(e.RunGoesOn)
        again = 0 if goes_on is None else max(goes_on.again.values(), default=0)
        waiting_for, since = (self._asked if state == "going on" else None) or (None, None)
        found = r.findings(self._evaluation, subject.metric)
        reason = e.StopReason.__members__.get(
            result.get("stop_reason", ""), None if finished is None else finished.reason
        )
        facts = vars(found) | ({"answer": self._answer_of_pilot()} if subject.is_pilot else {})
        counts = self._ledger or self._messages
        return View(
            **facts,
            subject=subject,
            state=state,
            rounds_done=0 if (over := self._newest_of(e.RoundFinished)) is None else over.round,
            most_rounds=again + subject.n_rounds,
            turns=sum(row.turns for row in self._agents.values()),
            waiting_for=waiting_for,
            since=since,
            began=self._line.began,
            last=self._line.last,
            stop_reason=None if reason is None else str(reason),
            n_rounds=result.get("n_rounds", None if finished is None else finished.n_rounds),
            rounds=self._round_rows(found),
            weights={
                number: tuple(weights.get(name) for name in subject.agents) for number, weights in self._weights.items()
            },
            agents=tuple(self._agent_row(row, found.left_out) for row in self._agents.values()),
            calibration=self._calibration,
            combination=self._learned.get("kind"),
            trained_with=r.trained_with(result) if result.get("traffic") else (),
            exchanges=tuple(
                counts.get(helper, Traffic(helper)).shown(self._row_of(helper).turns, n_training or 0)
                for helper in subject.helpers
            ),
            counted_by="ledger" if self._ledger else "events",
            matched=tuple(self._matched.values()),
            n_training=n_training,
            n_holdout=None if settled is None else settled.n_holdout,
            seconds=self._line.spent(),
            released=self._released,
            labels_given=None if told is None else replace(told, label=""),  # which is the name of a column
            goes_on=() if goes_on is None else tuple(changes_in_words(goes_on)),
            opened=tuple(look for _, look in self._opened.items()),
            gains={
                name: (gain["answer"], gain["estimate"], gain["lower"], gain["upper"], 1.0 - gain["alpha"])
                for name, gain in (self._worth or {"each": {}})["each"].items()
            },
            predicted=self._predicted,
            troubles=self._troubles,
            versions=dict(result.get("versions") or {}),
        )

    @property
    def _evaluation(self) -> dict[str, Any]:
        judged = self._newest_of(e.ResultJudged)
        return ({} if judged is None else vars(judged)) | (self._result.get("evaluation") or {})

    @property
    def _learned(self) -> Mapping[str, Any]:
        learned = self._newest_of(e.CombinationLearned)
        return self._result.get("combination") or ({} if learned is None else vars(learned))

    def _round_rows(self, found: r.Findings) -> tuple[RoundRow, ...]:
        finished = self._newest_of(e.RunFinished)
        known = (self._learned.get("n_rounds"), self._result.get("n_rounds"))
        kept = next((number for number in known if number is not None), None if finished is None else finished.n_rounds)
        rows = [row for _, row in self._rounds.items()]
        if kept is None:  # that is not decided yet
            return tuple(rows)
        last = max(kept, 1)  # if no round was any good, the result is still that of the first
        accuracy, leading = found.measured("accuracy"), found.measured(self.subject.metric)
        own: dict[str, Any] = {}  # the figures of the result itself, where these are known
        if accuracy is not None and leading is not None:
            own = {"accuracy": accuracy.assisted, "metric": leading.assisted}
        if self._learned.get("loss") is not None:
            own |= {"loss": self._learned["loss"], "error": self._learned.get("error")}
        return tuple(replace(row, kept=row.round <= kept, **(own if row.round == last else {})) for row in rows)

    def _agent_row(self, row: r.AgentRow, left_out: Sequence[str]) -> r.AgentRow:
        contributions = self._result.get("contributions")
        if contributions is None:
            return row
        models, weight, best = r.in_the_result(row.agent, contributions, left_out)
        return replace(row, models=models, weight=weight, best=best)

    def _answer_of_pilot(self) -> r.Headline | None:
        worth = self._worth
        if worth is None:
            return None
        between = Difference(worth["estimate"], worth["lower"], worth["upper"])
        what = LOSS_WORDS[worth["asked"]["loss"]]
        figures = worth["loss_alone"], worth["loss_assisted"]
        return r.Headline(worth["answer"], what, worth["n_opened"], *figures, between, False, is_gain=True)


def _nothing_of(agent: str) -> r.AgentRow:
    return r.AgentRow(agent, turns=0, made=0, sat_out=0, models=0, weight=0.0, best=None)


def traffic_with(counts: dict[str, Traffic], peer: str) -> Traffic:
    if peer not in counts:
        counts[peer] = Traffic(peer)
    return counts[peer]


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
    for recorded in e.read(folder.events):
        story.feed(recorded)
    take_folder(story, folder, ledger)
    return story


def take_folder(story: Story, folder: RunFolder, ledger: bool = True) -> None:
    settings, result, calibration = folder.settings(), folder.result(), None
    if result is not None:
        learned = result.get("combination") is not None
        made = ScoreCalibration.from_json(result.get("calibration"))
        calibration = in_words(made, wanted=settings.plan.calibrates, learned=learned)
    at = _ledger(settings) if ledger else None
    entries = [] if at is None else entries_of(at, settings.run)
    story.take(result, calibration, folder.worth(), entries, releases_of_run(folder) if ledger else None)


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


def changes_in_words(event: e.RunGoesOn) -> Iterator[str]:
    """Yield the changes since the earlier run, each as a sentence.

    >>> from assistlearn.events import RunGoesOn
    >>> for words in changes_in_words(RunGoesOn("spring", 40, 60, 2, 1, again={"lab": 2}, anew={"shop": "it is lost"})):
    ...     print(words)
    Going on from run spring: 40 people are as they were, 60 are new, 2 are gone, and 1 have another label.
    Kept without new training: 2 turns of lab.
    shop trains anew: it is lost.
    At least half of the people are new: a run from the beginning is likely to be better.
    """
    yield people_in_words(event)
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
    for name, words in event.settings.items():
        yield f"The setting {name} {words}."
    if event.n_new >= event.n_same:
        yield "At least half of the people are new: a run from the beginning is likely to be better."


def people_in_words(event: e.RunGoesOn) -> str:
    people = f"{event.n_same:,} people are as they were, {event.n_new:,} are new, {event.n_gone:,} are gone"
    if event.n_relabelled:
        people += f", and {event.n_relabelled:,} have another label"
    return f"Going on from run {event.earlier}: {people}."


# -- rows of a long run


class Thinned(Generic[Row]):
    """Keeps every row while there are few; later every second, every fourth and so on, and always the last one.

    So the page of a long run stays short: ``most`` rows are kept beside the last one.

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
        self._last: dict[int, Row] = {}

    def __setitem__(self, number: int, row: Row) -> None:
        if number >= max(self._last, default=0):
            self._last = {number: row}
        if (number - 1) % self._step:
            return
        self._rows[number] = row
        while len(self._rows) > self._most:
            self._step *= 2
            self._rows = {each: kept for each, kept in self._rows.items() if not (each - 1) % self._step}

    def get(self, number: int) -> Row | None:
        return self._last.get(number, self._rows.get(number))

    def items(self) -> list[tuple[int, Row]]:
        return sorted((self._rows | self._last).items(), key=lambda item: item[0])


# -- where the time of a run went

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
_OWN: dict[type[e.Event], str] = {
    e.SamplesMatched: MATCHING,
    e.SamplesSettled: MATCHING,
    e.LabelsTold: TELLING,
    e.RoundFinished: COMBINING,
    e.CombinationLearned: COMBINING,
    e.SamplesOpened: PREDICTING,
    e.Predicted: PREDICTING,
    e.RunFinished: ENDING,
    e.RunForgotten: ENDING,
    e.JobStarted: STARTING,
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
        self.began: datetime | None = None
        self.last: datetime | None = None
        self._seconds: dict[Key, float] = {}
        self._times: dict[Key, int] = {}
        self._begun: set[Key] = set()
        self._is_over = False
        self._is_idle = False

    def feed(self, time: datetime | None, event: e.Event) -> None:
        if time is None:
            return
        if self.last is not None:
            key = (IDLE, "") if self._is_idle or self._begins_anew(event) else self._key(event)
            self._seconds[key] = self._seconds.get(key, 0.0) + max((time - self.last).total_seconds(), 0.0)
            is_counted = isinstance(event, e.TurnFinished) and event.agent != self._initiator  # its answer was counted
            self._times[key] = self._times.get(key, 0) + (not is_counted)
        self.began, self.last = self.began or time, time
        self._note(event)

    def spent(self) -> tuple[Spent, ...]:
        keys = sorted(self._seconds, key=lambda key: _ORDER.index(key[0]))
        return tuple((*key, round(self._seconds[key], 3), self._times[key]) for key in keys)

    def _begins_anew(self, event: e.Event) -> bool:
        """Whether an event shows that a command resumes the run, because it comes again. Before it, nobody worked."""
        return _beginning(event) in self._begun

    def _note(self, event: e.Event) -> None:
        begins = _beginning(event)
        if begins is not None:
            self._begun.add(begins)
        self._is_over |= isinstance(event, e.RunFinished)
        ends = isinstance(event, e.Predicted | e.RunForgotten) or (
            isinstance(event, e.RunFinished) and not self._is_pilot
        )
        self._is_idle = ends

    def _key(self, event: e.Event) -> Key:
        match event:
            case e.Answered(agent=agent, type=type_):
                what = _ANSWERS.get(type_, OTHER)
            case e.SamplesDone(agent=agent):
                what = MATCHING
            case e.TurnFinished(agent=agent):
                what = OWN_FITS if agent == self._initiator else TURNS
            case e.ResultJudged():
                what, agent = self._judging, self._initiator
            case _:
                what, agent = _OWN.get(type(event), OTHER), self._initiator
        return PREDICTING if self._is_over and what in (STARTING, MATCHING, TELLING) else what, agent


def _beginning(event: e.Event) -> Key | None:
    """Return what an event begins, and with which agent; None for an event that does not begin a command."""
    match event:
        case e.Asked(type="open" | "begin", agent=agent):
            return event.type, agent
        case e.JobStarted():
            return "job", ""
        case _:
            return None
