"""A ledger: an agent's append-only, hash-chained record of every message, its sums, and how far it was verified.

One JSON object per line. Each holds the hash of the one before, so that a changed, removed or inserted entry breaks the
chain from there on; a second file, the head, holds the last hash, so that entries missing at the end are found, too.
The content of messages is not in the ledger, only its digest.

Nothing is added to a ledger that was tampered with: that would cover the traces. Whoever can write both files can still
write a whole new ledger. To find that, compare the digests with those in the other agents' ledgers.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import msgspec

from assistlearn import storage
from assistlearn.errors import LedgerError
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import type_of
from assistlearn.storage import appending, private_folder, replace, wait_for

# What the owner has decided about requests for consent, as the ledger keeps it.


Proof: TypeAlias = Literal["certificate", "nothing"]
"""What proves that a request comes from its initiator: in a network, the certificate of its site; between processes of
one machine, nothing: the other process may say any name."""

OwnersAnswer: TypeAlias = Literal["approved", "rejected", "taken back"]


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One decision; the last one on a request counts.

    It holds for runs of this initiator for this purpose, word for word, whose name has the same proof. What the request
    said about its run (``run`` to ``n_rounds``) is kept, but later runs may differ. Times are in UTC; ``since`` is when
    the request came, ``until`` when a yes ends, empty if it never ends. The initiator is told the ``reason``.
    """

    request: str
    answer: OwnersAnswer
    initiator: str
    purpose: str
    proof: Proof
    by: str
    time: str
    since: str
    run: str = ""
    method: str = ""
    n_samples: int = 0
    n_rounds: int = 0
    until: str = ""
    reason: str = ""

    def holds(self, now: datetime) -> bool:
        return self.answer == "approved" and not self.ended(now)

    def ended(self, now: datetime) -> bool:
        return self.answer == "approved" and bool(self.until) and now >= datetime.fromisoformat(self.until)


def _decision(facts: Mapping[str, Any]) -> Decision:
    try:
        return msgspec.convert(facts, Decision)
    except msgspec.ValidationError as error:
        raise LedgerError(f"An entry of the ledger is not a valid decision of the owner ({error}).") from None


def request_number(initiator: str, purpose: str, proof: Proof) -> str:
    """Return the number of an initiator's request for a purpose: always the same one.

    >>> request_number("bank", "credit pilot", "certificate")
    '333806532b0f'
    """
    named = msgspec.json.encode([initiator, purpose, proof])
    return hashlib.sha256(named).hexdigest()[:12]


# The counts: how much each other agent has asked of this one, and been sent, since the first entry.
#
# A message counts for one thing, by its type:
#
# ========== ======== =================================================================
# message    counts   its amount
# ========== ======== =================================================================
# open       runs     1 for a run that is not open yet, or was forgotten
# take-turn  turns    1 for a turn that was not the last one asked for
# take-again turns    the same
# align      ids      how many ids are asked about, found or not
# predict    votes    how many samples are asked for, held or not
# turn-taken bits     8 times its bytes on the wire
# scores     bits     8 times its bytes on the wire
# ========== ======== =================================================================
#
# A request with the same bytes as the last one that was counted in its run counts nothing, and neither does such an
# answer. (Votes on the same samples count nothing as long as these are aligned.) So it costs nothing if a network
# repeats a message, or if a message is sent again after a crash. What was counted stays counted; only the counts of a
# single run end when the run is forgotten.


UNITS: dict[str, str] = {
    type_of(m.Open): "runs",
    type_of(m.TakeTurn): "turns",
    type_of(m.TakeAgain): "turns",
    type_of(m.Align): "ids",
    type_of(m.Predict): "votes",
    type_of(m.TurnTaken): "bits",
    type_of(m.Scores): "bits",
}
"""The unit in which each type of message is counted."""

Span: TypeAlias = Literal["all", "day", "run"]
"""Since the first entry; on one day, in UTC; in one run."""


class RunCount(msgspec.Struct, forbid_unknown_fields=True):
    """One open run: what was counted in it, and the last turn, request and answer that were counted."""

    units: dict[str, int] = {}
    turn: int | None = None
    asked: str = ""
    said: str = ""


class PeerCount(msgspec.Struct, forbid_unknown_fields=True):
    """One other agent: what was counted in all and on the last day, and its runs that are open.

    ``told`` are the figures of what it was told about people, as the last answer that told something states them.
    """

    units: dict[str, int] = {}
    day: str = ""
    today: dict[str, int] = {}
    runs: dict[str, RunCount] = {}
    told: dict[str, float] = {}

    def used(self, unit: str, span: Span, day: str, run: str) -> int:
        """Return how much of a unit was counted in a span; ``day`` is today, such as 2030-12-31."""
        if span == "run":
            return self.runs[run].units.get(unit, 0) if run in self.runs else 0
        if span == "day":
            return self.today.get(unit, 0) if day == self.day else 0
        return self.units.get(unit, 0)


@dataclass(frozen=True)
class Claim:
    """What a message counts for.

    ``check`` raises an error if the amount is too much, given what was counted before, the amount and the day. ``turn``
    is the turn that is asked for, if any.
    """

    amount: int
    check: Callable[[PeerCount, int, str], None]
    turn: int | None = None


class Tally(msgspec.Struct, forbid_unknown_fields=True):
    """What was counted, by the name of the other agent; and the owner's last decision on each request for consent."""

    peers: dict[str, PeerCount] = {}
    decisions: dict[str, Decision] = {}

    def consented(self, now: datetime) -> list[str]:
        return sorted({decision.initiator for decision in self.decisions.values() if decision.holds(now)})

    def of(self, peer: str) -> PeerCount:
        return self.peers.get(peer, PeerCount())

    def take(self, entry: Entry) -> None:
        if entry.decision is not None:
            decision = _decision(entry.decision)
            self.decisions[decision.request] = decision
            return
        if entry.counts is not None:
            self.peers[entry.peer] = msgspec.convert(entry.counts, PeerCount)
            return
        if entry.direction == "sent" and entry.type == type_of(m.Forgotten):
            self.of(entry.peer).runs.pop(entry.run, None)
        if entry.amount is None or entry.type == type_of(m.Forget):
            return
        peer = self.peers.setdefault(entry.peer, PeerCount())
        peer.told |= {name: max(figure, peer.told.get(name, 0.0)) for name, figure in (entry.told or {}).items()}
        run, unit = peer.runs.setdefault(entry.run, RunCount()), UNITS.get(entry.type, entry.type)
        if entry.time[:10] != peer.day:
            peer.day, peer.today = entry.time[:10], {}
        for counts in (peer.units, peer.today, run.units):
            counts[unit] = counts.get(unit, 0) + entry.amount
        if not entry.amount:
            return  # it repeats what was counted before
        if entry.direction == "sent":
            run.said = entry.digest
        elif entry.type != type_of(m.Open):
            run.asked, run.turn = entry.digest, entry.turn

    def repeated(self, peer: str, run: str, type: str, digest: str, turn: int | None) -> bool:
        """Return whether a message repeats what was counted last, so that it tells or asks nothing new."""
        known = self.of(peer).runs.get(run)
        if known is None:
            return False
        if type == type_of(m.Open):
            return True
        if type == type_of(m.Predict):
            return False  # the same bytes may mean other samples: that depends on the last alignment
        return digest in (known.asked, known.said) or (turn is not None and turn == known.turn)


# Entries, and the ledger that writes them.


Direction: TypeAlias = Literal["sent", "received", "refused", "decided", "noted", "rebuilt"]
"""A message from this agent; to it; to it, but refused before its content was looked at; or no message, but a decision
of the owner about the other agent, the digest of an entry in the ledger of told labels, or rebuilt counts."""


@dataclass(frozen=True)
class Entry:
    """One entry of a ledger: a message, or a decision of the owner.

    Numbers count from 1, and times are in UTC. ``digest`` is the SHA-256 of the message, ``previous`` the hash of the
    entry before, and ``hash`` the SHA-256 of everything else. A line has no key for what is None.

    ``amount`` is what the message was counted for, in the unit of its type (:data:`UNITS`); 0 where it repeats a
    message that was counted, None where nothing is counted. ``turn`` is the turn that was asked for. ``told`` has the
    figures of what the other agent was told about people so far, this message included; they never fall. ``counts``, in
    an entry of rebuilt counts, is all that is counted for the other agent (a :class:`PeerCount`).
    """

    number: int
    time: str
    direction: Direction
    peer: str
    run: str
    type: str
    bytes: int
    digest: str
    previous: str
    hash: str
    amount: int | None = None
    turn: int | None = None
    decision: dict[str, Any] | None = None
    told: dict[str, float] | None = None
    counts: dict[str, Any] | None = None


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an entry is: its number, where its line begins, and its hash."""

    number: int
    start: int
    hash: str


class Ledger:
    """Writes entries to a file, each before its message goes out.

    An existing file is verified from its checkpoint on, and appended to. Several processes of one agent may write to
    the same ledger; they wait for each other.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path
        self._clock = clock
        private_folder(path.parent)
        with self._locked() as file:
            if not path.stat().st_size and not _head(path).exists():
                _write_head(path, 0, FIRST)
            self._chain = chain_from_checkpoint(path)
            self._kept = self._chain.number
            self._headed = UNKNOWN
            self._catch_up(file)
            self._headed = _check_head(path, self._chain)
            self._keep_checkpoint()

    def record(
        self,
        direction: Direction,
        peer: str,
        run: str,
        type: str,
        content: bytes,
        claim: Claim | None = None,
        lasting: bool = True,
        decision: Decision | None = None,
        told: Mapping[str, float] | None = None,
        counts: PeerCount | None = None,
    ) -> Entry:
        """Append an entry for a message and return it once it is on disk.

        The ``claim`` is checked and counted in one step, even if other processes write at the same time. If its check
        raises an error, no entry is written. ``lasting`` is whether to wait until the entry would outlast a power cut.
        For a message that was received, the next entry may do this for both, if it is written before anything is sent;
        or :meth:`settle` may. An entry with a ``decision``, or with rebuilt ``counts``, is about no message.
        """
        digest = hashlib.sha256(content).hexdigest()
        with self._locked() as file:
            self._catch_up(file)
            now = self._clock().isoformat(timespec="milliseconds")
            amount = None if claim is None else self._granted(claim, peer, run, type, digest, now[:10])
            entry = made(
                {
                    "number": self._chain.number + 1,
                    "time": now,
                    "direction": direction,
                    "peer": peer,
                    "run": run,
                    "type": type,
                    "bytes": len(content),
                    "digest": digest,
                    "amount": amount,
                    "turn": None if claim is None else claim.turn,
                    "decision": None if decision is None else msgspec.structs.asdict(decision),
                    "told": None if told is None else dict(told),
                    "counts": None if counts is None else msgspec.to_builtins(counts),
                    "previous": self._chain.last,
                }
            )
            line = line_of(entry)
            later = not lasting and direction == "received" and self._headed == self._chain.number
            with _undone_on_error(self.path, self._chain.size):
                file.write(line)
                file.flush()
                if not later:
                    self._make_lasting(file, entry.number, entry.hash)
            self._chain.take(entry, len(line))
            self._keep_checkpoint()
        return entry

    def decide(self, decision: Decision) -> Entry:
        content = msgspec.json.encode(decision)
        return self.record("decided", decision.initiator, decision.run, decision.answer, content, decision=decision)

    def decisions(self) -> dict[str, Decision]:
        """Return the owner's last decision on each request, verified; also those that other processes have written."""
        with self._locked() as file:
            self._catch_up(file)
            return dict(self._chain.tally.decisions)

    def rebuild(self, peer: str, counts: PeerCount) -> Entry:
        """Append counts of another agent that were lost and rebuilt; they replace what was counted."""
        return self.record("rebuilt", peer, "", "counts", msgspec.json.encode(counts), counts=counts)

    def standing(self, peer: str) -> tuple[Place, PeerCount]:
        """Return up to which entry is counted, and what for another agent; the entry would outlast a power cut."""
        with self._locked() as file:
            self._settle(file)
            chain = self._chain
            copy = msgspec.convert(msgspec.to_builtins(chain.tally.of(peer)), PeerCount)
            return Place(chain.number, chain.start, chain.last), copy

    def settle(self) -> None:
        """Make sure that every entry would outlast a power cut."""
        with self._locked() as file:
            self._settle(file)

    def _settle(self, file: BinaryIO) -> None:
        self._catch_up(file)
        if self._headed != self._chain.number:
            self._make_lasting(file, self._chain.number, self._chain.last)

    def _make_lasting(self, file: BinaryIO, number: int, hash: str) -> None:
        os.fsync(file.fileno())  # before the head: a head that is ahead of the entries looks like a removal
        _write_head(self.path, number, hash)
        self._headed = number

    def _granted(self, claim: Claim, peer: str, run: str, type: str, digest: str, day: str) -> int:
        tally = self._chain.tally
        amount = 0 if tally.repeated(peer, run, type, digest, claim.turn) else claim.amount
        claim.check(tally.of(peer), amount, day)
        return amount

    def _keep_checkpoint(self) -> None:
        if self._chain.number - self._kept >= EVERY and self._headed == self._chain.number:
            write_checkpoint(self.path, self._chain)
            self._kept = self._chain.number

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        with appending(self.path) as file:
            wait_for(file)
            yield file

    def _catch_up(self, file: BinaryIO) -> None:
        """Read the entries that other processes have written, and drop a last line that a crash cut short.

        The message of such a line was never sent.
        """
        chain = self._chain
        size = file.seek(0, os.SEEK_END)
        if size < chain.size:
            raise LedgerError(f"{self.path} has shrunk from {chain.size:,} to {size:,} bytes: entries were removed.")
        if size == chain.size:
            return
        self._headed = UNKNOWN
        file.seek(chain.size)
        for line in file:
            if not line.endswith(b"\n"):
                file.truncate(chain.size)
                return
            chain.follow(line, f"{self.path}, line {chain.number + 1}")


@contextmanager
def _undone_on_error(path: Path, size: int) -> Iterator[None]:
    """Remove an entry that could not be written as a whole, as on a full disk. Its message is not sent either.

    Entries without a head would look as if somebody had added them.
    """
    try:
        yield
    except OSError as error:
        with suppress(OSError):
            os.truncate(path, size)
        error.filename = error.filename or str(path)  # the error of a full disk names no file
        raise


# Reading a ledger, verified or not.


def read(path: Path) -> Iterator[Entry]:
    for number, line in _lines(path):
        yield entry_on(line, f"{path}, line {number}")


def verify(path: Path) -> int:
    """Verify a ledger from its start and return the number of its entries; raise an error that says where it breaks."""
    return followed(path).number


def followed(path: Path) -> Chain:
    """Return the chain of a ledger, verified from its first entry to its head; verify its checkpoint, too.

    If something seems wrong, verify once more while nobody can write: an entry may just have been added.
    """
    try:
        return _followed(path)
    except LedgerError:
        if not path.exists():
            raise
        with path.open("rb") as file:
            wait_for(file, alone=False)
            return _followed(path)


def _followed(path: Path) -> Chain:
    chain, checkpoint = Chain(), read_checkpoint(path)
    for number, line in _lines(path):
        chain.follow(line, f"{path}, line {number}")
        if checkpoint is not None and checkpoint.number == number and checkpoint != Checkpoint.of(chain):
            raise LedgerError(
                f"{checkpoint_path(path)} and the ledger differ about entry {number}: the checkpoint was changed. "
                "Remove it; the next one is made from the ledger."
            )
    _check_head(path, chain)
    if checkpoint is not None and checkpoint.number > chain.number:
        raise LedgerError(
            f"{checkpoint_path(path)} names entry {checkpoint.number}, but the last entry of the ledger is "
            f"{chain.number}."
        )
    return chain


def counted(path: Path) -> Tally:
    """Return the tally of a ledger, verified from its checkpoint on; nothing is written."""
    if not path.exists():
        return Tally()
    chain = chain_from_checkpoint(path)
    with path.open("rb") as file:
        file.seek(chain.size)
        for line in file:
            if line.endswith(b"\n"):
                chain.follow(line, f"{path}, line {chain.number + 1}")
    return chain.tally


def has_entry(path: Path, place: Place) -> bool:
    """Return whether a ledger has an entry at its place; the entries before it are not verified."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        file.seek(place.start)
        try:
            entry = entry_on(file.readline(), f"{path}, entry {place.number}")
        except LedgerError:
            return False
    return (entry.number, entry.hash) == (place.number, place.hash)


def entries_of(path: Path, run: str) -> list[Entry]:
    """Return the entries of a run, in order; none where there is no ledger.

    Lines of other runs are skipped undecoded, 300,000 of them in a tenth of a second. The chain is verified elsewhere:
    whenever the ledger is opened.
    """
    wanted = f'"run": {json.dumps(run, ensure_ascii=False)}, "type": '
    return [entry for entry in _entries_with(path, wanted, f"of run {run!r}") if entry.run == run]


def entries_of_type(path: Path, type: str) -> list[Entry]:
    return [entry for entry in _entries_with(path, f'"type": "{type}", ', f"of type {type}") if entry.type == type]


def _entries_with(path: Path, wanted: str, words: str) -> list[Entry]:
    try:
        return [Entry(**json.loads(line)) for line in _lines_with(path, wanted.encode())]
    except (ValueError, TypeError):
        raise LedgerError(f"{path}: an entry {words} cannot be read. It was changed, or cut off.") from None


def _lines_with(path: Path, wanted: bytes) -> list[bytes]:
    """Return the whole lines that hold these bytes; the file is searched, not read line by line."""
    if not path.exists() or not path.stat().st_size:
        return []
    lines = []
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        place = content.find(wanted)
        while place >= 0:
            end = content.find(b"\n", place)
            if end < 0:  # a line that a crash cut short
                break
            lines.append(content[content.rfind(b"\n", 0, place) + 1 : end])
            place = content.find(wanted, end)
    return lines


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if path.exists():
        with path.open("rb") as file:
            yield from enumerate(file, start=1)


# The chain that the entries form, and their lines in the file.


FIRST = "0" * 64


@dataclass
class Chain:
    """The chain of a ledger, up to the last entry that was verified.

    ``before`` is the hash of the entry before the last. If that entry is of a message that was received,
    ``before_that`` is the hash of the one before it. The last entry takes the bytes from ``start`` to ``size``.
    ``received`` is whether it is of a message that was received: the next entry may make it durable.
    """

    number: int = 0
    last: str = FIRST
    before: str = FIRST
    start: int = 0
    size: int = 0
    tally: Tally = field(default_factory=Tally)
    received: bool = False
    before_that: str | None = None

    def follow(self, line: bytes, where: str) -> Entry:
        """Add the next line of the file, and return its entry; raise an error if it does not belong there."""
        entry = entry_on(line, where)
        if entry.number != self.number + 1 or entry.previous != self.last:
            raise LedgerError(
                f"{where}: entry {entry.number} does not follow the one before. Entries were removed, added or moved."
            )
        _check_unchanged(entry, line, where)
        self.take(entry, len(line))
        return entry

    def take(self, entry: Entry, n_bytes: int) -> None:
        """Add the next entry, which is known to belong there."""
        self.before_that = self.before if self.received else None
        self.received = entry.direction == "received"
        self.number, self.last, self.before = entry.number, entry.hash, entry.previous
        self.start, self.size = self.size, self.size + n_bytes
        self.tally.take(entry)


def made(facts: dict[str, Any]) -> Entry:
    known = {name: value for name, value in facts.items() if value is not None}
    return Entry(**known, hash=_hash(known))


_OPTIONAL = ("amount", "turn", "decision", "told", "counts")

_ORDER = ("number", "time", "direction", "peer", "run", "type", "bytes", "digest", *_OPTIONAL, "previous", "hash")

_as_written = json.JSONEncoder(ensure_ascii=False)

_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def entry_on(line: bytes, where: str) -> Entry:
    """Return the entry on a line, unverified."""
    try:
        entry = Entry(**json.loads(line.decode()))
    except (ValueError, TypeError, RecursionError):
        entry = None
    known = entry is not None and isinstance(entry.amount, int | None)
    if entry is None or not known or not all(isinstance(getattr(entry, n), dict | None) for n in _OPTIONAL[2:]):
        raise LedgerError(f"{where}: this is not an entry of a ledger. It was changed, or cut off.")
    return entry


def _check_unchanged(entry: Entry, line: bytes, where: str) -> None:
    facts = _facts(entry)
    same = _line(facts) == line
    del facts["hash"]
    if not same or _hash(facts) != entry.hash:
        raise LedgerError(f"{where}: entry {entry.number} was changed after it was written.")


def line_of(entry: Entry) -> bytes:
    return _line(_facts(entry))


def _facts(entry: Entry) -> dict[str, Any]:
    facts = {name: getattr(entry, name) for name in _ORDER}
    for name in _OPTIONAL:
        if facts[name] is None:
            del facts[name]
    return facts


def _line(facts: dict[str, Any]) -> bytes:
    return (_as_written.encode(facts) + "\n").encode()


def _hash(facts: dict[str, Any]) -> str:
    return hashlib.sha256(_sorted.encode(facts).encode()).hexdigest()


# The head: the number and the hash of the last entry that would outlast a power cut.


UNKNOWN = -1
"""In place of the number of the entry that the head names, where another process may have written the head."""


def _check_head(path: Path, chain: Chain) -> int:
    """Compare the last entry with the head file; return the number of the entry that the head names.

    After a crash the head may be one entry behind. It may be two behind if the last entry but one is of a message that
    was received: the last entry was to make both outlast a power cut.
    """
    head, last = _head(path), chain.number
    if not head.exists():
        if last:
            raise LedgerError(
                f"{head} is missing. Without it, nobody knows whether the last entries of the ledger were removed."
            )
        return 0
    text, _, stated = head.read_bytes().decode(errors="replace").strip().partition(" ")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if 0 <= number < last - (1 if chain.before_that is None else 2):
        raise LedgerError(f"{path} has {last - number} entries more than {head.name} says: entries were added.")
    recent = {last: chain.last, last - 1: chain.before, last - 2: chain.before_that}
    if recent.get(number) != stated or number < 0:
        raise LedgerError(
            f"{path} ends at entry {last}, but {head.name} says {text[:20]!r}: entries were removed or changed."
        )
    return number


def _write_head(path: Path, number: int, hash: str) -> None:
    replace(_head(path), f"{number} {hash}\n".encode(), lasting=False)


def _head(path: Path) -> Path:
    return path.with_name(path.name + ".head")


# A checkpoint: how far a ledger was verified, and its counts at that entry, so that opening the ledger is quick.
#
# It lies beside the ledger and names one of its entries. Whoever opens the ledger looks at that entry, and verifies
# those after it. A checkpoint that is missing, damaged, or names an entry that is not there is not used: the ledger is
# verified from its start. :func:`verify` always does that, and compares the checkpoint with what it finds.
#
# Whoever can write a checkpoint could lower the counts. But they could also write the ledger itself, and its head:
# only the agent's owner can do that, and the limits are the owner's own. Of what others send, only names and numbers
# are in a checkpoint.


EVERY = 250
"""Entries between two checkpoints."""

VERSION = 1
"""Raise it when a field is added, removed or changes its meaning: older ones are not used then."""

logger = logging.getLogger("assistlearn.protocol")


class Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    version: int = VERSION
    number: int
    hash: str
    start: int
    tally: Tally

    @classmethod
    def of(cls, chain: Chain) -> Checkpoint:
        return cls(number=chain.number, hash=chain.last, start=chain.start, tally=chain.tally)


def checkpoint_path(ledger: Path) -> Path:
    return ledger.with_name(ledger.name + ".checkpoint")


def read_checkpoint(ledger: Path) -> Checkpoint | None:
    path = checkpoint_path(ledger)
    try:
        checkpoint = msgspec.json.decode(path.read_bytes(), type=Checkpoint)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        logger.warning("%s cannot be read (%s): the ledger is verified from its start.", path, error)
        return None
    if checkpoint.version != VERSION or checkpoint.number < 1 or checkpoint.start < 0:
        logger.warning("%s is of another release, or damaged: the ledger is verified from its start.", path)
        return None
    return checkpoint


def write_checkpoint(ledger: Path, chain: Chain) -> None:
    """Write down how far a ledger is verified. If that fails, the next opening verifies from an earlier entry."""
    try:
        storage.write_bytes(checkpoint_path(ledger), msgspec.json.encode(Checkpoint.of(chain)))
    except OSError as error:
        logger.warning("%s cannot be written: %s", checkpoint_path(ledger), error)


def chain_from_checkpoint(ledger: Path) -> Chain:
    """Return the chain of a ledger up to its checkpoint; an empty one where no checkpoint fits."""
    checkpoint = read_checkpoint(ledger)
    if checkpoint is None:
        return Chain()
    with ledger.open("rb") as file:
        file.seek(checkpoint.start)
        line = file.readline()
    where = f"{ledger}, entry {checkpoint.number}"
    try:
        entry = entry_on(line, where)
        _check_unchanged(entry, line, where)
        if (entry.number, entry.hash) != (checkpoint.number, checkpoint.hash):
            raise LedgerError(f"{where} is not the entry that the checkpoint names.")
    except LedgerError as error:
        logger.warning(
            "%s does not fit (%s): the ledger is verified from its start.", checkpoint_path(ledger).name, error
        )
        return Chain()
    end = checkpoint.start + len(line)
    received = entry.direction == "received"
    return Chain(entry.number, entry.hash, entry.previous, checkpoint.start, end, checkpoint.tally, received)
