"""The results as they were measured: accuracies and bytes, by replication and round."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from assistlearn.core.people import mean_and_error
from bench.accuracy.problems import PROBLEMS, Problem
from bench.accuracy.ways import AGAIN, UNCHANGED

Key: TypeAlias = tuple[str, str, str]
"""Problem, learner, way."""
SOFT_BEFORE = "soft before"
BY_NAME: dict[str, Problem] = {problem.name: problem for problem in PROBLEMS}


class Results:
    """Curves of every problem, learner and way: replication -> after each round. A stopped run keeps its last value.

    Parameters
    ----------
    results : Path
        What was measured; nothing if it does not exist.
    before : Path, optional
        What was measured before. Its ``soft`` is :data:`SOFT_BEFORE` here. What is unchanged since stands in where
        ``results`` has nothing for a replication.
    """

    def __init__(self, results: Path, before: Path | None = None) -> None:
        self.curves: dict[Key, dict[int, list[float]]] = {}
        self.sent: dict[Key, dict[int, list[int]]] = {}
        for row in _rows(results):
            self._add((row["problem"], row["learner"], row["way"]), row)
        own = {(key, rep) for key, runs in self.curves.items() for rep in runs}
        for row in _rows(before):
            key = row["problem"], row["learner"], row["way"]
            if row["way"] == "soft":
                self._add((*key[:2], SOFT_BEFORE), row)
            elif row["way"] in UNCHANGED and row["learner"] not in AGAIN and (key, int(row["replication"])) not in own:
                self._add(key, row)
        self.pairs = [(problem.name, learner) for problem in PROBLEMS for learner in problem.learners]
        self.pairs = [pair for pair in self.pairs if self.has(*pair, "combined") or self.has(*pair, SOFT_BEFORE)]

    def _add(self, key: Key, row: dict[str, str]) -> None:
        replication = int(row["replication"])
        self.curves.setdefault(key, {}).setdefault(replication, []).append(float(row["accuracy"]))
        if row.get("bytes"):
            self.sent.setdefault(key, {}).setdefault(replication, []).append(int(row["bytes"]))

    def has(self, *key: str) -> bool:
        """Whether a problem, learner and way were measured."""
        return key in self.curves

    def at(self, problem: str, learner: str, way: str, round: int = 0) -> dict[int, float]:
        """Return replication -> accuracy after a round, or after the last."""
        runs = self.curves.get((problem, learner, way), {})
        return {rep: curve[min(round, len(curve)) - 1] for rep, curve in runs.items()}

    def gap(self, problem: str, learner: str, one: str, other: str) -> tuple[float, float]:
        """Return the mean and the standard error of a paired difference at the last round."""
        a, b = self.at(problem, learner, one), self.at(problem, learner, other)
        return mean_and_error(np.array([a[rep] - b[rep] for rep in self.paired(problem, learner, one, other)]))

    def paired(self, problem: str, learner: str, *ways: str) -> list[int]:
        """Return the replications that have all of the ways."""
        return sorted(set.intersection(*(set(self.curves.get((problem, learner, way), ())) for way in ways)))

    def mean_curve(self, key: Key, replications: Sequence[int]) -> np.ndarray:
        """Return the accuracies, replications x rounds."""
        return _even([self.curves[key][rep] for rep in replications])

    def mean_sent(self, key: Key, replications: Sequence[int]) -> np.ndarray:
        """Return the bytes by each round, replications x rounds."""
        return _even([self.sent[key][rep] for rep in replications])

    def shown(self, problem: str, learner: str, way: str, round: int = 0) -> str:
        """Return mean and standard error, for a table."""
        values = list(self.at(problem, learner, way, round).values())
        if not values:
            return ""
        mean, error = mean_and_error(np.array(values))
        return f"{mean:.3f} ± {error:.3f}" if len(values) > 1 else f"{mean:.3f}"

    def n_replications(self) -> int:
        """Return the largest number of replications of the recommended way."""
        return max((len(runs) for (_, _, way), runs in self.curves.items() if way == "combined"), default=0)

    def seeds(self) -> str:
        """Return the seeds of the replications of the recommended way, from first to last."""
        known = sorted({rep for (_, _, way), runs in self.curves.items() if way == "combined" for rep in runs})
        return f"{known[0]} to {known[-1]}" if known else "none, as yet"


class Kept:
    """All ways of a file of results as they are, by their own names: for what was measured before."""

    def __init__(self, path: Path) -> None:
        self._values: dict[Key, dict[int, float]] = {}
        for row in _rows(path):  # the last round of a replication comes last
            key = row["problem"], row["learner"], row["way"]
            self._values.setdefault(key, {})[int(row["replication"])] = float(row["accuracy"])

    def table_rows(self, ways: Sequence[str]) -> list[list[str]]:
        """Return rows of the pairs that have all of the ways: means and errors after the last round."""
        rows = []
        for problem in PROBLEMS:
            for learner in problem.learners:
                values = [self._values.get((problem.name, learner, way)) for way in ways]
                if all(values):
                    shown = (mean_and_error(np.array([*known.values()])) for known in values if known)
                    rows.append([problem.name, learner, *(f"{mean:.3f} ± {error:.3f}" for mean, error in shown)])
        return rows


def _rows(path: Path | None) -> list[dict[str, str]]:
    if path is None or not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return sorted(csv.DictReader(file), key=lambda row: int(row["round"]))


def _even(curves: Sequence[Sequence[float]]) -> np.ndarray:
    longest = max(len(curve) for curve in curves)
    return np.array([[*curve, *[curve[-1]] * (longest - len(curve))] for curve in curves])
