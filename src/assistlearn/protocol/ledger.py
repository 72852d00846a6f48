"""A ledger: an agent's append-only, hash-chained record of every message it sent or received.

One JSON object per line. Each holds the hash of the one before, so that a changed, removed or inserted entry breaks
the chain from there on; a second file holds the last hash, so that entries missing at the end are found too. The
content of messages is not in the ledger, only its digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from assistlearn.errors import LedgerError

FIRST = "0" * 64


@dataclass(frozen=True)
class Entry:
    """One message, as the ledger remembers it.

    Attributes
    ----------
    number : int
        Counts from 1.
    time : str
        When, in UTC.
    direction : {"sent", "received"}
        From this agent, or to it.
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
    direction: Literal["sent", "received"]
    peer: str
    run: str
    type: str
    bytes: int
    digest: str
    previous: str
    hash: str


class Ledger:
    """Writes entries to a file, each before its message goes out.

    Parameters
    ----------
    path : path
        The file; made if it is not there, gone on with if it is.
    clock : callable, optional
        Returns the present time.
    """

    def __init__(self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path
        self._clock = clock
        path.parent.mkdir(parents=True, exist_ok=True)
        self._mend()
        self._number, self._last = 0, FIRST
        for entry in read(path):
            self._number, self._last = entry.number, entry.hash

    def record(self, direction: Literal["sent", "received"], peer: str, run: str, type: str, content: bytes) -> Entry:
        """Append an entry for a message and return it once it is on its way to disk."""
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
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")
            file.flush()
        self._number, self._last = entry.number, entry.hash
        _write_head(self.path, entry)
        return entry

    def _mend(self) -> None:
        """Drop a last line that a crash cut short: its message was never sent."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        if content and not content.endswith(b"\n"):
            with self.path.open("r+b") as file:
                file.truncate(content.rfind(b"\n") + 1)


def read(path: Path) -> Iterator[Entry]:
    """Yield the entries of a ledger, unverified."""
    if not path.exists():
        return
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield Entry(**json.loads(line))
            except (ValueError, TypeError):
                raise LedgerError(f"{path}, line {number}: this is not an entry of a ledger.") from None


def verify(path: Path) -> int:
    """Check the chain of a ledger and return the number of its entries; say where it breaks if it does."""
    previous, count = FIRST, 0
    hashes = [FIRST]
    for count, entry in enumerate(read(path), start=1):
        facts = asdict(entry)
        stated = facts.pop("hash")
        where = f"{path}, line {count}"
        if entry.number != count or entry.previous != previous:
            raise LedgerError(
                f"{where}: entry {entry.number} does not follow the one before. Entries were removed or moved."
            )
        if _hash(facts) != stated:
            raise LedgerError(f"{where}: entry {entry.number} was changed after it was written.")
        previous = stated
        hashes.append(stated)
    _check_head(path, hashes)
    return count


def _check_head(path: Path, hashes: list[str]) -> None:
    """Compare the last entry with the head file, which is at most one entry behind."""
    head = _head(path)
    if not head.exists():
        if len(hashes) > 2:
            raise LedgerError(f"{head} is missing: it cannot be told whether the last entries were removed.")
        return
    number_text, _, stated = head.read_text(encoding="utf-8").strip().partition(" ")
    number = int(number_text) if number_text.isdigit() else -1
    if not 0 <= number < len(hashes) or hashes[number] != stated:
        raise LedgerError(
            f"{path} ends at entry {len(hashes) - 1}, but {head.name} says {number_text}: entries were removed."
        )
    if len(hashes) - 1 - number > 1:
        raise LedgerError(
            f"{path} has {len(hashes) - 1 - number} entries more than {head.name} says: entries were added."
        )


def _write_head(path: Path, entry: Entry) -> None:
    fresh = _head(path).with_suffix(".new")
    fresh.write_text(f"{entry.number} {entry.hash}\n", encoding="utf-8")
    os.replace(fresh, _head(path))


def _head(path: Path) -> Path:
    return path.with_name(path.name + ".head")


def _hash(facts: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
