"""An agent's service: every request is read, checked, recorded in the ledger, answered, and recorded again."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from assistlearn.agent.answers import Demand, exchange_of
from assistlearn.agent.consent import Permission
from assistlearn.agent.holdings import Holdings
from assistlearn.agent.limits import keep_copies, ledger_tally
from assistlearn.agent.run import AgentRun
from assistlearn.agent.store import RunStore, note_problem, sweep
from assistlearn.errors import (
    AlignmentError,
    AssistLearnError,
    DiskError,
    IdsError,
    LedgerError,
    MissingExtraError,
    OutOfOrderError,
    ProtocolError,
    RefusedError,
    SitsOutError,
)
from assistlearn.learners.model import packages_of
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import (
    HEADER_BYTES,
    LONGEST_NAME,
    Encoded,
    Limits,
    VersionError,
    check_words,
    decode,
    encode,
    shown,
)
from assistlearn.protocol.ledger import Claim, Direction, Ledger
from assistlearn.protocol.messages import Message, type_of

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
        peer = asker or self._initiator(message) or "unknown"
        reply: Message | Encoded | None = self._receive(message, request, asker, peer)
        if reply is None:
            reply = self._tried(message, self._perform, message, request, asker)
        return self._say(peer, _name(message), reply)

    def _receive(self, message: Message, request: bytes, asker: str | None, peer: str) -> m.Problem | None:
        type_, run = type_of(message), _name(message)
        later = m.is_for_prediction(message)  # it changes nothing here, and the answer is recorded before it is sent
        demand = self._tried(message, self._admit, message, asker)
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
            claim = Claim(8 * len(content), lambda count, fresh, day: None)  # the turn is done, and bits were left then
        try:
            self._record("sent", peer, run, type_, content, claim)
        except RefusedError as error:
            return self._say(peer, run, self._problem(answer.message, "refused", error))
        return content

    def _claim(self, peer: str, run: str, type_: str, amount: int, turn: int | None = None) -> Claim:
        if self._own.limits is None:
            return Claim(amount, lambda count, fresh, day: None, turn)
        return self._own.limits.claim(peer, type_, run, amount, turn)

    def _tried(self, message: Message, work: Callable[..., Result], *arguments: Any) -> Result | m.Problem:
        try:
            return work(*arguments)
        except Exception as error:  # an error here or of the disk must reach the initiator as a reply, not as silence
            kind = _kind(error)
            return self._failed(message, error) if kind == "failed" else self._problem(message, kind, error)

    def _admit(self, message: Message, asker: str | None) -> Demand | m.Problem | None:
        self._check_asker(message, asker)
        run = self.run(message.run)
        if isinstance(message, m.Propose):
            return None
        exchange = exchange_of(message)
        if not run.store.exists and (exchange is None or exchange.needs_open_run):
            return self._unknown(message.run, run.store)
        if exchange is None:
            raise OutOfOrderError(f"{type_of(message)!r} is a reply, not a request.")
        if exchange.needs_open_run and exchange.needs_permission:
            self._permission.check(m.Open(**run.store.opened()), asker)
        demand = exchange.demand(run, message)
        if isinstance(message, m.Open):
            self._permission.check(message, asker)
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

    def _check_asker(self, message: Message, asker: str | None) -> None:
        initiator = self._initiator(message)
        if asker is not None and initiator not in (None, asker):
            raise RefusedError(
                f"Agent {self._own.name!r}: run {message.run!r} belongs to {initiator!r}; {asker!r} has no part in it."
            )

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
        text = (
            f"Agent {self._own.name!r} failed at {type_!r} ({type(error).__name__}). Its owner finds the reason in "
            "problems.log, beside its ledger."
        )
        if isinstance(error, DiskError):  # problems.log may be on the same disk
            why = getattr(error.__cause__, "strerror", None) or "it refuses"
            text = (
                f"Agent {self._own.name!r} cannot write to its disk ({why}). Its owner must make room there, or "
                "correct the error; then go on. Nothing is lost."
            )
        return m.Problem(run=_name(message), kind="failed", text=text)


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
