"""What a run costs beyond its learners: with the core's benchmark, and with learners as fast as histogram trees."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from assistlearn import AssistedClassifier
from assistlearn.learners import HistTreeClassifier
from bench import overhead
from bench.hist_result import Figure, at_most, made_table, seconds


class ClockedTree(HistTreeClassifier):
    """A histogram tree that adds up the seconds spent in it."""

    spent: ClassVar[float] = 0.0

    def prepare(self, X: Any, y: Any) -> Any:
        """Bin, on the clock."""
        return self._clocked(super().prepare, X, y)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit, on the clock."""
        fitted: Self = self._clocked(super().fit, X, y, sample_weight)
        return fitted

    def predict(self, X: Any) -> Any:
        """Predict, on the clock."""
        return self._clocked(super().predict, X)

    def _clocked(self, work: Any, *args: Any) -> Any:
        start = time.process_time()
        try:
            return work(*args)
        finally:
            ClockedTree.spent += time.process_time() - start


def measure(quick: bool) -> Iterator[Figure]:
    n = 20_000 if quick else 1_000_000
    core = overhead.time_share(n, 2)["own_share"]
    case = f"{n:,} samples, 10 classes, 5 agents with one column, depth-1 decision trees"
    yield at_most("overhead", case, "own share of the run", core, 0.05)
    for classes, columns, depth in ((10, 1, 1), (2, 4, 5)):
        X, y = made_table(n, 5 * columns, classes)
        agents = [(f"agent{i}", ClockedTree(depth, n_jobs=1), slice(columns * i, columns * (i + 1))) for i in range(5)]
        ClockedTree.spent = 0.0
        total, _ = seconds(lambda agents=agents, X=X, y=y: _fit(agents, X, y))
        case = f"{n:,} samples, {classes} classes, 5 agents with {columns} columns, histogram trees of depth {depth}"
        yield Figure("overhead", case, "own seconds per turn", (total - ClockedTree.spent) / 25)
        yield Figure("overhead", case, "own share of the run", 1.0 - ClockedTree.spent / total)


def _fit(agents: Any, X: Any, y: Any) -> None:
    AssistedClassifier(agents, n_rounds=5, random_state=0, method="ascii").fit(X, y)
