"""The figures that were measured, read from their file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.privacy.measure import NOTHING, WRONG_PEOPLE
from bench.privacy.tables import TABLES
from bench.privacy.ways import ROUNDS, WAYS


class Results:
    """What was measured: by table, way, figure and column the value of each replication after its rounds."""

    def __init__(self, path: Path) -> None:
        self._values: dict[tuple[str, str, str, str], dict[int, dict[int, float]]] = {}
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = row["table"], row["way"], row["figure"], row["column"]
                by_rounds = self._values.setdefault(key, {}).setdefault(int(row["replication"]), {})
                by_rounds[int(row["rounds"])] = float(row["value"])
        self.tables = [name for name in TABLES if any(key[0] == name for key in self._values)]
        self.ways = [way for way in WAYS if any(key[1] == way for key in self._values)]

    def replications(self, table: str) -> list[int]:
        """Return the seeds of the replications of a table."""
        return sorted({seed for key, runs in self._values.items() if key[0] == table for seed in runs})

    def columns(self, table: str) -> list[str]:
        """Return the columns that were attacked, in the order of the table."""
        return [key[3] for key in self._values if key[:3] == (table, NOTHING, "column")]

    def at(self, table: str, way: str, figure: str, rounds: int = 0, column: str = "") -> dict[int, float]:
        """Return each replication's value after so many rounds, or after its last where it has had fewer."""
        runs = self._values.get((table, way, figure, column), {})
        return {seed: known[max(r for r in known if r <= max(rounds, min(known)))] for seed, known in runs.items()}

    def columns_together(self, table: str, way: str, rounds: int = 0) -> dict[int, float]:
        """Return each replication's mean over the columns that were attacked."""
        each = [self.at(table, way, "column", rounds, column) for column in self.columns(table)]
        seeds = set.intersection(*(set(one) for one in each)) if each else set()
        return {seed: float(np.mean([one[seed] for one in each])) for seed in sorted(seeds)}

    def last_rounds(self, table: str, way: str) -> list[int]:
        """Return in how many rounds each replication has told something."""
        return [max(known) for known in self._values.get((table, way, "bits", ""), {}).values()]

    def stages(self, table: str, way: str) -> Iterator[int]:
        """Yield the numbers of rounds that make a difference: none after the last round of all replications."""
        last = max(self.last_rounds(table, way), default=0)
        before = 0
        for rounds in ROUNDS:
            if rounds == ROUNDS[0] or before < last:
                yield rounds
            before = rounds

    def controls(self, table: str) -> list[str]:
        """Return the controls that were measured."""
        return [
            way for way in (NOTHING, WRONG_PEOPLE) if (table, way, "column", self.columns(table)[0]) in self._values
        ]

    def epsilons(self, table: str) -> list[str]:
        """Return the values of epsilon, as ways are named by them."""
        return [key[1] for key in self._values if key[0] == table and key[2] == "label"]


def shown(values: dict[int, float], digits: int = 3) -> str:
    """Return the mean and its standard error, for a table.

    >>> shown({100: 0.5, 101: 0.7}), shown({100: 0.5}), shown({})
    ('0.600 ± 0.100', '0.500', '')
    """
    numbers = list(values.values())
    if not numbers:
        return ""
    mean = f"{np.mean(numbers):.{digits}f}"
    if len(numbers) < 2:
        return mean
    return f"{mean} ± {np.std(numbers, ddof=1) / np.sqrt(len(numbers)):.{digits}f}"
