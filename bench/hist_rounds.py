"""Rounds per second against ``AdaBoostClassifier`` with trees of the same depth, on pooled data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.learners import HistTreeClassifier
from bench.hist_result import Figure, at_least, seconds

DEPTH = 5
# rows, columns, classes, how many times AdaBoost's rounds per second
CASES = [(300_000, 20, 5, 40.0), (50_000, 100, 10, 20.0), (1_000_000, 20, 2, 20.0)]
QUICK = [(3_000, 8, 3, 1.0)]


class ClockedTree(HistTreeClassifier):
    """A histogram tree that says how long binning took."""

    binning: ClassVar[float] = 0.0

    def prepare(self, X: Any, y: Any) -> Any:
        """Bin, on the clock."""
        ClockedTree.binning, table = seconds(lambda: super(ClockedTree, self).prepare(X, y))
        return table


def measure(quick: bool) -> Iterator[Figure]:
    for n, columns, classes, bound in QUICK if quick else CASES:
        yield from _compare(n, columns, classes, bound, rounds=3 if quick else 10)


def _compare(n: int, columns: int, classes: int, bound: float, rounds: int) -> Iterator[Figure]:
    # Two boosted ensembles of ten trees differ by chance; a small table is made several times.
    seeds = range(4) if n < 100_000 else range(1)
    means = np.mean([_once(n, columns, classes, rounds, seed) for seed in seeds], axis=0)
    binning, our_round, their_round, our_accuracy, their_accuracy = map(float, means)
    case = f"{n:,} x {columns}, {classes} classes, depth {DEPTH}"
    hundred = 100 * their_round / (binning + 100 * our_round)
    yield Figure("rounds", case, "seconds per round, AdaBoostClassifier", their_round)
    yield Figure("rounds", case, "seconds per round, assistlearn", our_round)
    yield Figure("rounds", case, "seconds to bin the table, once", binning)
    yield at_least("rounds", case, "times AdaBoost's rounds per second", their_round / our_round, bound)
    yield Figure("rounds", case, "the same over 100 rounds with binning", hundred)
    yield Figure("rounds", case, f"test accuracy after {rounds} rounds, AdaBoostClassifier", their_accuracy)
    yield Figure("rounds", case, f"test accuracy after {rounds} rounds, assistlearn", our_accuracy)
    yield at_least("rounds", case, "difference in test accuracy", our_accuracy - their_accuracy, -0.005)


def _once(n: int, columns: int, classes: int, rounds: int, seed: int) -> tuple[float, ...]:
    """Return the seconds of binning, of a round of ours and of theirs, and both test accuracies."""
    n_test = max(n // 5, 20_000)
    X, y = make_classification(
        n + n_test,
        columns,
        n_informative=min(columns, 15),
        n_redundant=0,
        n_classes=classes,
        flip_y=0.05,
        random_state=seed,
    )
    X = X.astype(np.float32)
    X_test, y_test, X, y = X[n:], y[n:], X[:n], y[:n]
    ours = AssistedClassifier(
        [("pooled", ClockedTree(DEPTH, n_jobs=1), slice(None))], n_rounds=rounds, random_state=0, method="ascii"
    )
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=DEPTH), n_estimators=rounds, random_state=0)
    our_seconds, _ = seconds(lambda: ours.fit(X, y))
    their_seconds, _ = seconds(lambda: theirs.fit(X, y))
    our_round, their_round = (our_seconds - ClockedTree.binning) / rounds, their_seconds / rounds
    return ClockedTree.binning, our_round, their_round, ours.score(X_test, y_test), theirs.score(X_test, y_test)
