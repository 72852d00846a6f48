"""Rebuilds counts that were lost: from the copies that are left. What no copy shows counts as if all had been spent."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from assistlearn.errors import AssistLearnError, LedgerError, RunError
from assistlearn.protocol.ledger import Ledger, followed
from assistlearn.protocol.tally import UNITS, PeerCount, RunCount, Tally
from assistlearn.service.kept_counts import (
    TOLD,
    KeptCount,
    check_counts,
    copies_at,
    copy_in_told,
    keep,
    kept_count,
    ledger_tally,
    turns_kept,
)
from assistlearn.service.privacy.told_book import ALL_SPENT, PeopleTold, ToldBook

Number = TypeVar("Number", int, float)

ALL = 2**53
"""What counts as all spent, whatever the limit."""


@dataclass(frozen=True)
class Recounted:
    """What was rebuilt for one initiator.

    Attributes
    ----------
    initiator : str
        The initiator.
    units : dict of str to int
        What counts from now on, by unit.
    all_spent : bool
        Whether nothing was left to count from, so that all is counted as spent.
    people : bool
        Whether the counts of each person were lost: everybody now counts as the person who was told most about.
    """

    initiator: str
    units: dict[str, int]
    all_spent: bool
    people: bool


def what_is_lost(home: Path, name: str) -> str | None:
    """Return in words what the counts of an agent lack; None if nothing is lost."""
    try:
        if (home / "ledger.jsonl").exists():
            followed(home / "ledger.jsonl")
        check_counts(home, name)
    except AssistLearnError as error:
        return str(error)
    return None


class Recount(NamedTuple):
    """What was rebuilt, whether a new ledger has begun, and where the files of the old one are."""

    rebuilt: list[Recounted]
    new_ledger: bool
    put_aside: list[Path]


def recount(home: Path, name: str) -> Recount:
    """Rebuild the counts of an agent.

    A ledger that has everything is gone on with. Another one is put aside, and a new one begins with an entry for each
    initiator. Owners' decisions are not rebuilt: an older ledger may lack that a consent was taken back. So whoever had
    consent asks again.
    """
    copies, tally = _copies(home), _whole_tally(home, name)
    runs, book = turns_kept(home, name), ToldBook(home / TOLD)
    moved = [] if tally is not None else _put_aside(home)
    ledger, done = Ledger(home / "ledger.jsonl"), []
    known = {} if tally is None else tally.peers
    for initiator in sorted({*known, *runs, *book.n_people(), *(kept.initiator for kept in copies)}):
        own = [known[initiator]] if initiator in known else [k.count for k in copies if k.initiator == initiator]
        count = merged([*own, PeerCount()])
        sure = tally is not None or (copy_in_told(home, initiator).exists() and _has(count, runs.get(initiator, {})))
        count = count if sure else all_spent(count)
        for run, n_turns in runs.get(initiator, {}).items():
            units = count.runs.setdefault(run, RunCount()).units
            units["turns"] = max(units.get("turns", 0), n_turns)
        people = _lacks_people(home, book, initiator, count)
        if people:
            with book.alone():
                book.keep(PeopleTold.rebuilt(initiator, count.told or ALL_SPENT))
        if tally is None or people:
            ledger.rebuild(initiator, count)
            done.append(Recounted(initiator, count.units, not sure, people))
        keep(home, ledger, initiator, runs.get(initiator, {}))
    return Recount(done, tally is None, moved)


def _has(count: PeerCount, runs: Mapping[str, int]) -> bool:
    """Whether counts have every turn that is kept; if not, they are older than the runs."""
    known = {run: each.units.get("turns", 0) for run, each in count.runs.items()}
    return all(run in known and known[run] >= n_turns for run, n_turns in runs.items())


def _copies(home: Path) -> list[KeptCount]:
    """Return the copies that can be read; remove the others, which say nothing."""
    found = []
    for path in copies_at(home):
        try:
            found.append(kept_count(path))
        except LedgerError:
            path.unlink()
    return found


def _whole_tally(home: Path, name: str) -> Tally | None:
    """Return what the ledger has counted; None if it was changed, is missing, or is older than another file."""
    try:
        if (home / "ledger.jsonl").exists():
            followed(home / "ledger.jsonl")
        return ledger_tally(home, name)
    except AssistLearnError:
        return None


def _lacks_people(home: Path, book: ToldBook, initiator: str, count: PeerCount) -> bool:
    """Whether the counts of each person were lost, or the key without which nobody is found in them."""
    try:
        told = book.check(initiator, count.told)
    except RunError:
        return True
    return bool(len(told.people)) and not (home / "coin.key").exists()


def _put_aside(home: Path) -> list[Path]:
    """Rename the files of a ledger, so that a new one can begin; return their new places."""
    number = next(n for n in itertools.count(1) if not any(home.glob(f"ledger-{n}.jsonl*")))
    moved = []
    for path in sorted(home.glob("ledger.jsonl*")):
        moved.append(path.with_name(path.name.replace("ledger", f"ledger-{number}", 1)))
        os.replace(path, moved[-1])
    return moved


def merged(counts: Sequence[PeerCount]) -> PeerCount:
    """Return the largest of each count.

    >>> merged([PeerCount(units={"runs": 2}), PeerCount(units={"runs": 1, "ids": 9})]).units
    {'runs': 2, 'ids': 9}
    """
    out = PeerCount(day=max(count.day for count in counts))  # days in ISO form
    for count in counts:
        _raise(out.units, count.units)
        _raise(out.told, count.told)
        if count.day == out.day:
            _raise(out.today, count.today)
        for run, known in count.runs.items():
            _raise(out.runs.setdefault(run, RunCount()).units, known.units)
    return out


def all_spent(count: PeerCount) -> PeerCount:
    """Return counts by which everything that has a limit is spent; runs that are known keep their names."""
    out = merged([count])
    for unit in set(UNITS.values()):
        out.units[unit] = ALL
    out.told = dict(ALL_SPENT)
    return out


def _raise(counts: dict[str, Number], more: dict[str, Number]) -> None:
    for name, n in more.items():
        counts[name] = max(n, counts.get(name, n))
