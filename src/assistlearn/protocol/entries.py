"""The entries of a ledger: what an entry says, its line in the file, and the chain that the entries form."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from assistlearn.errors import LedgerError
from assistlearn.protocol.tally import Tally

FIRST = "0" * 64

Direction: TypeAlias = Literal["sent", "received", "refused", "decided", "noted", "rebuilt"]
"""A message from this agent; to it; to it, but refused before its content was looked at; or no message, but what the
owner has decided about the other agent, the digest of an entry in the ledger of told labels, or counts that were lost
and rebuilt."""


@dataclass(frozen=True)
class Entry:
    """One entry of a ledger: a message, or a decision of the owner.

    Attributes
    ----------
    number : int
        Counts from 1.
    time : str
        When, in UTC.
    direction : {"sent", "received", "refused", "decided", "noted", "rebuilt"}
        From this agent; to it; to it, but refused unread; the owner's decision about the other agent; the digest of an
        entry in the ledger of told labels; or counts that were lost and rebuilt.
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
        SHA-256 of everything else.
    amount : int or None
        What the message was counted for, in the unit of its type (:mod:`assistlearn.protocol.tally`); 0 where it
        repeats a message that was counted. None where nothing is counted: the line then has no such key.
    turn : int or None
        The turn that was asked for, where turns are counted.
    decision : dict or None
        What the owner has decided (:class:`~assistlearn.protocol.decision.Decision`), where the entry is no message.
    told : dict or None
        The figures of what the other agent was told about people so far, this message included, where people are
        counted. They never fall.
    counts : dict or None
        In an entry of rebuilt counts: all that is counted for the other agent (a ``PeerCount``).
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


_OPTIONAL = ("amount", "turn", "decision", "told", "counts")
_ORDER = ("number", "time", "direction", "peer", "run", "type", "bytes", "digest", *_OPTIONAL, "previous", "hash")
_as_written = json.JSONEncoder(ensure_ascii=False)
_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


@dataclass
class Chain:
    """The chain of a ledger, up to the last entry that was verified.

    Attributes
    ----------
    number, last, before : int, str, str
        The number and the hash of the last entry, and the hash of the one before it.
    received : bool
        Whether the last entry is of a message that was received: the next entry may make such an entry durable.
    before_that : str or None
        The hash of the entry two before the last, if the entry right before the last is of a message that was received.
    start, size : int
        Where in the file the last entry begins, and ends.
    tally : Tally
        What was counted so far.
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
        check_unchanged(entry, line, where)
        self.take(entry, len(line))
        return entry

    def take(self, entry: Entry, n_bytes: int) -> None:
        """Add the next entry, which is known to belong there; its line has ``n_bytes`` bytes."""
        self.before_that = self.before if self.received else None
        self.received = entry.direction == "received"
        self.number, self.last, self.before = entry.number, entry.hash, entry.previous
        self.start, self.size = self.size, self.size + n_bytes
        self.tally.take(entry)


def made(facts: dict[str, Any]) -> Entry:
    """Return the entry with these facts; compute its hash."""
    known = {name: value for name, value in facts.items() if value is not None}
    return Entry(**known, hash=_hash(known))


def line_of(entry: Entry) -> bytes:
    """Return the line of an entry in the file."""
    return _line(_facts(entry))


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


def check_unchanged(entry: Entry, line: bytes, where: str) -> None:
    """Raise an error if an entry was changed after it was written."""
    facts = _facts(entry)
    same = _line(facts) == line
    del facts["hash"]
    if not same or _hash(facts) != entry.hash:
        raise LedgerError(f"{where}: entry {entry.number} was changed after it was written.")


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
