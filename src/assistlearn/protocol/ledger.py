"""A ledger: an agent's append-only, hash-chained record of every message it sent or received.

One JSON object per line. Each holds the hash of the one before, so that a changed, removed or inserted entry breaks
the chain from there on; a second file, the head, holds the last hash, so that entries missing at the end are found too.
The content of messages is not in the ledger, only its digest.

Nothing is added to a ledger that was tampered with: that would cover the traces. Whoever can write both files can still
write a whole new ledger. To find that, compare the digests with those in the other agents' ledgers.

Opening a ledger verifies it from its checkpoint on (:mod:`assistlearn.protocol.checkpoint`); :func:`verify` does so
from the start. The sums of the entries for each other agent are the tally (:mod:`assistlearn.protocol.tally`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from assistlearn.errors import LedgerError
from assistlearn.protocol.checkpoint import (
    EVERY,
    Checkpoint,
    chain_from_checkpoint,
    checkpoint_path,
    read_checkpoint,
    write_checkpoint,
)
from assistlearn.protocol.decision import Decision
from assistlearn.protocol.entries import FIRST, Chain, Direction, Entry, entry_on, line_of, made
from assistlearn.protocol.tally import Claim, PeerCount, Tally
from assistlearn.storage import appending, private_folder, replace
from assistlearn.storage.file_locks import wait_for

__all__ = ["FIRST", "Direction", "Entry", "Ledger", "Place", "counted", "followed", "has_entry", "read", "verify"]

UNKNOWN = -1
"""In place of the number of the entry that the head names, where another process may have written the head."""


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an entry is: its number, where its line begins, and its hash."""

    number: int
    start: int
    hash: str


class Ledger:
    """Writes entries to a file, each before its message goes out.

    Several processes of one agent may write to the same ledger; they wait for each other.

    Parameters
    ----------
    path : path
        The file. If it exists, it is verified from its checkpoint on, and appended to; if not, it is made.
    clock : callable, optional
        Returns the present time.
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

        Parameters
        ----------
        direction, peer, run, type : str
            As in the entry.
        content : bytes
            The message.
        claim : Claim, optional
            What the message counts for. It is checked and counted in one step, even if other processes write at the
            same time. If its check raises an error, no entry is written.
        lasting : bool, default=True
            Whether to wait until the entry would outlast a power cut. For a message that was received, the next entry
            may do this for both, if it is written before anything is sent; or :meth:`settle` may.
        decision : Decision, optional
            What the owner has decided, for an entry that is about no message.
        told : mapping, optional
            The figures of what ``peer`` was told about people so far.
        counts : PeerCount, optional
            What is counted for ``peer``, for an entry of rebuilt counts.
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
                    "decision": None if decision is None else decision.to_dict(),
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
        """Append what the owner has decided."""
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
            self._catch_up(file)
            if self._headed != self._chain.number:
                self._make_lasting(file, self._chain.number, self._chain.last)
            chain = self._chain
            copy = msgspec.convert(msgspec.to_builtins(chain.tally.of(peer)), PeerCount)
            return Place(chain.number, chain.start, chain.last), copy

    def settle(self) -> None:
        """Make sure that every entry would outlast a power cut."""
        with self._locked() as file:
            self._catch_up(file)
            if self._headed != self._chain.number:
                self._make_lasting(file, self._chain.number, self._chain.last)

    def _make_lasting(self, file: BinaryIO, number: int, hash: str) -> None:
        os.fsync(file.fileno())  # before the head: a head that is ahead of the entries looks like a removal
        _write_head(self.path, number, hash)
        self._headed = number

    def _granted(self, claim: Claim, peer: str, run: str, type: str, digest: str, day: str) -> int:
        """Return what a message counts for, after the check that this much is allowed."""
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


def read(path: Path) -> Iterator[Entry]:
    """Yield the entries of a ledger, unverified."""
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


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if path.exists():
        with path.open("rb") as file:
            yield from enumerate(file, start=1)


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
