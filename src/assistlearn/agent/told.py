"""What an agent has told each initiator about each person, since the first run: bits, votes, randomised answers."""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.errors import RunError
from assistlearn.storage import wait_for
from assistlearn.types import Floats

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


@dataclass(frozen=True)
class ToldSummary:
    """What one initiator was told about an agent's people, since its file has the table ``[privacy]``.

    ``people`` is about how many people anything was told; ``bits`` and ``predictions`` are the most about one person,
    ``epsilon`` is the largest sum of epsilons of one person, and ``epsilon_at_delta`` for that person the epsilon at a
    delta of one in a million; None if ``dp-accounting`` is not installed.
    """

    initiator: str
    people: int
    bits: float
    mean_bits: float
    predictions: int
    epsilon: float
    epsilon_at_delta: float | None

    @classmethod
    def of(cls, told: PeopleTold) -> ToldSummary:
        sums = told.epsilon()
        worst = int(sums.argmax()) if len(sums) else 0
        answers = dict(zip(told.epsilons.tolist(), told.answers[worst].tolist() if len(sums) else [], strict=False))
        return cls(
            initiator=told.initiator,
            people=len(told.people),
            bits=float(told.bits.max(initial=0.0)),
            mean_bits=float(told.bits.mean()) if len(told.bits) else 0.0,
            predictions=int(told.votes.max(initial=0)),
            epsilon=float(sums.max(initial=0.0)),
            epsilon_at_delta=epsilon_at_delta(answers),
        )


def told_at(book: ToldBook) -> list[ToldSummary]:
    return [ToldSummary.of(book.of(initiator)) for initiator in book.initiators()]
