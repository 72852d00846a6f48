"""The limits that an owner sets, the book of what was told about each person, and how lost counts are rebuilt."""

from __future__ import annotations

import hashlib
import io
import itertools
import math
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.agent.file import Allowance
from assistlearn.agent.store import RunStore, runs_at
from assistlearn.errors import AssistLearnError, LedgerError, RefusedError, RunError, SitsOutError
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import type_of
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
from assistlearn.storage import wait_for
from assistlearn.types import Floats

# The ledger counts, for each initiator by itself and for ever: forgetting a run does not reduce the count. To add a
# limit, add a line to ``LIMITS`` and a key of the same name to ``Allowance``. To count something new, add a line to the
# ledger's ``UNITS``.

MIN_PEOPLE = 20
"""The default for the fewest training samples that the agent must hold: as many as two agents must share anyway."""

OVER: dict[Span, str] = {"all": "in all", "day": "a day", "run": "in one run"}

ANSWERED_IN_BITS = (type_of(m.TakeTurn), type_of(m.TakeAgain), type_of(m.Predict))


LIMITS: dict[str, tuple[str, Span, Callable[[int], int | None]]] = {
    "max_runs": ("runs", "all", lambda rows: 100),
    "max_turns": ("turns", "run", lambda rows: 100),
    "max_total_turns": ("turns", "all", lambda rows: None),
    "max_ids_a_day": ("ids", "day", lambda rows: max(10_000, 10 * rows)),
    "max_total_ids": ("ids", "all", lambda rows: max(1_000_000, 1_000 * rows)),
    "max_votes_a_day": ("votes", "day", lambda rows: max(10_000, 10 * rows)),
    "max_total_votes": ("votes", "all", lambda rows: max(1_000_000, 1_000 * rows)),
    "max_total_bits": ("bits", "all", lambda rows: None),
}
"""Every limit on what is counted: its key in ``[allow]``, what is counted, over which time, and its default by the rows
of the table (None for any amount). A day has room for ten times the people in the table. That is enough to train and to
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
        most = {key: _number(getattr(allowance, key), default(rows)) for key, (_, _, default) in LIMITS.items()}
        self.most = {key: amount for key, amount in most.items() if amount is not None}
        self._max_samples = _number(allowance.max_samples, None)
        self._min_people = _number(allowance.min_people, MIN_PEOPLE)

    @property
    def most_samples(self) -> int | None:
        """How many samples can be asked about at once; None where nothing bounds them."""
        bounds = [most for key, most in self.most.items() if LIMITS[key][0] == "ids"]
        return min([*bounds, *([] if self._max_samples is None else [self._max_samples])], default=None)

    def claim(self, peer: str, type: str, run: str, amount: int, turn: int | None = None) -> Claim:
        def check(count: PeerCount, fresh: int, day: str) -> None:
            if fresh:
                self._check(count, fresh, day, peer, type, run)

        return Claim(amount, check, turn)

    def _check(self, count: PeerCount, amount: int, day: str, peer: str, type: str, run: str) -> None:
        for key, most in self.most.items():
            unit, span, _ = LIMITS[key]
            if unit == UNITS.get(type):
                asked = amount
            elif unit == "bits" and type in ANSWERED_IN_BITS:
                asked = 1
            else:
                continue
            used = count.used(unit, span, day, run)
            if used + asked > most:
                later = " Or ask again tomorrow (UTC)." if span == "day" and asked <= most else ""
                goes_on = type in (type_of(m.TakeTurn), type_of(m.TakeAgain))  # without this agent's further turns
                raise (SitsOutError if goes_on else RefusedError)(
                    f"Agent {self._agent!r} allows {peer!r} {most:,} {unit} {OVER[span]}: {used:,} "
                    f"are used, {asked:,} more are asked for. Its owner may raise {key}, under [allow] in the "
                    f"agent file.{later}"
                )

    def check_samples(self, n_samples: int) -> None:
        if self._max_samples is not None and n_samples > self._max_samples:
            raise RefusedError(
                f"Agent {self._agent!r} allows at most {self._max_samples:,} samples at once; {n_samples:,} are asked "
                "for. Its owner may raise max_samples, under [allow] in the agent file."
            )

    def check_people(self, n_people: int) -> None:
        check_people(self._agent, n_people, self._min_people, "min_people, under [allow]")

    def used(self, peer: str, count: PeerCount, day: str) -> Iterator[dict[str, Any]]:
        """Yield what is spent and left of each limit that is not about one run, as plain values."""
        for key, most in self.most.items():
            unit, span, _ = LIMITS[key]
            if span != "run":
                used = count.used(unit, span, day, "")
                yield use_of(f"allow.{key}", peer, f"{unit} {OVER[span]}", most, used, max(most - used, 0))

    def of_one_run(self) -> dict[str, int | None]:
        turns = {key: self.most.get(key) for key, (_, span, _) in LIMITS.items() if span == "run"}
        return turns | {"max_samples": self._max_samples, "min_people": self._min_people}


def use_of(
    key: str,
    initiator: str | None,
    counts: str,
    allowed: float | tuple[str, ...] | None,
    spent: float | None = None,
    left: float | None = None,
) -> dict[str, Any]:
    """Return what is spent and left of one limit of an agent's file, such as ``"privacy.max_rounds"``.

    ``initiator`` is None for a limit on each run by itself, which is not spent. ``allowed`` is None for any amount.
    Where each person is counted, the figures are those of the person about whom most was told.
    """
    row = {"key": key, "initiator": initiator, "counts": counts}
    return row | {"allowed": allowed, "spent": spent, "left": left}


def check_people(agent: str, n_people: float, least: int | None, key: str) -> None:
    """Raise if a run would train on too few of an agent's rows; how many they are is not said."""
    if least is not None and n_people < least:
        raise RefusedError(
            f"Agent {agent!r} only trains on at least {least:,} people that it knows; this run has fewer. Its owner "
            f"may lower {key} in the agent file."
        )


def _number(said: int | str | None, default: int | None) -> int | None:
    if said is None:
        return default
    return said if isinstance(said, int) else None


# What an agent has told each initiator about each person, since the first run: bits, votes, randomised answers.

People = NDArray[np.uint64]

TOTALS = ("bits", "predictions", "answers")

ANSWERS_AT = "most_answers_at_"
"""The beginning of the names of figures about randomised answers; an epsilon follows."""

ALL = 2.0**53
"""What counts as all spent, whatever the limit."""

ALL_SPENT = dict.fromkeys((*TOTALS, "most_bits", "most_predictions"), ALL) | {f"{ANSWERS_AT}{ALL!r}": 1.0}
"""Figures by which every budget of every person is spent: nothing is left that says how much was told."""


@dataclass(frozen=True, eq=False)
class Release:
    """Something that is told about some people (in rising order), the same amount about each."""

    people: People
    bits: float
    answers: int = 0
    votes: int = 0


@dataclass(frozen=True, eq=False)
class PeopleTold:
    """What one initiator was told about each person.

    ``people`` are in rising order. Of shape (n,), as they are: ``bits``, ``votes`` (predictions) and ``last``, the mark
    of the last prediction: while it is the same, the votes are the same. ``answers``, of shape (n, e), says how many
    answers were randomised with each of ``epsilons``. ``marks`` are of turns that were counted, so that each is counted
    once. ``totals``, of bits, predictions and randomised answers over all people, never fall. ``least_...`` is what
    everybody counts as having been told, at least: above zero only where counts were lost and rebuilt.
    """

    initiator: str
    people: People
    bits: Floats
    votes: NDArray[np.int64]
    last: NDArray[np.uint64]
    epsilons: Floats
    answers: NDArray[np.int64]
    marks: NDArray[np.uint64]
    totals: Floats
    least_bits: float
    least_votes: int
    least_answers: NDArray[np.int64]

    @classmethod
    def nothing(cls, initiator: str) -> PeopleTold:
        none, whole = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        answers = np.zeros((0, 0), np.int64)
        return cls(initiator, none, np.zeros(0), whole, none, np.zeros(0), answers, none, np.zeros(3), 0.0, 0, whole)

    @classmethod
    def rebuilt(cls, initiator: str, figures: Mapping[str, float]) -> PeopleTold:
        """Return a record in which everybody counts as the person who was told most about, by these figures."""
        said = {name.removeprefix(ANSWERS_AT): most for name, most in figures.items() if name.startswith(ANSWERS_AT)}
        epsilons, answers = np.array([*map(float, said)]), np.array([*said.values()], np.int64)
        return replace(
            cls.nothing(initiator),
            epsilons=epsilons,
            answers=np.zeros((0, len(said)), np.int64),
            totals=np.array([figures[name] for name in TOTALS]),
            least_bits=figures["most_bits"],
            least_votes=int(figures["most_predictions"]),
            least_answers=answers,
        )

    @property
    def is_rebuilt(self) -> bool:
        return bool(self.least_bits or self.least_votes or self.least_answers.any())

    def figures(self) -> dict[str, float]:
        """Return figures that never fall: what was counted over all people, and for the person told most about."""
        most = np.vstack([self.answers, self.least_answers]).max(axis=0)
        return {
            **dict(zip(TOTALS, self.totals.tolist(), strict=True)),
            "most_bits": float(self.bits.max(initial=self.least_bits)),
            "most_predictions": float(self.votes.max(initial=self.least_votes)),
            **{f"{ANSWERS_AT}{e!r}": float(n) for e, n in zip(self.epsilons.tolist(), most.tolist(), strict=True)},
        }

    def epsilon(self) -> Floats:
        out: Floats = self.answers @ self.epsilons
        return out

    def of(self, values: NDArray[Any], people: People) -> NDArray[Any]:
        """Return the values of some people; zero for those about whom nothing was told yet."""
        places, known = self._places(people)
        out = np.zeros((len(people), *values.shape[1:]), dtype=values.dtype)
        out[known] = values[places[known]]
        return out

    def with_people(self, people: People) -> PeopleTold:
        """Add those of these people that are new, with the least that everybody has."""
        fresh = people[~self._places(people)[1]]
        if not len(fresh):
            return self
        order = np.argsort(everybody := np.concatenate([self.people, fresh]))

        def grown(values: NDArray[Any], least: Any = 0) -> NDArray[Any]:
            more = np.full((len(fresh), *values.shape[1:]), least, dtype=values.dtype)
            out: NDArray[Any] = np.concatenate([values, more])[order]
            return out

        return replace(
            self,
            people=everybody[order],
            bits=grown(self.bits, self.least_bits),
            votes=grown(self.votes, self.least_votes),
            last=grown(self.last),
            answers=grown(self.answers, self.least_answers),
        )

    def with_release(self, release: Release, epsilon: float | None, mark: int) -> PeopleTold:
        out = self.with_people(release.people)
        if release.answers and epsilon is not None:
            out = out.with_epsilon(epsilon)
            column = int(np.flatnonzero(out.epsilons == epsilon)[0])
        places, _ = out._places(release.people)
        bits, votes, last, answers = out.bits.copy(), out.votes.copy(), out.last.copy(), out.answers.copy()
        bits[places] += release.bits
        votes[places] += release.votes
        if release.votes:
            last[places] = mark
        marks = self.marks if release.votes else np.union1d(self.marks, np.array([mark], np.uint64))
        if release.answers and epsilon is not None:
            answers[places, column] += release.answers
        told = np.array([release.bits, release.votes, release.answers]) * len(release.people)
        return replace(out, bits=bits, votes=votes, last=last, answers=answers, marks=marks, totals=out.totals + told)

    def with_epsilon(self, epsilon: float) -> PeopleTold:
        if epsilon in self.epsilons:
            return self
        more = np.zeros((len(self.people), 1), np.int64)
        return replace(
            self,
            epsilons=np.append(self.epsilons, epsilon),
            answers=np.hstack([self.answers, more]),
            least_answers=np.append(self.least_answers, 0),
        )

    def _places(self, people: People) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        if not len(self.people):
            return np.zeros(len(people), np.intp), np.zeros(len(people), bool)
        places = np.minimum(np.searchsorted(self.people, people), len(self.people) - 1)
        return places, self.people[places] == people


class ToldBook:
    """The files of what was told, for all initiators; the folder need not exist yet.

    Several processes of one agent may count at the same time; they wait for each other.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, tuple[Any, PeopleTold]] = {}

    @property
    def empty(self) -> bool:
        return not any(self.n_people().values())

    def initiators(self) -> list[str]:
        return sorted(_load(path).initiator for path in self._folder.glob("*.npz"))

    def n_people(self) -> dict[str, int]:
        found = {}
        for path in self._folder.glob("*.npz"):
            with suppress(RunError):  # whoever asks for this initiator is told
                told = _load(path)
                found[told.initiator] = len(told.people)
        return found

    def of(self, initiator: str) -> PeopleTold:
        path = self._path(initiator)
        if not path.exists():
            return PeopleTold.nothing(initiator)
        stat = path.stat()
        version = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if initiator not in self._read or self._read[initiator][0] != version:
            self._read[initiator] = version, _load(path)
        told = self._read[initiator][1]
        if told.initiator != initiator:
            raise RunError(
                f"{path} has the counts of {told.initiator!r}, not of {initiator!r}: it was renamed or copied. Restore "
                "it from a backup; nothing is told without it. If there is none: assistlearn recount FILE."
            )
        return told

    def check(self, initiator: str, stated: Mapping[str, float]) -> PeopleTold:
        """Return what an initiator was told; raise ``RunError`` if it is less than the ledger has ``stated``."""
        told = self.of(initiator)
        figures = told.figures()
        less = {name: most for name, most in stated.items() if figures.get(name, 0.0) < most * (1.0 - 1e-9)}
        if less:
            path, there = self._path(initiator), self._path(initiator).exists()
            counts = ", ".join(
                f"{figures.get(name, 0.0):,g} of {most:,g} {_words(name)}" for name, most in less.items()
            )
            raise RunError(
                f"{path} {'is older than the ledger' if there else 'is missing'}. It has the counts of what "
                f"{initiator!r} was told about each person, over all people: {counts}. Nothing is told without them. "
                "Restore it from a backup. If there is none: assistlearn recount FILE."
            )
        return told

    @contextmanager
    def locked(self) -> Iterator[None]:
        with storage.writing(self._folder):
            storage.private_folder(self._folder)
        with storage.appending(self._folder / "lock") as file:
            wait_for(file)
            yield

    def keep(self, told: PeopleTold) -> None:
        buffer = io.BytesIO()
        np.savez(buffer, **{field.name: getattr(told, field.name) for field in fields(told)})
        storage.write_bytes(self._path(told.initiator), buffer.getvalue())

    def _path(self, initiator: str) -> Path:
        return self._folder / f"{hashlib.sha256(initiator.encode()).hexdigest()[:32]}.npz"


def _words(figure: str) -> str:
    """Return a figure's name in words.

    >>> _words("most_bits"), _words("most_answers_at_1.0")
    ('bits of one person', 'answers of one person at 1.0')
    """
    name = figure.removeprefix("most_").replace("_", " ")
    first, at, epsilon = name.partition(" at ")
    return f"{first} of one person{at}{epsilon}" if figure.startswith("most_") else name


def _load(path: Path) -> PeopleTold:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            values = {field.name: file[field.name] for field in fields(PeopleTold)}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise RunError(
            f"{path} cannot be read ({type(error).__name__}). It holds the counts of what was told about each person. "
            "Restore it from a backup; nothing is told without it. If there is none: assistlearn recount FILE."
        ) from None
    plain = {"initiator": str, "least_bits": float, "least_votes": int}
    return PeopleTold(**(values | {name: kind(values[name]) for name, kind in plain.items()}))


DELTA = 1e-6

LARGEST = 700.0
"""Above this epsilon, an answer hides nothing that a computer could tell from nothing."""


def epsilon_at_delta(answers: Mapping[float, int], delta: float = DELTA) -> float | None:
    """Return the epsilon of all answers together at a delta; None where ``dp-accounting`` is not installed.

    ``answers`` says how many answers there are with each epsilon. No answer reveals more than one bit that is
    randomised with the same epsilon (Kairouz, Oh and Viswanath, 2015). So every answer counts as such a bit, also one
    with more than two possible values. ``delta`` is the probability with which the epsilon may be exceeded.
    """
    if any(count and epsilon > LARGEST for epsilon, count in answers.items()):
        return sum(epsilon * count for epsilon, count in answers.items())  # counts that were lost, and are all spent
    try:
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError:
        return None
    total: Any = None
    for epsilon, count in answers.items():
        if count:
            bit = pld.from_randomized_response(2.0 / (1.0 + math.exp(epsilon)), 2)
            of_these = bit.self_compose(count)
            total = of_these if total is None else total.compose(of_these)
    plain = sum(epsilon * count for epsilon, count in answers.items())
    return plain if total is None else min(float(total.get_epsilon_for_delta(delta)), plain)


def told_at(book: ToldBook) -> list[dict[str, Any]]:
    """Return, as plain values, what each initiator was told, since the agent's file has the table ``[privacy]``.

    ``people`` is about how many people anything was told; ``bits`` and ``predictions`` are the most about one person,
    ``epsilon`` is the largest sum of epsilons of one person, and ``epsilon_at_delta`` for that person the epsilon at a
    delta of one in a million; None if ``dp-accounting`` is not installed.
    """
    found = []
    for initiator in book.initiators():
        told = book.of(initiator)
        sums = told.epsilon()
        worst = told.answers[int(sums.argmax())].tolist() if len(sums) else []
        found.append(
            {
                "initiator": initiator,
                "people": len(told.people),
                "bits": float(told.bits.max(initial=0.0)),
                "mean_bits": float(told.bits.mean()) if len(told.bits) else 0.0,
                "predictions": int(told.votes.max(initial=0)),
                "epsilon": float(sums.max(initial=0.0)),
                "epsilon_at_delta": epsilon_at_delta(dict(zip(told.epsilons.tolist(), worst, strict=False))),
            }
        )
    return found


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


def what_is_lost(home: Path, name: str) -> str | None:
    try:
        if (home / "ledger.jsonl").exists():
            followed(home / "ledger.jsonl")
        check_counts(home, name)
    except AssistLearnError as error:
        return str(error)
    return None


def recount(home: Path, name: str) -> tuple[list[dict[str, Any]], bool, list[Path]]:
    """Rebuild the counts of an agent.

    Return for each initiator whose counts were rebuilt: what counts from now on, by unit; whether nothing was left to
    count from, so that all counts as spent; and whether the counts of each person were lost, so that everybody counts
    as the person who was told most about. Return also whether a new ledger has begun, and which files were put aside.

    A ledger that has everything is gone on with. Another one is put aside, and a new one begins with an entry for each
    initiator. Owners' decisions are not rebuilt: an older ledger may lack that a consent was taken back. So whoever had
    consent asks again.
    """
    copies, tally = _copies(home), _whole_tally(home, name)
    runs, book = turns_kept(home, name), ToldBook(home / TOLD)
    moved = [] if tally is not None else _put_aside(home)
    ledger, done = Ledger(home / "ledger.jsonl"), list[dict[str, Any]]()
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
            done.append({"initiator": initiator, "units": count.units, "all_spent": not sure, "people": people})
        keep_copies(home, ledger, initiator, runs.get(initiator, {}))
    return done, tally is None, moved


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
