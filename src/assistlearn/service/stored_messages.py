"""Whether an agent's stored messages are those that its ledger has seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from assistlearn.errors import RunError
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import Entry
from assistlearn.protocol.ledger_of_run import entries_of
from assistlearn.protocol.messages import type_of
from assistlearn.service.store import PastTurn, RunStore
from assistlearn.storage.file_digests import REMEDY, digest_of


def check_with_ledger(store: RunStore, ledger: Path) -> None:
    """Raise ``RunError`` for a stored task, request or reply that the ledger does not have.

    If the ledger has no entry of a task of this run, nothing is checked: it is another ledger, or was begun later. (The
    initiator has no such entry either: its own agent is asked without a ledger.) A reply may be missing in the ledger
    if a crash came just before it was sent.
    """
    entries = entries_of(ledger, store.folder.name)
    begin = store.task()
    tasks = _digests(entries, "received", m.Begin)
    if begin is None or not tasks:
        return
    if digest_of(begin) not in tasks:
        raise _unknown(store.folder / "begin.msg", ledger)
    turns = list(store.past_turns())
    for turn, span in zip(turns, _spans(entries, turns), strict=True):
        folder = store.folder / "turns" / f"{turn.number:06d}"
        if span is None:
            raise _unknown(folder / "request.msg", ledger)
        answers = _digests(span, "sent", m.TurnTaken)
        if answers and digest_of(turn.reply) not in answers:
            raise _unknown(folder / "reply.msg", ledger)


def _spans(entries: Sequence[Entry], turns: Sequence[PastTurn]) -> Iterator[Sequence[Entry] | None]:
    """Yield for each turn the entries from its request to the next request; None if its request is missing."""
    first: dict[str, int] = {}
    asking = {type_of(m.TakeTurn), type_of(m.TakeAgain)}
    for place, entry in enumerate(entries):
        if entry.direction == "received" and entry.type in asking:
            first.setdefault(entry.digest, place)
    places = [first.get(digest_of(turn.request)) for turn in turns]
    for this, following in pairwise([*places, None]):
        yield None if this is None else entries[this:following]


def _digests(entries: Sequence[Entry], direction: str, kind: type[m.Message]) -> set[str]:
    return {entry.digest for entry in entries if entry.direction == direction and entry.type == type_of(kind)}


def _unknown(path: Path, ledger: Path) -> RunError:
    return RunError(f"{path} holds a message that is not in {ledger.name}: it was changed or damaged. {REMEDY}")
