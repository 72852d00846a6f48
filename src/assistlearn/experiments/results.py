"""A figure's result: means and standard errors over its replications, beside what was published."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn.core.ignorance import Floats
from assistlearn.core.means import means_and_errors
from assistlearn.experiments.figures import FigureSettings, Patients, Shared
from assistlearn.experiments.published import Curve, published
from assistlearn.experiments.replication import Replication

HEADER = ("figure", "method", "round", "mean", "standard_error", "replications", "published")


@dataclass(frozen=True)
class FigureResult:
    """The results of all replications of a figure.

    Attributes
    ----------
    settings : FigureSettings
        The figure's settings.
    replications : tuple of Replication
        In the order of their numbers.
    """

    settings: FigureSettings
    replications: tuple[Replication, ...]

    def accuracy(self, method: str) -> Floats:
        """Return the test accuracy, replications x rounds."""
        return np.array([each.accuracy[method] for each in self.replications])

    def mean(self, method: str) -> Floats:
        """Return the mean over the replications, after each round."""
        return np.asarray(self.accuracy(method).mean(axis=0))

    def standard_error(self, method: str) -> Floats:
        """Return the standard error of that mean; infinite with a single replication."""
        return means_and_errors(self.accuracy(method))[1]

    @property
    def published(self) -> dict[str, Curve]:
        """The published curves, by method; rounds count from 1."""
        return published(self.settings.figure)

    def theirs(self, method: str, round: int) -> float | None:
        """Return the published accuracy of a method after a round; None where there is none."""
        curve = self.published.get(method)
        return None if curve is None else curve.get(round)

    @property
    def cpu_seconds(self) -> float:
        """The processor time of all replications together."""
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
        """Yield a row for each method and round, as in ``HEADER``."""
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
        """Return the rows as CSV."""
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
