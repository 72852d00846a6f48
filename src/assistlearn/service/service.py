"""An agent's desk: every request comes in here, is checked, recorded in the ledger, answered, and recorded again."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assistlearn.alignment import HashHelper, Helper, Ids, Minimum, PsiHelper
from assistlearn.alignment.matching import Rows
from assistlearn.errors import (
    AlignmentError,
    AssistLearnError,
    IdsError,
    LedgerError,
    MissingExtraError,
    OutOfOrderError,
    ProtocolError,
    RefusedError,
)
from assistlearn.learners.models_on_disk import packages_of
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import Limits, VersionError, decode, encode
from assistlearn.protocol.ledger import Ledger
from assistlearn.service.store import RunStore, run_folder, runs_at, sweep
from assistlearn.service.task import Task

logger = logging.getLogger("assistlearn.desk")


@dataclass(frozen=True)
class Holdings:
    """What an agent has, and never shows.

    Attributes
    ----------
    name : str
        The agent's name.
    estimator : classifier
        Its learner, preprocessing included.
    ids : Ids
        The ids of its table.
    features : table
        Its features, row by row as the ids.
    home : path
        Where it keeps its runs and its ledger.
    secret : bytes, optional
        What it shares with the other agents for alignment by keyed hashes.
    allow : callable, optional
        Raises ``RefusedError`` for a run that it does not allow, given its opening and how many other runs there are;
        asked before every answer, except to ``Forget``.
    max_samples : int, optional
        How many samples a run may have.
    fingerprint : str, default=""
        Of its table, to notice a change in the middle of a run.
    """

    name: str
    estimator: Any
    ids: Ids
    features: Any
    home: Path
    secret: bytes | None = None
    allow: Callable[[m.Open, int], None] | None = None
    max_samples: int | None = None
    fingerprint: str = ""


class AgentService:
    """Answers requests for one agent, in bytes.

    Parameters
    ----------
    holdings : Holdings
        What the agent has.
    limits : Limits, optional
        The largest message it takes.
    ledger : bool, default=True
        Whether to record messages. The initiator's own desk does not: what it says does not leave the house.

    Notes
    -----
    Why a request failed is told to others only where the words are ours. What a learner or the disk had to say may
    quote the table or name files, so it goes to ``problems.log`` in the agent's home, and others hear only that it is
    there.
    """

    def __init__(self, holdings: Holdings, limits: Limits | None = None, ledger: bool = True) -> None:
        self._own = holdings
        self._limits = limits or Limits()
        self._ledger = Ledger(holdings.home / "ledger.jsonl") if ledger else None
        self._tasks: dict[str, Task] = {}
        self._alignments: dict[tuple[str, str], Helper] = {}
        self._rows_to_predict: dict[str, Rows] = {}
        sweep(holdings.home)

    def answer(self, request: bytes, asker: str | None = None) -> bytes:
        """Return the reply to a request. A bad one gets a ``Problem`` and changes nothing.

        Parameters
        ----------
        request : bytes
            A message.
        asker : str, optional
            Who asks, where the transport has made sure of that: then only the initiator of a run is answered.
        """
        try:
            return self._answer(request, asker)
        except (OSError, LedgerError) as error:
            logger.error("The ledger cannot be written", exc_info=error)
            why = (isinstance(error, OSError) and error.strerror) or type(error).__name__
            text = (
                f"Agent {self._own.name!r} cannot write its ledger ({why}), and says nothing that is not recorded "
                "there. Its owner must make room, or put it right; then go on."
            )
            return encode(m.Problem(run="", kind="failed", text=text))

    def _answer(self, request: bytes, asker: str | None) -> bytes:
        message: m.AnyMessage | None = None
        try:
            message = decode(request, self._limits)
        except ProtocolError as error:
            kind: m.ProblemKind = "version" if isinstance(error, VersionError) else "malformed"
            reply: m.Reply = m.Problem(run="", kind=kind, text=f"Agent {self._own.name!r}: {error}")
        run, type_ = ("", "unreadable") if message is None else (message.run[:80], _type(message))
        peer = asker or self._initiator(message) or "unknown"
        self._record("received", peer, run, type_, request)
        if message is not None:
            reply = self._reply(message, request, asker)
        content = encode(reply)
        self._record("sent", peer, run, _type(reply), content)
        return content

    def place(self, run: str, rows: Rows, purpose: Literal["train", "predict"]) -> None:
        """Settle the samples of a run without any alignment: at the initiator, whose own samples they are."""
        if purpose == "train":
            RunStore(run_folder(self._own.home, run)).keep_rows(rows, self._own.fingerprint)
        else:
            self._rows_to_predict[run] = rows

    def _initiator(self, message: m.AnyMessage | None) -> str | None:
        """Return the initiator of the run that a message is about; None where no such run is known."""
        if isinstance(message, m.Open):
            return message.initiator[:80]
        try:
            opened = None if message is None else RunStore(run_folder(self._own.home, message.run)).opened()
        except AssistLearnError:  # the name of the run is none, or nobody has opened it: the reply will say so
            opened = None
        return str(opened["initiator"]) if opened else None

    def _check_asker(self, message: m.AnyMessage, asker: str | None) -> None:
        """Raise if somebody else than the run's initiator asks."""
        initiator = self._initiator(message)
        if asker is not None and initiator not in (None, asker):
            raise RefusedError(
                f"Agent {self._own.name!r}: run {message.run!r} is one of {initiator!r}; {asker!r} has no part in it."
            )

    def _record(self, direction: Literal["sent", "received"], peer: str, run: str, type_: str, content: bytes) -> None:
        if self._ledger is not None:
            self._ledger.record(direction, peer, run, type_, content)

    def _reply(self, message: m.AnyMessage, request: bytes, asker: str | None) -> m.Reply:
        try:
            self._check_asker(message, asker)
            return self._handle(message, request)
        except (RefusedError, MissingExtraError) as error:
            return self._problem(message, "refused", error)
        except OutOfOrderError as error:
            return self._problem(message, "out-of-order", error)
        except ProtocolError as error:
            return self._problem(message, "malformed", error)
        except IdsError as error:
            return self._failed(message, error)
        except AlignmentError as error:
            return self._problem(message, "data", error)
        except Exception as error:  # a fault of ours or of the disk must reach the initiator as a reply, not as silence
            return self._failed(message, error)

    def _problem(self, message: m.AnyMessage, kind: m.ProblemKind, error: Exception) -> m.Problem:
        text = str(error) or type(error).__name__
        if self._own.name not in text:
            text = f"Agent {self._own.name!r}: {text}"
        return m.Problem(run=message.run[:80], kind=kind, text=text)

    def _failed(self, message: m.AnyMessage, error: Exception) -> m.Problem:
        """Return what others may know of a failure; the rest is for the agent's owner."""
        self._tasks.pop(message.run, None)  # it may be half done; what is on disk is not
        if self._ledger is None:
            return self._problem(message, "failed", error)
        logger.error("Request %s failed", _type(message), exc_info=error)
        with suppress(OSError), (self._own.home / "problems.log").open("a", encoding="utf-8") as file:
            file.write(f"Run {message.run!r}, {_type(message)}:\n{''.join(traceback.format_exception(error))}\n")
        text = (
            f"Agent {self._own.name!r} failed at {_type(message)!r} ({type(error).__name__}). Its owner finds the "
            "reason in problems.log, beside its ledger."
        )
        return m.Problem(run=message.run[:80], kind="failed", text=text)

    def _handle(self, message: m.AnyMessage, request: bytes) -> m.Reply:
        folder = run_folder(self._own.home, message.run)
        memory = RunStore(folder, packages_of(self._own.estimator))
        if isinstance(message, m.Open):
            return self._open(message, memory)
        if not memory.exists:
            text = f"Agent {self._own.name!r} knows no run {message.run!r}."
            return m.Problem(run=message.run, kind="unknown-run", text=text)
        if not isinstance(message, m.Forget):
            self._check_allowed(m.Open(**memory.opened()))
        match message:
            case m.Align():
                return self._align(message, memory)
            case m.Begin():
                self._check_size(message.n_samples)
                ready = self._task(message.run, memory).begin(message, request)
                self._alignments.pop((message.run, "train"), None)
                return ready
            case m.TakeTurn():
                return self._task(message.run, memory).take_turn(message, request)
            case m.End():
                return self._task(message.run, memory).end(message)
            case m.Predict():
                if message.run not in self._rows_to_predict:
                    raise OutOfOrderError("The samples to predict are not aligned yet.")
                return self._task(message.run, memory).predict(message, self._rows_to_predict[message.run])
            case m.Forget():
                return self._forget(message.run, memory)
            case _:
                raise OutOfOrderError(f"{_type(message)!r} is a reply, not a request.")

    def _open(self, message: m.Open, memory: RunStore) -> m.Opened:
        facts = {
            "run": message.run,
            "initiator": message.initiator,
            "purpose": message.purpose,
            "alignment": message.alignment,
            "overlap": message.overlap,
        }
        if memory.exists and memory.opened() != facts:
            raise OutOfOrderError(f"Run {message.run!r} was opened here before, with other facts.")
        self._check_allowed(message)
        if not memory.exists:
            memory.open(facts)
        return m.Opened(run=message.run, agent=self._own.name, n_rows=len(self._own.ids))

    def _align(self, message: m.Align, memory: RunStore) -> m.Aligned:
        if message.purpose == "train" and memory.task() is not None:
            raise OutOfOrderError("Training has begun: its samples cannot be aligned again.")
        under_way = message.run, message.purpose
        if message.step == 1:
            helper = self._helper(memory.opened()["alignment"], message.purpose)
            data = helper.answer(message.data)
            self._alignments[under_way] = helper
        else:
            if under_way not in self._alignments:
                raise OutOfOrderError("No alignment is under way here. Start it again.")
            helper = self._alignments[under_way]
            data = helper.agree(message.data)
            self.place(message.run, helper.rows, message.purpose)
        return m.Aligned(run=message.run, step=message.step, data=data)

    def _check_allowed(self, opening: m.Open) -> None:
        """Raise if the agent's owner does not allow the run, or no longer does."""
        if self._own.allow is not None:
            others = set(runs_at(self._own.home)) - {opening.run}
            self._own.allow(opening, len(others))

    def _check_size(self, n_samples: int) -> None:
        limit = self._own.max_samples
        if limit is not None and n_samples > limit:
            raise RefusedError(
                f"Agent {self._own.name!r}: the run has {n_samples:,} samples; its owner allows {limit:,}."
            )

    def _helper(self, alignment: str, purpose: str) -> Helper:
        minimum = Minimum(0, 0.0) if purpose == "predict" else None
        if alignment == "psi":
            return PsiHelper(self._own.ids, minimum=minimum)
        if self._own.secret is None:
            raise RefusedError(
                f"Agent {self._own.name!r} has no secret for alignment by keyed hashes. "
                "Name one in its file (secret = ...), or align by psi."
            )
        return HashHelper(self._own.ids, self._own.secret, minimum)

    def _task(self, run: str, memory: RunStore) -> Task:
        if run not in self._tasks:
            own = self._own
            if memory.ended() is None and memory.rows() is not None:
                memory.check_table(own.fingerprint, own.name)
            self._tasks[run] = Task.recalled(own.name, own.estimator, own.features, memory)
        return self._tasks[run]

    def _forget(self, run: str, memory: RunStore) -> m.Forgotten:
        self._tasks.pop(run, None)
        self._rows_to_predict.pop(run, None)
        self._alignments = {key: helper for key, helper in self._alignments.items() if key[0] != run}
        return m.Forgotten(run=run, n_models=memory.forget())


def _type(message: m.AnyMessage) -> str:
    return str(message.__struct_config__.tag)
