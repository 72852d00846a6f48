"""An open run at the initiator: its folder, its table, its keys, its own agent, and the connections to all agents."""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn import errors
from assistlearn.agent.loading import Holdings
from assistlearn.agent.service import AgentService
from assistlearn.alignment import Ids, normalise
from assistlearn.alignment.ids import CodedIds, Rows, digests
from assistlearn.combination.combination import as_numbers, number_columns
from assistlearn.core.people import Groups
from assistlearn.events import Answered, Asked, Event, EventLog, TurnFinished
from assistlearn.initiator.folder import RunFolder, RunSettings
from assistlearn.protocol import Encoded, Ledger, Transport, decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import check_words, is_for_prediction, shown, type_of
from assistlearn.protocol.ledger import Direction, Entry, entries_of
from assistlearn.protocol.messages import Message, Problem, TurnTaken
from assistlearn.storage import private_folder
from assistlearn.tables.schema import classes_in
from assistlearn.tables.table import Table
from assistlearn.types import Codes, Floats

if TYPE_CHECKING:
    from assistlearn.initiator.prediction import VoteWatch


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
    watch: VoteWatch | None = field(default=None, init=False)  # from the first prediction on

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
        except errors.UnreachableError as error:
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


# -- the ways to the agents


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
            raise errors.UnreachableError(self._too_long())
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
            raise errors.UnreachableError(self._too_long())
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
            kinds = {"out-of-order": errors.StartedAnewError, "failed": errors.FailedThereError}
            raise kinds.get(reply.kind, errors.RefusedError)(reply.text)
        if not isinstance(reply, expected) or reply.run != request.run:
            raise errors.ProtocolError(
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
        except errors.ProtocolError as error:
            self._record("received", request.run, "unreadable", answer, seconds)
            words = shown(str(error))
            raise errors.ProtocolError(f"The answer of agent {self.agent!r} cannot be read: {words}") from None
        self._record("received", request.run, type_of(reply), answer, seconds, lasting=not is_for_prediction(request))
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


# -- what an open run has


def own_numbers(run: OpenRun, rows: Rows) -> Floats:
    """Return the initiator's own columns as numbers, which a combination may use beside the votes.

    They are read as the run was trained with them. Row -1, a sample that the initiator does not hold, has only NaN.
    """
    if run.settings.label_only:  # whatever columns its table has by now
        return np.empty((len(rows), 0))
    store = run.own.run(run.name).store
    table = run.holdings.features_as(store.schema() if store.exists else None)
    numbers = as_numbers(table, number_columns(table))
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


# -- the initiator's table as codes


def classes_of(table: Table) -> list[Any]:
    assert table.labels is not None
    return classes_in(table.labels, table.source)


def codes_of(table: Table, classes: Sequence[Any]) -> NDArray[Any]:
    """Return the position of each row's label among the classes; -1 for no label, or for one that is not among them."""
    if table.labels is None:
        return np.full(len(table), -1)
    place = {label: position for position, label in enumerate(classes)}
    return np.array([place.get(label, -1) for label in table.labels.to_list()], dtype=np.int64)


def weights_of(table: Table) -> NDArray[Any] | None:
    """Return each row's weight; None where all count alike. Rows without a label may have none, and get 0."""
    return None if table.weights is None else table.weights.fill_null(0.0).to_numpy()


def rows_of(ids: Ids, table_ids: pl.Series) -> NDArray[Any]:
    """Return the row of each id in a table, or -1 where it has none."""
    table = pl.DataFrame({"id": normalise(table_ids), "row": np.arange(len(table_ids))})
    asked = pl.DataFrame({"id": ids.take(np.arange(len(ids)))})
    found = asked.join(table, on="id", how="left", maintain_order="left")["row"]
    return found.fill_null(-1).to_numpy().astype(np.int64)


# -- keys that stay with the initiator: the secret order of the classes, and digests of who took part.

KEY_FILE = "class-order.key"

LABEL_LEDGER = "told-labels.sqlite"

KEY_BYTES = 32


def secret_order(key: bytes, fingerprint: str, seed: int, n_classes: int) -> list[int]:
    """Return the code that stands for each class in the messages of a run.

    A learner's sums, its ties and the folds it is scored on depend on the order of the class codes. If the order were
    random, the result would be, too. It therefore follows from the fingerprint of the initiator's table, labels
    included, the seed, and a key that the initiator draws once and keeps to itself. The same run again has the same
    order. A helper knows the seed and may guess the table, but cannot know the order without the key. The same order
    twice tells a helper nothing new, since the labels behind it are the same, too.

    >>> secret_order(b"known to the initiator alone", "a table", 0, 5)
    [4, 2, 3, 0, 1]
    """

    def lot(code: int) -> bytes:
        return hmac.digest(key, f"{fingerprint} {seed} {code}".encode(), hashlib.sha256)

    return sorted(range(n_classes), key=lot)


def secret_words(key: bytes, fingerprint: str, seed: int) -> list[int]:
    """Return secret numbers from which the hold-out samples are drawn.

    A helper knows the labels of training samples, which samples are held out, and the seed of the run. If hold-out
    samples were drawn from that seed, class by class, it could work out their labels. The secret numbers have 256 bits,
    so that nobody can guess them.

    >>> secret_words(b"known to the initiator alone", "a table", 0)[:2]
    [3765555809, 842490401]
    """
    drawn = hmac.digest(key, f"hold-out {fingerprint} {seed}".encode(), hashlib.sha256)
    return [int.from_bytes(drawn[place : place + 4], "big") for place in range(0, len(drawn), 4)]


def own_key(home: Path) -> bytes:
    """Return the key that an initiator keeps in its folder; draw it the first time."""
    path = home / KEY_FILE
    _refuse_another(path)
    try:
        if not path.exists():
            _draw(path)
        key = bytes.fromhex(path.read_text(encoding="ascii"))
    except OSError as error:
        raise errors.RunError(
            f"{path}, the key for the order of class codes, cannot be read or written: {error}."
        ) from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise errors.RunError(
            f"{path}, the key for the order of class codes, was changed or damaged: it should hold {2 * KEY_BYTES} "
            "hexadecimal digits. Restore it from a backup. People are recognised by it: under another key those who "
            "were trained on count as new, and what helpers were told about their labels is told anew."
        )
    return key


def _refuse_another(path: Path) -> None:
    """Raise an error where a key is missing under which people were recorded: under a new one they would be others."""
    ledger = path.with_name(LABEL_LEDGER)
    if ledger.is_file() and not path.is_file():
        raise errors.RunError(
            f"{path} is missing, but {ledger.name} beside it was written under this key. Under a new one nobody is "
            "recognised, and labels would be told anew, which gives away more. Restore the key from a backup."
        )


def _draw(path: Path) -> None:
    """Write a new key that only its owner may read, whole or not at all. If two runs do so at once, the first wins."""
    private_folder(path.parent)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # with mode 0600
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(KEY_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
    except OSError:  # not every file system has hard links; there, the last of two wins
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def people_of(ids: Ids, home: Path) -> CodedIds:
    """Return a digest of each id, one in each row: later runs of this initiator know people again by these."""
    return digests(ids, own_key(home))


def places_among(now: CodedIds, then: CodedIds) -> NDArray[np.intp]:
    """Return the position of each person of ``now`` among those of ``then``; -1 for a person who is not there."""
    known = {row.tobytes(): place for place, row in enumerate(np.ascontiguousarray(then))}
    return np.array([known.get(row.tobytes(), -1) for row in np.ascontiguousarray(now)], dtype=np.intp)
