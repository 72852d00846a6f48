"""An agent's service: every request is read, checked, recorded in the ledger, answered, and recorded again."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from assistlearn.agent.agent import Task
from assistlearn.agent.consent import Permission
from assistlearn.agent.limits import keep_copies, ledger_tally
from assistlearn.agent.loading import Holdings, moved_columns
from assistlearn.agent.run import AgentRun, known_before
from assistlearn.agent.store import RunStore, note_problem, sweep
from assistlearn.alignment import HashHelper, Helper, Minimum, PsiHelper, ids_asked
from assistlearn.errors import (
    AlignmentError,
    AssistLearnError,
    CannotGoOnError,
    DiskError,
    IdsError,
    LedgerError,
    MissingExtraError,
    OutOfOrderError,
    ProtocolError,
    RefusedError,
    RunError,
    SitsOutError,
)
from assistlearn.learners.model import packages_of
from assistlearn.protocol import codec
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_levels, unpack_bits
from assistlearn.protocol.codec import (
    HEADER_BYTES,
    LONGEST_NAME,
    Encoded,
    Limits,
    VersionError,
    check_words,
    decode,
    encode,
    is_for_prediction,
    shown,
    type_of,
)
from assistlearn.protocol.ledger import Claim, Direction, Ledger, PeerCount
from assistlearn.protocol.messages import Message
from assistlearn.storage import REMEDY

logger = logging.getLogger("assistlearn.agent")

SMALL = 2**16

BYTES_PER_SAMPLE = {type_of(m.Align): 64, type_of(m.Begin): 32}
"""Bytes that a sample needs in these requests, with room to spare. Others may hold rewards, and need ``MANY``."""

MANY = 4_096

WITHOUT_SAMPLES = {type_of(kind) for kind in (m.Open, m.End, m.Predict, m.Forget, m.Propose)}

COUNTED_ANSWERS = (m.TurnTaken, m.Scores)

KINDS: tuple[tuple[type[Exception], m.ProblemKind], ...] = (
    (SitsOutError, "sits-out"),
    (RefusedError, "refused"),
    (MissingExtraError, "refused"),
    (OutOfOrderError, "out-of-order"),
    (ProtocolError, "malformed"),
    (IdsError, "failed"),  # its message may quote ids
    (AlignmentError, "data"),
)
"""Which kind of problem an error is for others; the first that fits counts, and any other error has failed."""

_TYPE_FIRST = re.compile(rb"(?:[\x90-\x9f]|\xdc..)[\xa1-\xbf]", re.DOTALL)

Result = TypeVar("Result")


class AgentService:
    """Answers requests for one agent; requests and replies are bytes.

    Messages are recorded in its ``ledger``; not by the initiator's own service, whose answers do not leave the
    organisation. ``limits`` say how large a message it takes.

    Others are told why a request failed only where the message is one of this package. A message of a learner or of the
    disk may quote the table or name files. So it goes to ``problems.log`` in the agent's home, and others are told only
    that it is there.
    """

    def __init__(
        self,
        holdings: Holdings,
        limits: Limits | None = None,
        ledger: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._own = holdings if ledger else replace(holdings, limits=None, privacy=None)
        if ledger:
            ledger_tally(holdings.home, holdings.name)  # raises an error where other files show more
        self._ledger = Ledger(holdings.home / "ledger.jsonl", clock) if ledger else None
        self._counted: tuple[str, str] | None = None
        if self._own.privacy is not None:
            self._own.privacy.stated = self._stated
        self._permission = Permission(self._own, self._ledger, clock)
        self._largest = limits or Limits()
        self._runs: dict[str, AgentRun] = {}
        sweep(holdings.home)

    def answer(self, request: bytes, asker: str | None = None) -> bytes:
        """Return the reply to a request. A bad one gets a ``Problem`` and changes nothing.

        If the transport has proved who asks, only the initiator of a run is answered.
        """
        self._counted = None
        try:
            answer = self._answer(request, asker)
            if self._counted is not None and self._ledger is not None:
                initiator, run = self._counted
                keep_copies(self._own.home, self._ledger, initiator, [run])
            return answer
        except (OSError, LedgerError) as error:
            logger.error("The ledger cannot be written", exc_info=error)
            why = (isinstance(error, OSError) and error.strerror) or type(error).__name__
            text = (
                f"Agent {self._own.name!r} cannot write its ledger ({why}), and sends nothing that is not recorded "
                "there. Its owner must make room, or correct the error; then go on."
            )
            return encode(m.Problem(run="", kind="failed", text=text))

    def run(self, name: str) -> AgentRun:
        run = self._runs.get(name)
        if run is None or not run.store.exists:
            store = RunStore.at(self._own.home, name, packages_of(self._own.estimator))
            run = AgentRun(self._own, store)
        self._remember(name, run)
        return run

    def _remember(self, name: str, run: AgentRun) -> None:
        if run.store.exists:
            self._runs[name] = run
        else:
            self._runs.pop(name, None)

    # -- reading: bytes that are too large, no message, or hold unsafe text are refused

    def _read(self, request: bytes, asker: str | None) -> Message:
        most = self._most_bytes(_type(request), asker)
        if most is not None and len(request) > HEADER_BYTES + most:
            raise ProtocolError(
                f"The message has {len(request) - HEADER_BYTES:,} bytes; at most {most:,} bytes are accepted for this "
                "kind of message."
            )
        message = decode(request, self._largest)
        check_words(message)
        return message

    def _most_bytes(self, type: str, asker: str | None) -> int | None:
        limits = self._own.limits
        if type in WITHOUT_SAMPLES:
            return SMALL
        if limits is None:
            return None
        if not type or not (asker is None or asker in limits.initiators or self._permission.knows(asker)):
            return SMALL
        samples = limits.most_samples
        return None if samples is None else SMALL + BYTES_PER_SAMPLE.get(type, MANY) * samples

    # -- answering

    def _answer(self, request: bytes, asker: str | None) -> bytes:
        try:
            message = self._read(request, asker)
        except ProtocolError as error:
            kind: m.ProblemKind = "version" if isinstance(error, VersionError) else "malformed"
            problem = m.Problem(run="", kind=kind, text=f"Agent {self._own.name!r}: {shown(str(error))}")
            self._record("received", asker or "unknown", "", "unreadable", request)
            return self._say(asker or "unknown", "", problem)
        initiator = self._initiator(message)
        peer = asker or initiator or "unknown"
        reply: Message | Encoded | None = self._receive(message, request, asker, initiator)
        if reply is None:
            reply = self._tried(message, self._perform, message, request, asker)
        return self._say(peer, _name(message), reply)

    def _receive(self, message: Message, request: bytes, asker: str | None, initiator: str | None) -> m.Problem | None:
        type_, run, peer = type_of(message), _name(message), asker or initiator or "unknown"
        later = is_for_prediction(message)  # it changes nothing here, and the answer is recorded before it is sent
        demand = self._tried(message, self._admit, message, asker, initiator)
        if demand is None or isinstance(demand, m.Problem):
            self._record("received", peer, run, type_, request, lasting=not later)
            return demand
        try:
            claim = self._claim(peer, run, type_, *demand)
            self._record("received", peer, run, type_, request, claim, lasting=not later)
        except RefusedError as error:
            self._record("received", peer, run, type_, request, lasting=not later)
            return self._problem(message, _kind(error), error)
        return None

    def _say(self, peer: str, run: str, reply: Message | Encoded) -> bytes:
        answer = reply if isinstance(reply, Encoded) else Encoded.of(reply)
        type_, content = type_of(answer.message), answer.content
        if not isinstance(answer.message, COUNTED_ANSWERS):
            self._record("sent", peer, run, type_, content)
            return content
        claim = self._claim(peer, run, type_, 8 * len(content))
        if isinstance(answer.message, m.TurnTaken):
            claim = Claim(8 * len(content), _unlimited)  # the turn is done, and bits were left then
        try:
            self._record("sent", peer, run, type_, content, claim)
        except RefusedError as error:
            return self._say(peer, run, self._problem(answer.message, "refused", error))
        return content

    def _claim(self, peer: str, run: str, type_: str, amount: int, turn: int | None = None) -> Claim:
        if self._own.limits is None:
            return Claim(amount, _unlimited, turn)
        return self._own.limits.claim(peer, type_, run, amount, turn)

    def _tried(self, message: Message, work: Callable[..., Result], *arguments: Any) -> Result | m.Problem:
        try:
            return work(*arguments)
        except Exception as error:  # an error here or of the disk must reach the initiator as a reply, not as silence
            kind = _kind(error)
            return self._failed(message, error) if kind == "failed" else self._problem(message, kind, error)

    def _admit(self, message: Message, asker: str | None, initiator: str | None) -> Demand | m.Problem | None:
        if asker is not None and initiator not in (None, asker):
            raise RefusedError(
                f"Agent {self._own.name!r}: run {message.run!r} belongs to {initiator!r}; {asker!r} has no part in it."
            )
        run = self.run(message.run)
        if isinstance(message, m.Propose):
            return None
        exchange = exchange_of(message)
        if not run.store.exists and (exchange is None or exchange.needs_open_run):
            return self._unknown(message.run, run.store)
        if exchange is None:
            raise OutOfOrderError(f"{type_of(message)!r} is a reply, not a request.")
        if exchange.needs_open_run and exchange.needs_permission:
            opened = run.store.opened()
            self._permission.check(opened["initiator"], opened["purpose"], asker)
        demand = exchange.demand(run, message)
        if isinstance(message, m.Open):
            self._permission.check(message.initiator, message.purpose, asker)
        return demand

    def _unknown(self, run: str, store: RunStore) -> m.Problem:
        if not store.folder.exists():
            return m.Problem(run=run, kind="unknown-run", text=f"Agent {self._own.name!r} knows no run {run!r}.")
        text = (
            f"Agent {self._own.name!r} keeps files of run {run!r}, but opened.json, which says whose run it is, is "
            "lost. Its owner may restore it from a backup, or remove the files: "
            f"assistlearn forget {run} --agent FILE"
        )
        return m.Problem(run=run, kind="failed", text=text)

    def _perform(self, message: Message, request: bytes, asker: str | None) -> Message | Encoded:
        if isinstance(message, m.Propose):
            return self._permission.proposed(message, asker)
        run, exchange = self.run(message.run), exchange_of(message)
        assert exchange is not None
        run.permits = partial(self._permission.check, asker=asker)
        reply = exchange.answer(run, message, request)
        self._remember(message.run, run)
        return reply

    def _initiator(self, message: Message) -> str | None:
        if isinstance(message, m.Open | m.Propose):
            return message.initiator
        try:
            return str(RunStore.at(self._own.home, message.run).opened()["initiator"])
        except AssistLearnError:  # the name of the run is not valid, or nobody has opened it: the reply will say so
            return None

    def _record(
        self,
        direction: Direction,
        peer: str,
        run: str,
        type_: str,
        content: bytes,
        claim: Claim | None = None,
        lasting: bool = True,
    ) -> None:
        if self._ledger is None:
            return
        told = None
        if direction == "sent" and claim is not None and self._own.privacy is not None:
            told = self._own.privacy.book.of(peer).figures()
        entry = self._ledger.record(direction, peer, run, type_, content, claim, lasting, told=told)
        if entry.amount:
            self._counted = peer, run

    def _stated(self, initiator: str) -> Mapping[str, float]:
        assert self._ledger is not None
        return self._ledger.standing(initiator)[1].told

    def _problem(self, message: Message, kind: m.ProblemKind, error: Exception) -> m.Problem:
        text = str(error) or type(error).__name__
        if repr(self._own.name) not in text:
            text = f"Agent {self._own.name!r}: {text}"
        return m.Problem(run=_name(message), kind=kind, text=text)

    def _failed(self, message: Message, error: Exception) -> m.Problem:
        """Return what others may know; the details go to the owner's ``problems.log``."""
        if message.run in self._runs:
            self._runs[message.run].unload()
        if self._ledger is None:
            return self._problem(message, "failed", error)
        type_ = type_of(message)
        logger.error("Request %s failed", type_, exc_info=error)
        note_problem(self._own.home, f"Run {message.run!r}, {type_}:\n{''.join(traceback.format_exception(error))}")
        said = (
            f"failed at {type_!r} ({type(error).__name__}). Its owner finds the reason in problems.log, beside its "
            "ledger."
        )
        if isinstance(error, DiskError):  # problems.log may be on the same disk
            why = getattr(error.__cause__, "strerror", None) or "it refuses"
            said = f"cannot write to its disk ({why}). Its owner must make room there, or correct the error; then go"
            said += " on. Nothing is lost."
        return m.Problem(run=_name(message), kind="failed", text=f"Agent {self._own.name!r} {said}")


def _unlimited(count: PeerCount, amount: int, day: str) -> None:
    """Let any amount be claimed."""


def _kind(error: Exception) -> m.ProblemKind:
    return next((kind for type, kind in KINDS if isinstance(error, type)), "failed")


def _type(request: bytes) -> str:
    """Return the type at the beginning of a message that is not checked yet, without decoding it."""
    found = _TYPE_FIRST.match(request, HEADER_BYTES)
    if found is None:
        return ""
    length = request[found.end() - 1] & 0x1F
    return request[found.end() : found.end() + length].decode(errors="replace")


def _name(message: Message) -> str:
    return shown(message.run, LONGEST_NAME)


# How an agent answers each kind of request: what it asks for, and the reply.
#
# To add a request of your own, call ``register(Exchange(...))`` at every agent: then they understand its messages.


Demand: TypeAlias = tuple[int, int | None]
"""How much is asked for, in the unit of the request, and in which turn, if it is one."""

Reply: TypeAlias = Message | Encoded


@dataclass(frozen=True)
class Exchange:
    """One type of request, and how it is answered in any run.

    ``reply`` is the answer other than a ``Problem``. ``demand`` returns what a request asks for, before any work; None
    if that is nothing that is counted. It raises if the request cannot be answered at all, so that it is not counted.
    """

    request: type[Message]
    reply: type[Message]
    answer: Callable[[AgentRun, Any, bytes], Reply]
    demand: Callable[[AgentRun, Any], Demand | None] = lambda run, message: None
    needs_open_run: bool = True
    needs_permission: bool = True


_EXCHANGES: dict[type[Message], Exchange] = {}


def register(exchange: Exchange) -> None:
    codec.learn(exchange.request, exchange.reply)
    _EXCHANGES[exchange.request] = exchange


def exchange_of(message: Message) -> Exchange | None:
    return _EXCHANGES.get(type(message))


# Opening a run: who asks, what for, and how samples will be matched.


def _open_demand(run: AgentRun, message: m.Open) -> Demand:
    if run.store.exists and run.store.opened() != _facts(message):
        raise OutOfOrderError(
            f"Run {message.run!r} was opened here before, with other settings. Use another name for a new run."
        )
    return (0 if run.store.exists else 1), None


def _open(run: AgentRun, message: m.Open, request: bytes) -> m.Opened:
    if not run.store.exists:
        run.store.open(_facts(message))
    return m.Opened(run=message.run, agent=run.own.name, n_rows=len(run.own.ids))


def _facts(message: m.Open) -> dict[str, Any]:
    return {name: getattr(message, name) for name in ("run", "initiator", "purpose", "alignment", "overlap")}


register(Exchange(m.Open, m.Opened, _open, _open_demand, needs_open_run=False))


# Matching samples: in two steps, for training or for prediction. Training is refused, and nothing is told, where the
# agent holds too few of the samples.


def _align_demand(run: AgentRun, message: m.Align) -> Demand | None:
    if message.purpose == "train" and run.store.task() is not None:
        raise OutOfOrderError("Training has begun: its samples cannot be aligned again.")
    if message.step != 1:
        return None
    n_ids = ids_asked(message.data, run.store.opened()["alignment"])
    if run.own.limits is not None:
        run.own.limits.check_samples(n_ids)
    _check_people(run, message, n_ids)
    return n_ids, None


def _align(run: AgentRun, message: m.Align, request: bytes) -> m.Aligned:
    if message.step == 1:
        helper = helper_of(run.own, run.store.opened()["alignment"], message.purpose)
        data = helper.answer(message.data)
        _check_people(run, message, helper.n_found)
        run.aligning[message.purpose] = helper
    else:
        if message.purpose not in run.aligning:
            raise OutOfOrderError("No alignment is under way here. Start it again.")
        helper = run.aligning[message.purpose]
        data = helper.agree(message.data)
        _check_people(run, message, int(np.count_nonzero(helper.rows >= 0)))
        _, held = run.own.held()
        rows = helper.rows if held is None else np.append(held, -1)[helper.rows]  # -1 stays
        run.place(rows, message.purpose)
    return m.Aligned(run=message.run, step=message.step, data=data)


def _check_people(run: AgentRun, message: m.Align, n_people: int | None) -> None:
    if message.purpose != "train" or n_people is None:
        return
    if run.own.limits is not None:
        run.own.limits.check_people(n_people)
    if run.own.privacy is not None:
        run.own.privacy.check_people(n_people)


def helper_of(own: Holdings, alignment: str, purpose: str) -> Helper:
    """Return the helper's side of an alignment. It counts the rows of the people whom the agent holds."""
    ids, _ = own.held()
    minimum = Minimum(0, 0.0) if purpose == "predict" else None
    if alignment == "psi":
        return PsiHelper(ids, minimum=minimum)
    if own.secret is None:
        raise RefusedError(
            f"Agent {own.name!r} has no secret for alignment by keyed hashes. Name one in its file (secret = ...), or "
            "align by psi."
        )
    return HashHelper(ids, own.secret, minimum)


register(Exchange(m.Align, m.Aligned, _align, _align_demand))


# Training: the task, turns, and the end.


def _begin_demand(run: AgentRun, message: m.Begin) -> None:
    """Refuse a task of too many samples or too few people; and a new one for which ``[privacy]`` allows no turn."""
    rows, limits = run.store.rows(), run.own.limits
    if limits is not None:
        limits.check_samples(message.n_samples)
        if rows is not None and len(rows) == message.n_samples:  # else the task is not valid, as the reply will say
            held = rows >= 0
            if message.holdout is not None:
                held &= ~unpack_bits(message.holdout, len(rows))
            limits.check_people(int(np.count_nonzero(held)))
    if run.privacy is not None and rows is not None and run.store.task() is None:
        run.privacy.check_task(Task.of(message, rows, run.own.min_effective))


def _begin(run: AgentRun, message: m.Begin, request: bytes) -> m.Ready:
    ready = run.loaded().begin(message, request)
    run.aligning.pop("train", None)
    return ready


def _turn_demand(run: AgentRun, message: m.TakeTurn) -> Demand:
    done = run.store.has_turn(message.turn)
    if run.privacy is not None and not done:
        task = run.loaded().task
        if task is not None and task.rows is not None:
            run.privacy.check_turn(message.turn, run.n_told, task, run.told_rows(message))
    return (0 if done else 1), message.turn


def _take_turn(run: AgentRun, message: m.TakeTurn, request: bytes) -> Reply:
    return run.loaded().take_turn(message, request)


register(Exchange(m.Begin, m.Ready, _begin, _begin_demand))
register(Exchange(m.TakeTurn, m.TurnTaken, _take_turn, _turn_demand))
register(Exchange(m.TakeAgain, m.TurnTaken, _take_turn, _turn_demand))
register(Exchange(m.End, m.Ended, lambda run, message, request: run.loaded().end(message)))


# Going on from an earlier run: an agent copies those of its earlier turns that will be taken again.


SAME = ("method", "n_classes", "loss", "score_bits", "epsilon")


def _recall(run: AgentRun, message: m.Recall, request: bytes) -> Reply:
    before = run.store.again.recalled()
    if before is not None and before[0] == request:
        return Encoded(decode(before[1]), before[1])
    if before is not None:
        raise OutOfOrderError(f"Run {message.run!r} already goes on from another run here, or with other turns.")
    task = run.loaded().task
    if task is None or run.n_turns:
        raise OutOfOrderError(f"Run {message.run!r} has not begun here, or its first turn has already been taken.")
    earlier = RunStore.at(run.own.home, message.earlier, packages_of(run.own.estimator))
    try:
        _check_earlier(run, earlier)
        run.store.again.copy(earlier, message.turns)
        known_before(run.store.again, task, message)
    except (CannotGoOnError, ProtocolError) as error:
        return m.Recalled(run=message.run, turns=[], why=str(error), table_changed=True)
    except AssistLearnError as error:  # the message may name files: only the owner may read it
        note_problem(run.own.home, f"Run {message.run!r} cannot go on from {message.earlier!r}: {error}")
        why = f"what it kept of run {message.earlier!r} was changed, damaged or lost; its owner finds which file "
        return m.Recalled(run=message.run, turns=[], why=why + "in problems.log", table_changed=True)
    changed = earlier.fingerprint() != run.own.fingerprint
    reply = Encoded.of(m.Recalled(run=message.run, turns=list(message.turns), why="", table_changed=changed))
    run.store.again.keep_recall(request, reply.content)
    run.unload()
    return reply


def _check_earlier(run: AgentRun, earlier: RunStore) -> None:
    """Raise ``CannotGoOnError`` unless it is the same initiator, the same kind of task and the same columns.

    The error does not reveal whether there is a run with this name of another initiator.
    """
    name, initiator = earlier.folder.name, run.store.opened()["initiator"]
    if not earlier.exists or earlier.opened()["initiator"] != initiator:
        raise CannotGoOnError(f"it knows no run {name!r} of {initiator!r}; if there was one, it was forgotten")
    if earlier.ended() is None:
        raise CannotGoOnError(f"run {name!r} is not finished here")
    try:
        run.permits(earlier.opened()["initiator"], earlier.opened()["purpose"])
    except RefusedError as error:
        raise CannotGoOnError(f"its owner no longer allows run {name!r}: {error}") from None
    before, now = earlier.task(), run.store.task()
    if before is None or now is None:
        raise RunError(f"{earlier.folder / 'begin.msg'} is missing. {REMEDY}")
    then, present = decode(before), decode(now)
    other = [key for key in SAME if getattr(then, key) != getattr(present, key)]
    if other:
        raise CannotGoOnError(f"run {name!r} had another value of {other[0]}")
    if _columns(earlier.schema()) != _columns(run.own.schema):
        raise CannotGoOnError("the columns of its table are not those that its models were fitted to")
    words = moved_columns(run.own, earlier)
    if words and not run.own.accepts_moved_columns:
        told = f"Run {name!r}: the table has changed, as if units had changed:"
        note_problem(run.own.home, "\n".join([told, *words]))
        raise CannotGoOnError(f"{len(words)} of its columns have moved far since then, as if their units had changed")


def _columns(schema: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [] if schema is None else [(column["name"], column["kind"]) for column in schema["columns"]]


register(Exchange(m.Recall, m.Recalled, _recall))


# Prediction: an agent's votes on samples that were aligned for it.


MAX_PREDICTED = 1_000_000

MAX_SCORES = 100_000_000
"""Samples times classes in these votes."""


def _predict_demand(run: AgentRun, message: m.Predict) -> Demand:
    rows = run.rows_to_predict
    if rows is None:
        raise OutOfOrderError("The samples to predict are not aligned yet.")
    task = run.loaded().task
    if task is None or not run.finished:
        raise OutOfOrderError(f"Run {message.run!r} is not finished here; there is nothing to predict with.")
    most = min(MAX_PREDICTED, MAX_SCORES // task.n_classes)
    if not 0 <= message.start <= message.stop <= len(rows) or message.stop - message.start > most:
        raise ProtocolError(
            f"Samples {message.start} to {message.stop} were asked for; {len(rows)} are aligned, and at most "
            f"{most:,} are answered at once."
        )
    if run.privacy is not None:
        run.privacy.check_votes(rows[message.start : message.stop], len(run.agent.models), task)
    again = run.voted_on == (message.start, message.stop)
    return (0 if again else message.stop - message.start), None


def _predict(run: AgentRun, message: m.Predict, request: bytes) -> m.Scores:
    task, rows = run.loaded().task, run.rows_to_predict
    assert task is not None
    assert rows is not None
    asked = rows[message.start : message.stop]
    votes = run.votes(asked, None if run.privacy is None else run.privacy.voting(asked, task))
    said = task.method.released_votes(votes, run.agent.total_weight)
    if run.privacy is not None:  # counted before it is told
        run.privacy.count_votes(asked, len(run.agent.models), task)
    run.voted_on = (message.start, message.stop)
    return m.Scores(
        run=message.run,
        known=pack_bits(asked >= 0),
        scores=pack_levels(said.levels, said.bits, said.scale),
        total_weight=run.agent.total_weight,
    )


register(Exchange(m.Predict, m.Scores, _predict, _predict_demand))


# Forgetting removes everything that an agent keeps of a run, except the entries of its ledger. It needs nobody's
# permission. It is recorded as a demand of nothing: a run that is opened again after this counts as another run.


def _forget(run: AgentRun, message: m.Forget, request: bytes) -> m.Forgotten:
    return m.Forgotten(run=message.run, n_models=run.store.forget())


register(Exchange(m.Forget, m.Forgotten, _forget, lambda run, message: (0, None), needs_permission=False))
