"""An open run at the initiator: its folder, its own agent, and the connections to all agents."""

from __future__ import annotations

import io
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar
from zipfile import BadZipFile

import msgspec
import numpy as np

from assistlearn import storage
from assistlearn.agent.holdings import Holdings
from assistlearn.agent.service import AgentService
from assistlearn.alignment import Ids
from assistlearn.alignment.ids import Rows
from assistlearn.combination.combination import OwnColumns
from assistlearn.core.people import Groups
from assistlearn.errors import (
    FailedThereError,
    ProtocolError,
    RefusedError,
    RunError,
    StartedAnewError,
    UnreachableError,
)
from assistlearn.evaluation.constancy import RATE, Changed, changed
from assistlearn.events import Answered, Asked, Event, EventLog, TurnFinished
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.keys import people_of
from assistlearn.initiator.settings import RunSettings
from assistlearn.protocol import Encoded, Ledger, Transport, decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import check_words, shown
from assistlearn.protocol.ledger import Direction, Entry, entries_of
from assistlearn.protocol.messages import Message, Problem, TurnTaken, type_of
from assistlearn.types import Codes, Floats


class OwnTransport:
    """Asks the initiator's own agent, in this process, with the same time limit as for any other agent.

    The agent's learner may be anybody's code, and may never end. It works in a thread, which goes on after the time
    limit, and ends with the program. Until it is done, nothing else is asked. Unfinished work can be done again.
    """

    def __init__(self, agent: str, answer: Callable[[bytes], bytes], seconds: float = math.inf) -> None:
        self._agent = agent
        self._answer = answer
        self._seconds = seconds
        self._at_work: threading.Thread | None = None

    def ask(self, agent: str, request: bytes) -> bytes:
        if math.isinf(self._seconds):
            return self._answer(request)
        if self._at_work is not None and self._at_work.is_alive():  # its store is for one thread at a time
            raise UnreachableError(self._too_long())
        answered: Future[bytes] = Future()

        def work() -> None:
            try:
                answered.set_result(self._answer(request))
            except BaseException as error:
                answered.set_exception(error)

        self._at_work = threading.Thread(target=work, name="own agent", daemon=True)
        self._at_work.start()
        self._at_work.join(self._seconds)
        if self._at_work.is_alive():
            raise UnreachableError(self._too_long())
        return answered.result()

    def _too_long(self) -> str:
        return (
            f"Agent {self._agent!r}, this organisation's own, has not answered for {self._seconds:g} seconds. Wait "
            "longer (--timeout), or give it a faster learner."
        )


Expected = TypeVar("Expected", bound=Message)


class Connection:
    """Asks one agent: requests out, replies in, refusals raised.

    Every message is recorded in the ledger before it goes out, and as it comes in.
    """

    def __init__(
        self,
        agent: str,
        transport: Transport,
        ledger: Ledger | None = None,
        log: EventLog | None = None,
    ) -> None:
        self.agent = agent
        self._transport = transport
        self._ledger = ledger
        self._log = log

    def ask(self, request: Message, expected: type[Expected]) -> Expected:
        """Return the agent's reply, which must be of the expected type and about the same run."""
        reply = self.ask_any(request).message
        if isinstance(reply, m.Problem):
            kinds = {"out-of-order": StartedAnewError, "failed": FailedThereError}
            raise kinds.get(reply.kind, RefusedError)(reply.text)
        if not isinstance(reply, expected) or reply.run != request.run:
            raise ProtocolError(
                f"Agent {self.agent!r} answered {type(request).__name__} with a message of the wrong kind, "
                f"{type(reply).__name__}."
            )
        return reply

    def ask_any(self, request: Message) -> Encoded:
        sent = Encoded.of(request)
        self._record("sent", request.run, type_of(request), sent.content)
        begun = time.monotonic()
        answer = self._transport.ask(self.agent, sent.content)
        seconds = time.monotonic() - begun
        try:
            reply = decode(answer)
        except ProtocolError as error:
            self._record("received", request.run, "unreadable", answer, seconds)
            words = shown(str(error))
            raise ProtocolError(f"The answer of agent {self.agent!r} cannot be read: {words}") from None
        self._record("received", request.run, type_of(reply), answer, seconds, lasting=not m.is_for_prediction(request))
        if isinstance(reply, m.Problem):  # its words will be logged and printed
            return Encoded(msgspec.structs.replace(reply, text=shown(reply.text)), answer)
        check_words(reply)
        return Encoded(reply, answer)

    def _record(
        self, direction: Direction, run: str, type_: str, content: bytes, seconds: float = 0.0, lasting: bool = True
    ) -> None:
        if self._ledger is not None:
            self._ledger.record(direction, self.agent, run, type_, content, lasting=lasting)
        if self._log is not None:
            sent = direction == "sent"
            asked = Asked(self.agent, type_, len(content))
            self._log.append(asked if sent else Answered(self.agent, type_, len(content), round(seconds, 6)))


AT_ONCE = 200
"""People of whom a service is asked before it looks. A prediction of a table looks at once."""

MOST_SEEN = 100_000
"""The last people that were counted are known again; one that is asked about again does not count again."""


class VoteWatch:
    """Compares helpers' votes for new people with those of training, from prediction to prediction.

    People are compared in blocks: everybody of whom votes were asked since the last look, each once, and nobody who
    took part in training. Each look has a share of the rate of false alarms, and all looks together have the whole. So
    it does not grow, however often a run is asked. What was heard since the last look is kept in the run's folder.

    ``named`` has the helpers that were found to vote otherwise, in this prediction or an earlier one.
    """

    def __init__(self, folder: RunFolder, settings: RunSettings) -> None:
        self._folder = folder
        self._agents, self._initiator = settings.agents, settings.initiator
        said = folder.votes_in_training()
        self._then = {} if said is None else dict(zip(settings.agents, said.astype(float), strict=True))
        trained_on = folder.people()
        self._known = set() if trained_on is None else {row.tobytes() for row in np.ascontiguousarray(trained_on)}
        self._load(settings)

    def _load(self, settings: RunSettings) -> None:
        path, shape = self._folder.votes_heard, (0, len(self._agents), len(settings.classes))
        self._heard: list[Floats] = []
        self._seen: dict[bytes, None] = {}
        self._n_looks = 0
        self.named: dict[str, Changed] = {}
        if not path.exists():
            return
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
                heard, seen, facts = kept["heard"], kept["seen"], json.loads(bytes(kept["facts"]))
            if heard.shape[1:] != shape[1:]:
                raise ValueError(f"its votes have the shape {heard.shape}")
            self._heard = [row.astype(float) for row in heard]
            self._seen = dict.fromkeys(row.tobytes() for row in seen)
            self._n_looks = int(facts["looks"])
            self.named = {name: Changed(name, **known) for name, known in facts["named"].items()}
        except (ValueError, KeyError, TypeError, EOFError, OSError, BadZipFile) as error:
            raise RunError(
                f"{path} is damaged ({error}). It holds the votes that were heard since helpers were last compared "
                "with training. Remove it: the comparison then begins anew."
            ) from None

    def hear(self, ids: Ids, home: Any, said: Mapping[str, Floats], at_least: int) -> list[Changed]:
        """Hear each agent's votes for new people; return the helpers that are named for the first time.

        Votes are by one unit of model weight, zeros where an agent says nothing. A look needs ``at_least`` people.
        """
        if not self._then:
            return []
        rows = {}
        for place, digest in enumerate(np.ascontiguousarray(people_of(ids, home))):
            key = digest.tobytes()
            if key not in self._known and key not in self._seen:
                rows[key] = place
        self._seen |= dict.fromkeys(rows)
        while len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        nothing = np.zeros((len(ids), next(iter(self._then.values())).shape[1]))
        votes = np.stack([said.get(name, nothing) for name in self._agents], axis=1)
        self._heard += [votes[place] for place in rows.values()]
        return self._look() if len(self._heard) >= at_least else []

    def _look(self) -> list[Changed]:
        self._n_looks += 1
        heard = np.array(self._heard)
        self._heard = []
        there = {name: heard[:, place] for place, name in enumerate(self._agents) if name not in self.named}
        rate = RATE / (self._n_looks * (self._n_looks + 1))  # all looks together: at most RATE
        found = list(changed(self._then, there, self._initiator, rate))
        self.named |= {each.helper: each for each in found}
        self.save()
        return found

    def save(self) -> None:
        if not self._n_looks and not self._heard:
            return
        named = {name: {"n": each.n, "why": each.why} for name, each in self.named.items()}
        facts = json.dumps({"looks": self._n_looks, "named": named}).encode()
        n_classes = next(iter(self._then.values())).shape[1]
        heard = np.array(self._heard, dtype=np.float32).reshape(-1, len(self._agents), n_classes)
        seen = np.array([np.frombuffer(key, np.uint8) for key in self._seen], dtype=np.uint8)
        content = io.BytesIO()
        np.savez(content, heard=heard, seen=seen, facts=np.frombuffer(facts, np.uint8))
        storage.write_bytes(self._folder.votes_heard, content.getvalue())


@dataclass(frozen=True)
class OwnTable:
    """What the initiator brings to a run beside its agent; arrays have an entry for each row of its table."""

    labels: Codes  # positions in the run's classes; -1 where a row has none
    weights: Floats | None = None
    groups: Groups | None = None  # which rows are about the same person; None where no two are
    label: str = ""  # the name of the column with the labels, or that by which the label ledger knows it
    label_named: bool = True  # whether the owner's file says that this is the ledger's name for it
    told_labels: Literal["stay", "afresh"] = "stay"  # whether a label that was told stays told, or is drawn anew
    max_label_epsilon: float | None = None  # how much helpers may be told about a person's label in all


@dataclass
class OpenRun:
    """A run whose folder is locked, whose own agent is loaded, and whose helpers can be asked."""

    folder: RunFolder
    settings: RunSettings
    own: AgentService
    holdings: Holdings
    table: OwnTable
    agents: dict[str, Connection]  # the initiator's own first
    ledger: Ledger
    log: EventLog = field(default_factory=EventLog)
    asks_first: bool = False  # whether helpers are asked for consent before the run is opened anywhere
    without: tuple[str, ...] = ()  # helpers that are not asked in prediction

    @cached_property
    def watch(self) -> VoteWatch:
        return VoteWatch(self.folder, self.settings)

    @property
    def name(self) -> str:
        return self.settings.run

    def ids_at(self, rows: Codes) -> Ids:
        return Ids(self.holdings.ids.take(rows), f"Agent {self.settings.initiator!r}")

    def reach(self, agent: str, request: Message, expected: type[Message]) -> None:
        """Ask an agent between turns; the run may go on without one that is gone, once the samples are settled."""
        if agent in self.folder.left():
            return
        try:
            self.agents[agent].ask(request, expected)
        except UnreachableError as error:
            if not self.may_leave(agent) or self.folder.samples() is None:
                raise
            self.folder.leave(agent, self.folder.n_turns + 1, str(error))

    def may_leave(self, agent: str) -> bool:
        return self.settings.plan.absent == "go on" and agent != self.settings.initiator


def open_run(
    folder: RunFolder,
    holdings: Holdings,
    table: OwnTable,
    transport: Transport,
    log: EventLog | None = None,
    timeout: float = math.inf,
) -> OpenRun:
    """Return an open run; ``timeout`` is for answers of the initiator's own agent."""
    settings = folder.settings()
    log = folder.log() if log is None else log
    ledger = Ledger(holdings.home / "ledger.jsonl")
    at_home = replace(holdings, min_effective=0.0, proof=False, privacy=None, allow=None, at_home=True)
    own = AgentService(at_home, ledger=False)
    here = OwnTransport(settings.initiator, own.answer, timeout)
    agents = {settings.initiator: Connection(settings.initiator, here)}
    agents |= {name: Connection(name, transport, ledger, log) for name in settings.helpers}
    return OpenRun(folder, settings, own, holdings, table, agents, ledger, log)


def own_numbers(run: OpenRun, rows: Rows) -> Floats:
    """Return the initiator's own columns as numbers, which a combination may use beside the votes.

    They are read as the run was trained with them. Row -1, a sample that the initiator does not hold, has only NaN.
    """
    if run.settings.label_only:  # whatever columns its table has by now
        return np.empty((len(rows), 0))
    store = run.own.run(run.name).store
    table = run.holdings.features_as(store.schema() if store.exists else None)
    numbers = OwnColumns.found_in(table).numbers(table)
    out = np.full((len(rows), numbers.shape[1]), np.nan)
    out[rows >= 0] = numbers[rows[rows >= 0]]
    return out


def traffic_of(run: OpenRun, events: Sequence[Event]) -> dict[str, Any]:
    """Return the bytes of the run's messages with each helper, by type.

    Each helper also has the number of turns that it took, and of how many other models it had heard by its last turn.
    """
    turns = [event for event in events if isinstance(event, TurnFinished)]
    plan = run.settings.plan
    apart = plan.first_round(len(run.settings.classes)) == "apart"
    traffic: dict[str, Any] = {}
    for helper in run.settings.helpers:
        mine = [turn for turn in turns if turn.agent == helper]
        heard = mine[-1].turn if mine and (mine[-1].round > 1 or not apart) else 0
        others = [turn for turn in turns if turn.agent != helper and turn.contribution and turn.turn < heard]
        news = len(others) if plan.make_method().shares_state else 0
        traffic[helper] = {"sent": {}, "received": {}, "turns": len(mine), "news": news}
    for entry in messages_of(run):
        count = traffic[entry.peer][entry.direction]
        count[entry.type] = count.get(entry.type, 0) + entry.bytes
    return traffic


def messages_of(run: OpenRun) -> Iterator[Entry]:
    for entry in entries_of(run.ledger.path, run.name):
        if entry.direction in ("sent", "received") and entry.peer in run.settings.helpers:
            yield entry


def received_answers(run: OpenRun) -> dict[str, set[str]]:
    """Return the digests of each agent's answers to turns in the ledger; none before the first turn is kept."""
    answers = {type_of(TurnTaken), type_of(Problem)}  # an agent may say why it sits a turn out
    digests: dict[str, set[str]] = {name: set() for name in run.settings.agents}
    for entry in entries_of(run.ledger.path, run.name) if run.folder.n_turns else ():
        if entry.direction == "received" and entry.type in answers and entry.peer in digests:
            digests[entry.peer].add(entry.digest)
    return digests
