"""One replication of a figure; many, kept on disk as they are finished; and their means beside what was published."""

from __future__ import annotations

import csv
import io
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from assistlearn.core.people import means_and_errors
from assistlearn.estimators import AssistedClassifier
from assistlearn.types import Floats
from paper.datasets import DataSet
from paper.figures import (
    Curve,
    FigureSettings,
    Method,
    Patients,
    Shared,
    draw,
    make_learner,
    published,
    remember,
    settled,
    whole,
)
from paper.transmission import Cost, cost_of


class Replication(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one replication, as it is kept on disk."""

    figure: str
    settings: str  # the digest of the figure's settings
    number: int
    # Test accuracy after each round. Where training ended early, the last value is repeated: nothing changes any more.
    accuracy: dict[str, list[float]]
    rounds: dict[str, int]  # after which training ended
    stopped: dict[str, str]  # why it ended
    cpu_seconds: float
    cost: Cost | None = None  # what ASCII sent, if the figure is about that


def replicate(settings: FigureSettings, number: int, folder: str | None = None) -> Replication:
    """Run one replication of a figure; its number, from 0, decides the seed of samples and learners.

    >>> from paper.figures import quick, read_settings
    >>> result = replicate(quick(read_settings("fig1")), number=0)
    >>> list(result.accuracy)
    ['Single', 'ASCII', 'Oracle']
    """
    begun = time.process_time()
    seed = settings.seed + number
    train, test = draw(settings.data, seed, folder)
    accuracy: dict[str, list[float]] = {}
    rounds: dict[str, int] = {}
    stopped: dict[str, str] = {}
    cost = None
    for method in settings.methods:
        model = fitted(settings, method, train, seed)
        accuracy[method] = staged_accuracy(model, test, settings.rounds)
        rounds[method], stopped[method] = model.n_rounds_, str(model.stop_reason_)
        if method == "ASCII" and settings.transmission is not None:
            cost = cost_of(model, train, settings.transmission.bits_per_value)
    return Replication(
        figure=settings.figure,
        settings=settings.digest(),
        number=number,
        accuracy=accuracy,
        rounds=rounds,
        stopped=stopped,
        cpu_seconds=round(time.process_time() - begun, 3),
        cost=cost,
    )


def fitted(settings: FigureSettings, method: Method, train: DataSet, seed: int) -> AssistedClassifier:
    model = _model(settings, method, train, seed)
    with warnings.catch_warnings(), threadpool_limits(1):  # the other cores are for other replications
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of epochs is what the settings ask for
        return model.fit(train.features, train.labels)


def staged_accuracy(model: AssistedClassifier, test: DataSet, n_rounds: int) -> list[float]:
    """Return the accuracy after each of ``n_rounds`` rounds, the last one repeated where training ended early."""
    with threadpool_limits(1):
        scores = list(model.staged_score(test.features, test.labels)) or [model.score(test.features, test.labels)]
    return [round(score, 6) for score in scores + scores[-1:] * (n_rounds - len(scores))]


def _model(settings: FigureSettings, method: Method, train: DataSet, seed: int) -> AssistedClassifier:
    learner = make_learner(settings.learner)
    agents = [(agent, learner, train.columns(agent)) for agent in train.agents]
    way: Literal["ascii", "simple", "ensemble"] = "ascii"
    if method == "ASCII-Simple":
        way = "simple"
    elif method == "Ensemble-Ada":
        way = "ensemble"
    order = "random" if method == "ASCII-Random" else "chain"
    model = AssistedClassifier(agents, method=way, order=order, n_rounds=settings.rounds, random_state=seed)
    if method == "Single":
        return model.alone(_initiator(train))
    return model.pooled() if method == "Oracle" else model


def _initiator(data: DataSet) -> Any:
    return next(iter(data.agents))


class Shelf:
    """The finished replications of one figure on disk: one small JSON file each, written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "replications"

    def keep(self, replication: Replication) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(replication.number)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_bytes(msgspec.json.encode(replication) + b"\n")
        os.replace(beside, path)

    def find(self, settings: FigureSettings, number: int) -> Replication | None:
        """Return a replication that was made with these settings; None where there is none."""
        try:
            found = msgspec.json.decode(self._path(number).read_bytes(), type=Replication)
        except (FileNotFoundError, msgspec.DecodeError):  # a file that cannot be read is replaced
            return None
        same = found.settings == settings.digest() and found.number == number
        return found if same else None

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:04d}.json"


def run(settings: FigureSettings, out: Path, jobs: int = 1, data: str | None = None) -> Iterator[Replication]:
    """Yield a figure's replications as they are finished; those that are kept from an earlier run come first.

    ``settings`` come from :func:`prepared`. A figure has a folder of its own in ``out``. Each of several
    ``jobs`` is a process of its own.
    """
    shelf = Shelf(out / settings.name)
    missing = []
    for number in range(settings.replications):
        kept = shelf.find(settings, number)
        if kept is None:
            missing.append(number)
        else:
            yield kept
    yield from _made(settings, missing, jobs, data, shelf)


def prepared(settings: FigureSettings, data: str | None = None) -> FigureSettings:
    """Return the settings with data that can be read: the demo if the files of MIMIC-III are missing."""
    return msgspec.structs.replace(settings, data=settled(settings.data, data))


def _made(
    settings: FigureSettings, numbers: list[int], jobs: int, data: str | None, shelf: Shelf
) -> Iterator[Replication]:
    if jobs == 1 or len(numbers) < 2:
        for number in numbers:
            yield _kept(settings, number, data, shelf)
        return
    pool = ProcessPoolExecutor(
        min(jobs, len(numbers)),
        mp_context=multiprocessing.get_context("spawn"),  # a forked process would inherit our threads' locks
        initializer=_hand_on(settings, data),
    )
    try:
        waiting: list[Future[Replication]] = [pool.submit(_kept, settings, number, data, shelf) for number in numbers]
        for future in as_completed(waiting):
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _kept(settings: FigureSettings, number: int, data: str | None, shelf: Shelf) -> Replication:
    """Run a replication and write it in the same process, so that it is kept even if the main process ends."""
    replication = replicate(settings, number, data)
    shelf.keep(replication)
    return replication


def _hand_on(settings: FigureSettings, data: str | None) -> Callable[[], None] | None:
    """Read the table once, and return a function that gives it to another process; None if there is no table."""
    if not isinstance(settings.data, Shared | Patients):
        return None
    return partial(remember, settings.data, data, whole(settings.data, data))


HEADER = ("figure", "method", "round", "mean", "standard_error", "replications", "published")


@dataclass(frozen=True)
class FigureResult:
    """The results of all replications of a figure, in the order of their numbers."""

    settings: FigureSettings
    replications: tuple[Replication, ...]

    def accuracy(self, method: str) -> Floats:
        """Return the test accuracy, replications x rounds."""
        return np.array([each.accuracy[method] for each in self.replications])

    def mean(self, method: str) -> Floats:
        return np.asarray(self.accuracy(method).mean(axis=0))

    def standard_error(self, method: str) -> Floats:
        """Return that of the mean after each round; infinite with a single replication."""
        return means_and_errors(self.accuracy(method))[1]

    @property
    def published(self) -> dict[str, Curve]:
        """The published curves, by method; rounds count from 1."""
        return published(self.settings.figure)

    def theirs(self, method: str, round: int) -> float | None:
        curve = self.published.get(method)
        return None if curve is None else curve.get(round)

    @property
    def cpu_seconds(self) -> float:
        return sum(each.cpu_seconds for each in self.replications)

    @property
    def demo(self) -> bool:
        """Whether the result is about the open demo of a data set instead of the paper's data."""
        return isinstance(self.settings.data, Patients) and self.settings.data.demo

    @property
    def resplit(self) -> float:
        """The ratio of test samples to training samples, if replications split the same samples; else zero."""
        data = self.settings.data
        return (1.0 - data.train) / data.train if isinstance(data, Shared | Patients) else 0.0

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for method in self.settings.methods:
            pairs = zip(self.mean(method), self.standard_error(method), strict=True)
            for round, (mean, error) in enumerate(pairs, start=1):
                yield (
                    self.settings.figure,
                    method,
                    round,
                    _number(mean),
                    _number(error),
                    len(self.replications),
                    self.theirs(method, round),
                )

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(self.rows())
        return out.getvalue()


def collect(settings: FigureSettings, replications: Sequence[Replication]) -> FigureResult:
    """Return the result of these replications, which may be in any order."""
    return FigureResult(settings, tuple(sorted(replications, key=lambda each: each.number)))


def _number(value: float) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None
