"""Copies of what the ledger counts for each initiator, kept in two other places, so that a lost ledger is noticed.

::

    told/<digest of the name>.json   in the agent's home: stays when a run is forgotten
    runs/NAME/counted.json           with the run: stays when ``told/`` is lost

A copy is written after its entry and before the answer leaves. It names an entry of the ledger: a ledger without this
entry is older, or another. So the ledger, the book of what was told (:mod:`assistlearn.service.privacy.told_book`) and
the runs hold each other: whichever is lost or restored alone, another knows of more, and the agent tells nothing. If
all of them are lost or restored together, nothing here can show it. The ledgers of the initiators still can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from assistlearn import storage
from assistlearn.errors import LedgerError, RunError
from assistlearn.protocol.ledger import Ledger, Place, counted, has_entry
from assistlearn.protocol.tally import PeerCount, RunCount, Tally
from assistlearn.service.privacy.told_book import ToldBook
from assistlearn.service.store import RunStore, run_folder, runs_at

TOLD, OF_A_RUN = "told", "counted.json"

REMEDY = (
    "Nothing is told until that is mended. Restore the ledger and the folder told/ from the same backup. If there is "
    "none: assistlearn recount FILE, with this agent's file."
)


class KeptCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What was counted for one initiator, up to an entry of the ledger."""

    initiator: str
    place: Place
    count: PeerCount


def keep(home: Path, ledger: Ledger, initiator: str, runs: Iterable[str]) -> None:
    """Write the copies of what is counted for an initiator: in ``told/``, and with those runs that are kept here."""
    with ToldBook(home / TOLD).alone():
        place, count = ledger.standing(initiator)
        content = msgspec.json.encode(KeptCount(initiator=initiator, place=place, count=count))
        storage.write_bytes(copy_in_told(home, initiator), content)
        for run in runs:
            store = RunStore(run_folder(home, run))
            if store.exists:
                storage.write_bytes(store.folder / OF_A_RUN, content)


def copies_at(home: Path) -> list[Path]:
    """Return the files of all copies."""
    return sorted([*(home / TOLD).glob("*.json"), *(home / "runs").glob(f"[!.]*/{OF_A_RUN}")])


def kept_count(path: Path) -> KeptCount:
    """Return a copy from its file; raise ``LedgerError`` if it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=KeptCount)
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise LedgerError(
            f"{path} cannot be read ({error}). It has a copy of what the ledger counts. {REMEDY}"
        ) from None


def turns_kept(home: Path, name: str) -> dict[str, dict[str, int]]:
    """Return the runs in which an agent has helped others and that it keeps, by initiator: how many turns are done."""
    found: dict[str, dict[str, int]] = {}
    for run in runs_at(home):
        store = RunStore(run_folder(home, run))
        try:
            initiator = str(store.opened()["initiator"])
        except RunError:  # whoever asks about this run is told so; its copy of the counts still counts
            continue
        if initiator != name:
            found.setdefault(initiator, {})[run] = store.n_turns
    return found


def check_counts(home: Path, name: str) -> None:
    """Raise an error if an agent's files show that more was asked or told than its ledger or ``told/`` has counted.

    Then nothing may be told: ``LedgerError`` says what the ledger lacks, ``RunError`` what ``told/`` does.

    Parameters
    ----------
    home : path
        Where the agent keeps its ledger, its runs and ``told/``.
    name : str
        The agent's name: runs that it leads itself are not counted.
    """
    tally = ledger_tally(home, name)
    book = ToldBook(home / TOLD)
    for initiator, count in tally.peers.items():
        book.check(initiator, count.told)


def ledger_tally(home: Path, name: str) -> Tally:
    """Return what an agent's ledger has counted; raise ``LedgerError`` if the agent's other files show more."""
    path = home / "ledger.jsonl"
    tally = counted(path)
    for file in copies_at(home):
        kept = kept_count(file)
        if not has_entry(path, kept.place):
            raise LedgerError(
                f"{path} {'does not have' if path.exists() else 'is missing: it had'} entry {kept.place.number:,}, up "
                f"to which {file} counts for {kept.initiator!r} {_units(kept.count)}; the ledger has "
                f"{_units(tally.of(kept.initiator))}. It was lost, or an older one was restored. {REMEDY}"
            )
    for initiator, runs in turns_kept(home, name).items():
        _check_runs(path, tally, initiator, runs)
    for initiator, n_people in ToldBook(home / TOLD).n_people().items():
        if n_people and initiator not in tally.peers:
            raise LedgerError(
                f"{path} knows nothing of {initiator!r}, but {home / TOLD} has what it was told about {n_people:,} "
                f"people. {REMEDY}"
            )
    return tally


def _check_runs(path: Path, tally: Tally, initiator: str, runs: dict[str, int]) -> None:
    known = tally.of(initiator).runs
    for run, n_turns in runs.items():
        turns = known.get(run, RunCount()).units.get("turns", 0)
        if run not in known or n_turns > turns:
            raise LedgerError(
                f"{path} has counted {turns:,} turns of run {run!r} of {initiator!r}, but {n_turns:,} are kept in "
                f"{path.parent / 'runs' / run}: the ledger was lost, or an older one was restored. {REMEDY}"
            )


def _units(count: PeerCount) -> str:
    return ", ".join(f"{n:,} {unit}" for unit, n in sorted(count.units.items())) or "nothing"


def copy_in_told(home: Path, initiator: str) -> Path:
    """Return where the copy of an initiator's counts is that stays when runs are forgotten."""
    return home / TOLD / f"{hashlib.sha256(initiator.encode()).hexdigest()[:32]}.json"
