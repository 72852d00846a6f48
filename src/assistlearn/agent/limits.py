"""The limits that an agent's owner sets, copies of what they count, and how lost counts are rebuilt."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from assistlearn import storage
from assistlearn.agent.file import Allowance
from assistlearn.agent.store import RunStore, runs_at
from assistlearn.agent.told import ALL, ALL_SPENT, PeopleTold, ToldBook
from assistlearn.errors import AssistLearnError, LedgerError, RefusedError, RunError, SitsOutError
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import (
    UNITS,
    Claim,
    Ledger,
    PeerCount,
    Place,
    RunCount,
    Span,
    Tally,
    counted,
    followed,
    has_entry,
)
from assistlearn.protocol.messages import type_of

# The ledger counts, for each initiator by itself and for ever: forgetting a run does not reduce the count. To add a
# limit, add a line to ``KINDS`` and a key of the same name to ``Allowance``. To count something new, add a line to the
# ledger's ``UNITS``.

MIN_PEOPLE = 20
"""The default for the fewest training samples that the agent must hold: as many as two agents must share anyway."""

OVER: dict[Span, str] = {"all": "in all", "day": "a day", "run": "in one run"}

ANSWERED_IN_BITS = (type_of(m.TakeTurn), type_of(m.TakeAgain), type_of(m.Predict))


@dataclass(frozen=True)
class LimitKind:
    """One kind of limit that an owner can set: its key in ``[allow]``, what is counted, and over which time.

    ``default`` is given the number of rows of the table; None for any amount.
    """

    key: str
    unit: str
    span: Span
    default: Callable[[int], int | None]


KINDS = (
    LimitKind("max_runs", "runs", "all", lambda rows: 100),
    LimitKind("max_turns", "turns", "run", lambda rows: 100),
    LimitKind("max_total_turns", "turns", "all", lambda rows: None),
    LimitKind("max_ids_a_day", "ids", "day", lambda rows: max(10_000, 10 * rows)),
    LimitKind("max_total_ids", "ids", "all", lambda rows: max(1_000_000, 1_000 * rows)),
    LimitKind("max_votes_a_day", "votes", "day", lambda rows: max(10_000, 10 * rows)),
    LimitKind("max_total_votes", "votes", "all", lambda rows: max(1_000_000, 1_000 * rows)),
    LimitKind("max_total_bits", "bits", "all", lambda rows: None),
)
"""Every limit on what is counted. A day has room for ten times the people in the table. That is enough to train and to
predict, to begin again after an interruption, and for an initiator that knows more people. The totals have room for
years of such days."""


class OwnerLimits:
    """How much an owner lets others ask of an agent whose table has so many rows.

    >>> limits = OwnerLimits("lab", Allowance(("clinic",), max_runs=5, max_turns="none"), rows=1_000)
    >>> limits.most
    {'max_runs': 5, 'max_ids_a_day': 10000, 'max_total_ids': 1000000, 'max_votes_a_day': 10000,
     'max_total_votes': 1000000}
    >>> limits.check_samples(1_000_000)
    """

    def __init__(self, agent: str, allowance: Allowance, rows: int) -> None:
        self.initiators = allowance.initiators
        self._agent = agent
        most = {kind.key: _number(getattr(allowance, kind.key), kind.default(rows)) for kind in KINDS}
        self.most = {key: amount for key, amount in most.items() if amount is not None}
        self._max_samples = _number(allowance.max_samples, None)
        self._min_people = _number(allowance.min_people, MIN_PEOPLE)

    @property
    def most_samples(self) -> int | None:
        """How many samples can be asked about at once; None where nothing bounds them."""
        bounds = [most for kind, most in self._holding() if kind.unit == "ids"]
        return min([*bounds, *([] if self._max_samples is None else [self._max_samples])], default=None)

    def claim(self, peer: str, type: str, run: str, amount: int, turn: int | None = None) -> Claim:
        def check(count: PeerCount, fresh: int, day: str) -> None:
            if fresh:
                self._check(count, fresh, day, peer, type, run)

        return Claim(amount, check, turn)

    def _check(self, count: PeerCount, amount: int, day: str, peer: str, type: str, run: str) -> None:
        for kind, most in self._holding():
            used = count.used(kind.unit, kind.span, day, run)
            if kind.unit == UNITS.get(type):
                asked = amount
            elif kind.unit == "bits" and type in ANSWERED_IN_BITS:
                asked = 1
            else:
                continue
            if used + asked > most:
                later = " Or ask again tomorrow (UTC)." if kind.span == "day" and asked <= most else ""
                goes_on = type in (type_of(m.TakeTurn), type_of(m.TakeAgain))  # without this agent's further turns
                raise (SitsOutError if goes_on else RefusedError)(
                    f"Agent {self._agent!r} allows {peer!r} {most:,} {kind.unit} {OVER[kind.span]}: {used:,} "
                    f"are used, {asked:,} more are asked for. Its owner may raise {kind.key}, under [allow] in the "
                    f"agent file.{later}"
                )

    def check_samples(self, n_samples: int) -> None:
        if self._max_samples is not None and n_samples > self._max_samples:
            raise RefusedError(
                f"Agent {self._agent!r} allows at most {self._max_samples:,} samples at once; {n_samples:,} are asked "
                "for. Its owner may raise max_samples, under [allow] in the agent file."
            )

    def check_people(self, n_people: int) -> None:
        """Raise if a run would train on too few of the agent's rows; how many they are is not said."""
        if self._min_people is not None and n_people < self._min_people:
            raise RefusedError(
                f"Agent {self._agent!r} only trains on at least {self._min_people:,} people that it knows; this run "
                "has fewer. Its owner may lower min_people, under [allow] in the agent file."
            )

    def used(self, peer: str, count: PeerCount, day: str) -> list[dict[str, Any]]:
        """Return what is used and left of each limit that is not about one run, as plain values."""
        rows = []
        for kind, most in self._holding():
            if kind.span != "run":
                used = count.used(kind.unit, kind.span, day, "")
                rows.append(
                    {
                        "initiator": peer,
                        "limit": kind.key,
                        "counts": f"{kind.unit} {OVER[kind.span]}",
                        "used": used,
                        "allowed": most,
                        "left": max(most - used, 0),
                    }
                )
        return rows

    def of_one_run(self) -> dict[str, int | None]:
        turns = {kind.key: self.most.get(kind.key) for kind in KINDS if kind.span == "run"}
        return turns | {"max_samples": self._max_samples, "min_people": self._min_people}

    def _holding(self) -> list[tuple[LimitKind, int]]:
        return [(kind, self.most[kind.key]) for kind in KINDS if kind.key in self.most]


def _number(said: int | str | None, default: int | None) -> int | None:
    if said is None:
        return default
    return said if isinstance(said, int) else None


# Copies of what the ledger counts for each initiator are kept in two other places, so that a lost ledger is noticed:
#
#     told/<digest of the name>.json    in the agent's home: stays when a run is forgotten
#     runs/NAME/counted.json            with the run: stays when ``told/`` is lost
#
# A copy is written after its entry and before the answer leaves. It names an entry of the ledger: a ledger without this
# entry is older, or another. So the ledger, the book of what was told and the runs hold each other: whichever is lost
# or restored alone, another knows of more, and the agent tells nothing. If all of them are lost or restored together,
# nothing here can show it. The ledgers of the initiators still can.

TOLD, OF_A_RUN = "told", "counted.json"

REMEDY = (
    "Nothing is told until that is mended. Restore the ledger and the folder told/ from the same backup. If there is "
    "none: assistlearn recount FILE, with this agent's file."
)


class KeptCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    initiator: str
    place: Place
    count: PeerCount


def keep_copies(home: Path, ledger: Ledger, initiator: str, runs: Iterable[str]) -> None:
    with ToldBook(home / TOLD).locked():
        place, count = ledger.standing(initiator)
        content = msgspec.json.encode(KeptCount(initiator=initiator, place=place, count=count))
        storage.write_bytes(copy_in_told(home, initiator), content)
        for run in runs:
            store = RunStore.at(home, run)
            if store.exists:
                storage.write_bytes(store.folder / OF_A_RUN, content)


def copies_at(home: Path) -> list[Path]:
    return sorted([*(home / TOLD).glob("*.json"), *(home / "runs").glob(f"[!.]*/{OF_A_RUN}")])


def kept_count(path: Path) -> KeptCount:
    try:
        return msgspec.json.decode(path.read_bytes(), type=KeptCount)
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise LedgerError(
            f"{path} cannot be read ({error}). It has a copy of what the ledger counts. {REMEDY}"
        ) from None


def turns_kept(home: Path, name: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for run in runs_at(home):
        store = RunStore.at(home, run)
        try:
            initiator = str(store.opened()["initiator"])
        except RunError:  # whoever asks about this run is told so; its copy of the counts still counts
            continue
        if initiator != name:
            found.setdefault(initiator, {})[run] = store.n_turns
    return found


def check_counts(home: Path, name: str) -> None:
    """Raise an error if an agent's files show that more was asked or told than its ledger or ``told/`` has counted.

    Then nothing may be told: ``LedgerError`` says what the ledger lacks, ``RunError`` what ``told/`` does. Runs that
    the agent leads itself are not counted.
    """
    tally = ledger_tally(home, name)
    book = ToldBook(home / TOLD)
    for initiator, count in tally.peers.items():
        book.check(initiator, count.told)


def ledger_tally(home: Path, name: str) -> Tally:
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
    return home / TOLD / f"{hashlib.sha256(initiator.encode()).hexdigest()[:32]}.json"


# Rebuilds counts that were lost: from the copies that are left. What no copy shows counts as if all had been spent.


Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Recounted:
    """What was rebuilt for one initiator: what counts from now on, by unit.

    ``all_spent``: nothing was left to count from, so all is counted as spent. ``people``: the counts of each person
    were lost, so everybody now counts as the person who was told most about.
    """

    initiator: str
    units: dict[str, int]
    all_spent: bool
    people: bool


def what_is_lost(home: Path, name: str) -> str | None:
    try:
        if (home / "ledger.jsonl").exists():
            followed(home / "ledger.jsonl")
        check_counts(home, name)
    except AssistLearnError as error:
        return str(error)
    return None


class Recount(NamedTuple):
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
            with book.locked():
                book.keep(PeopleTold.rebuilt(initiator, count.told or ALL_SPENT))
        if tally is None or people:
            ledger.rebuild(initiator, count)
            done.append(Recounted(initiator, count.units, not sure, people))
        keep_copies(home, ledger, initiator, runs.get(initiator, {}))
    return Recount(done, tally is None, moved)


def _has(count: PeerCount, runs: Mapping[str, int]) -> bool:
    """Whether counts have every turn that is kept; if not, they are older than the runs."""
    known = {run: each.units.get("turns", 0) for run, each in count.runs.items()}
    return all(run in known and known[run] >= n_turns for run, n_turns in runs.items())


def _copies(home: Path) -> list[KeptCount]:
    found = []
    for path in copies_at(home):
        try:
            found.append(kept_count(path))
        except LedgerError:
            path.unlink()
    return found


def _whole_tally(home: Path, name: str) -> Tally | None:
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
    number = next(n for n in itertools.count(1) if not any(home.glob(f"ledger-{n}.jsonl*")))
    moved = []
    for path in sorted(home.glob("ledger.jsonl*")):
        moved.append(path.with_name(path.name.replace("ledger", f"ledger-{number}", 1)))
        os.replace(path, moved[-1])
    return moved


def merged(counts: Sequence[PeerCount]) -> PeerCount:
    """Return the largest of each count."""
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
        out.units[unit] = int(ALL)
    out.told = dict(ALL_SPENT)
    return out


def _raise(counts: dict[str, Number], more: dict[str, Number]) -> None:
    for name, n in more.items():
        counts[name] = max(n, counts.get(name, n))
