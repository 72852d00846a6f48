"""What an agent has told each initiator about each person, since the first run: bits, votes, randomised answers.

There is one file for each initiator, ``told/*.npz`` in the agent's home. It is written before an answer is sent. It
has keyed digests of people (:meth:`~assistlearn.service.privacy.coin.Coin.people`), not their ids. Forgetting a run
changes nothing here.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.core.ignorance import Floats
from assistlearn.errors import RunError
from assistlearn.storage.file_locks import wait_for

People = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Release:
    """Something that is told about some people, the same amount about each.

    Attributes
    ----------
    people : ndarray of uint64
        The people that it is about, in rising order.
    bits : float
        The bits about each person.
    answers : int, default=0
        The randomised answers about each person.
    votes : int, default=0
        The predictions about each person.
    """

    people: People
    bits: float
    answers: int = 0
    votes: int = 0


@dataclass(frozen=True, eq=False)
class PeopleTold:
    """What one initiator was told about each person.

    Attributes
    ----------
    initiator : str
        The initiator's name.
    people : ndarray of uint64 of shape (n,)
        The people about whom something was told, in rising order.
    bits, votes : ndarray of shape (n,)
        How many bits were told about each person, and how many predictions.
    last : ndarray of uint64 of shape (n,)
        The mark of the last prediction about each person. While the mark is the same, the votes are the same.
    epsilons : ndarray of shape (e,)
        Every epsilon with which answers were randomised.
    answers : ndarray of shape (n, e)
        How many answers about each person were randomised with each epsilon.
    marks : ndarray of uint64
        The marks of turns that were counted, so that each is counted once.
    """

    initiator: str
    people: People
    bits: Floats
    votes: NDArray[np.int64]
    last: NDArray[np.uint64]
    epsilons: Floats
    answers: NDArray[np.int64]
    marks: NDArray[np.uint64]

    @classmethod
    def nothing(cls, initiator: str) -> PeopleTold:
        """Return an empty record, for an initiator that was told nothing yet."""
        none, whole = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        return cls(initiator, none, np.zeros(0), whole, none, np.zeros(0), np.zeros((0, 0), np.int64), none)

    def epsilon(self) -> Floats:
        """Return the sum of the epsilons of each person."""
        out: Floats = self.answers @ self.epsilons
        return out

    def of(self, values: NDArray[Any], people: People) -> NDArray[Any]:
        """Return the values of some people; zero for people about whom nothing was told yet."""
        places, known = self._places(people)
        out = np.zeros((len(people), *values.shape[1:]), dtype=values.dtype)
        out[known] = values[places[known]]
        return out

    def with_people(self, people: People) -> PeopleTold:
        """Return the record with zeros for those of these people that are not in it yet."""
        fresh = people[~self._places(people)[1]]
        if not len(fresh):
            return self
        order = np.argsort(everybody := np.concatenate([self.people, fresh]))

        def grown(values: NDArray[Any]) -> NDArray[Any]:
            more = np.zeros((len(fresh), *values.shape[1:]), dtype=values.dtype)
            out: NDArray[Any] = np.concatenate([values, more])[order]
            return out

        return replace(
            self,
            people=everybody[order],
            bits=grown(self.bits),
            votes=grown(self.votes),
            last=grown(self.last),
            answers=grown(self.answers),
        )

    def with_release(self, release: Release, epsilon: float | None, mark: int) -> PeopleTold:
        """Return the record after one more release."""
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
        return replace(out, bits=bits, votes=votes, last=last, answers=answers, marks=marks)

    def with_epsilon(self, epsilon: float) -> PeopleTold:
        """Return the record with a column for answers with this epsilon."""
        if epsilon in self.epsilons:
            return self
        more = np.zeros((len(self.people), 1), np.int64)
        return replace(self, epsilons=np.append(self.epsilons, epsilon), answers=np.hstack([self.answers, more]))

    def _places(self, people: People) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        if not len(self.people):
            return np.zeros(len(people), np.intp), np.zeros(len(people), bool)
        places = np.minimum(np.searchsorted(self.people, people), len(self.people) - 1)
        return places, self.people[places] == people


class ToldBook:
    """The files of what was told, for all initiators.

    Several processes of one agent may count at the same time; they wait for each other.

    Parameters
    ----------
    folder : path
        The folder of the files; it need not exist yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, tuple[Any, PeopleTold]] = {}

    @property
    def empty(self) -> bool:
        """Whether nobody was told anything."""
        return not any(self._folder.glob("*.npz"))

    def initiators(self) -> list[str]:
        """Return the initiators that were told anything."""
        return sorted(_load(path).initiator for path in self._folder.glob("*.npz"))

    def of(self, initiator: str) -> PeopleTold:
        """Return what an initiator was told."""
        path = self._path(initiator)
        if not path.exists():
            return PeopleTold.nothing(initiator)
        stat = path.stat()
        version = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if initiator not in self._read or self._read[initiator][0] != version:
            self._read[initiator] = version, _load(path)
        return self._read[initiator][1]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other process counts, and keep others from counting meanwhile."""
        with storage.writing(self._folder):
            storage.private_folder(self._folder)
        with storage.appending(self._folder / "lock") as file:
            wait_for(file)
            yield

    def keep(self, told: PeopleTold) -> None:
        """Write what an initiator was told; it is on disk when this returns."""
        buffer = io.BytesIO()
        np.savez(buffer, **{field.name: getattr(told, field.name) for field in fields(told)})
        storage.write_bytes(self._path(told.initiator), buffer.getvalue())

    def _path(self, initiator: str) -> Path:
        return self._folder / f"{hashlib.sha256(initiator.encode()).hexdigest()[:32]}.npz"


def _load(path: Path) -> PeopleTold:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            values = {field.name: file[field.name] for field in fields(PeopleTold)}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise RunError(
            f"{path} cannot be read ({type(error).__name__}). It holds the counts of what was told about each person. "
            "Restore it from a backup; nothing is told without it."
        ) from None
    return PeopleTold(**(values | {"initiator": str(values["initiator"])}))
