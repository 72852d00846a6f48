"""A ledger: an agent's append-only, hash-chained record of every message it sent or received.

One JSON object per line. Each holds the hash of the one before, so that a changed, removed or inserted entry breaks
the chain from there on; a second file, the head, holds the last hash, so that entries missing at the end are found too.
The content of messages is not in the ledger, only its digest.

A ledger that was tampered with is not gone on with: that would cover the traces. Whoever can write both files can still
write a new ledger from the start; compare digests with the other agents' ledgers to find that.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

from assistlearn.errors import LedgerError

FIRST = "0" * 64

Direction: TypeAlias = Literal["sent", "received", "refused"]
"""From this agent; to it; or to it and turned away at the door, before anything looked at the content."""


@dataclass(frozen=True)
class Entry:
    """One message, as the ledger remembers it.

    Attributes
    ----------
    number : int
        Counts from 1.
    time : str
        When, in UTC.
    direction : {"sent", "received", "refused"}
        From this agent; to it; or to it and turned away at the door.
    peer : str
        The other agent.
    run : str
        The run it belongs to.
    type : str
        The message's type.
    bytes : int
        Its size on the wire.
    digest : str
        SHA-256 of its bytes.
    previous : str
        The hash of the entry before.
    hash : str
        SHA-256 of everything above.
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


class Ledger:
    """Writes entries to a file, each before its message goes out.

    Several processes of one agent may write to the same ledger; they wait for each other.

    Parameters
    ----------
    path : path
        The file; made if it is not there, verified and gone on with if it is.
    clock : callable, optional
        Returns the present time.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path
        self._clock = clock
        self._number, self._last, self._size = 0, FIRST, 0
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked() as file:
            if not path.stat().st_size and not _head(path).exists():
                _write_head(path, 0, FIRST)
            self._catch_up(file)
            _check_head(path, _verified(path))

    def record(self, direction: Direction, peer: str, run: str, type: str, content: bytes) -> Entry:
        """Append an entry for a message and return it once it is on disk."""
        with self._locked() as file:
            self._catch_up(file)
            facts = {
                "number": self._number + 1,
                "time": self._clock().isoformat(timespec="milliseconds"),
                "direction": direction,
                "peer": peer,
                "run": run,
                "type": type,
                "bytes": len(content),
                "digest": hashlib.sha256(content).hexdigest(),
                "previous": self._last,
            }
            entry = Entry(**facts, hash=_hash(facts))  # type: ignore[arg-type]
            line = _line(entry)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())  # before the head: a head that is ahead of the entries would look like a removal
            self._number, self._last, self._size = entry.number, entry.hash, self._size + len(line)
            _write_head(self.path, entry.number, entry.hash)
        return entry

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _catch_up(self, file: BinaryIO) -> None:
        """Take note of what other processes have written, and drop a last line that a crash cut short.

        The message of such a line was never sent.
        """
        size = file.seek(0, os.SEEK_END)
        if size < self._size:
            raise LedgerError(f"{self.path} has shrunk from {self._size:,} to {size:,} bytes: entries were removed.")
        file.seek(self._size)
        fresh = file.read()
        whole = fresh.rfind(b"\n") + 1
        if whole < len(fresh):
            file.truncate(self._size + whole)
        if whole:
            last = _entry(fresh[: whole - 1].rpartition(b"\n")[2], f"{self.path}, last line")
            self._number, self._last = last.number, last.hash
        self._size += whole


def read(path: Path) -> Iterator[Entry]:
    """Yield the entries of a ledger, unverified."""
    for _, entry in _numbered(path):
        yield entry


def verify(path: Path) -> int:
    """Check the chain of a ledger and return the number of its entries; say where it breaks if it does."""
    hashes = _verified(path)
    _check_head(path, hashes)
    return len(hashes) - 1


def _verified(path: Path) -> list[str]:
    """Return the hashes of a chain that holds, the first of which stands for nothing."""
    hashes = [FIRST]
    for line, entry in _numbered(path):
        number = len(hashes)
        facts = asdict(entry)
        stated = facts.pop("hash")
        where = f"{path}, line {number}"
        if entry.number != number or entry.previous != hashes[-1]:
            raise LedgerError(
                f"{where}: entry {entry.number} does not follow the one before. Entries were removed, added or moved."
            )
        if _hash(facts) != stated or _line(entry) != line:
            raise LedgerError(f"{where}: entry {entry.number} was changed after it was written.")
        hashes.append(stated)
    return hashes


def _numbered(path: Path) -> Iterator[tuple[bytes, Entry]]:
    """Yield each line with the entry on it."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            yield line, _entry(line, f"{path}, line {number}")


def _entry(line: bytes, where: str) -> Entry:
    try:
        return Entry(**json.loads(line.decode()))
    except (ValueError, TypeError, RecursionError):
        raise LedgerError(f"{where}: this is not an entry of a ledger. It was changed, or cut off.") from None


def _check_head(path: Path, hashes: list[str]) -> None:
    """Compare the last entry with the head file, which is at most one entry behind."""
    head, last = _head(path), len(hashes) - 1
    if not head.exists():
        if last:
            raise LedgerError(f"{head} is missing: it cannot be told whether the last entries were removed.")
        return
    text, _, stated = head.read_bytes().decode(errors="replace").strip().partition(" ")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not 0 <= number <= last or hashes[number] != stated:
        raise LedgerError(
            f"{path} ends at entry {last}, but {head.name} says {text[:20]!r}: entries were removed or changed."
        )
    if last - number > 1:
        raise LedgerError(f"{path} has {last - number} entries more than {head.name} says: entries were added.")


def _write_head(path: Path, number: int, hash: str) -> None:
    fresh = _head(path).with_suffix(".new")
    fresh.write_text(f"{number} {hash}\n", encoding="utf-8")
    os.replace(fresh, _head(path))


def _head(path: Path) -> Path:
    return path.with_name(path.name + ".head")


def _line(entry: Entry) -> bytes:
    return (json.dumps(asdict(entry), ensure_ascii=False) + "\n").encode()


def _hash(facts: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
