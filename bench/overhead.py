"""What assistlearn costs beyond the learners' own ``fit`` and ``predict``: time and memory.

    python -m bench.overhead [--n 1000000] [--rounds 5] [--json]

Time: five agents with one column each, depth-1 trees, ten classes; the run's time less the time inside the learners.
Memory: the same run with learners that allocate nothing, so that the peak of all allocations during ``fit`` is
assistlearn's own, in vectors of n float64.
"""

from __future__ import annotations

import argparse
import json
import time
import tracemalloc
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier


class TimedTree(DecisionTreeClassifier):
    """A tree that adds up the seconds spent in it."""

    seconds: ClassVar[float] = 0.0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        """Fit, on the clock."""
        start = time.process_time()
        super().fit(X, y, sample_weight, check_input)
        TimedTree.seconds += time.process_time() - start
        return self

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """Predict, on the clock."""
        start = time.process_time()
        answers = super().predict(X, check_input)
        TimedTree.seconds += time.process_time() - start
        return answers


class Weightless(ClassifierMixin, BaseEstimator):
    """A learner that allocates nothing: its answers, right on three samples of four, are made beforehand."""

    answers: ClassVar[Any] = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Do nothing."""
        self.classes_ = np.arange(10)
        return self

    def predict(self, X: Any) -> Any:
        """Return what was made beforehand."""
        return Weightless.answers


def make(n: int, learner: Any, rounds: int) -> tuple[AssistedClassifier, Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n)
    X = (y[:, None] * rng.random((1, 5)) + rng.normal(size=(n, 5))).astype(np.float32)
    agents = [(f"agent{i}", learner, [i]) for i in range(5)]
    return AssistedClassifier(agents, n_rounds=rounds, random_state=0, method="ascii"), X, y


def time_share(n: int, rounds: int) -> dict[str, float]:
    clf, X, y = make(n, TimedTree(max_depth=1), rounds)
    TimedTree.seconds = 0.0
    start = time.process_time()
    clf.fit(X, y)
    total = time.process_time() - start
    own = total - TimedTree.seconds
    return {"seconds": total, "own_seconds": own, "own_share": own / total}


def memory_vectors(n: int) -> float:
    clf, X, y = make(n, Weightless(), 2)
    Weightless.answers = np.where(np.arange(n) % 4 == 0, (y + 1) % 10, y)
    tracemalloc.start()
    clf.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    result = time_share(args.n, args.rounds) | {"memory_vectors": memory_vectors(args.n), "n": args.n}
    if args.json:
        print(json.dumps(result))
        return
    print(f"n = {args.n:,}, 10 classes, 5 agents, depth-1 trees on one column, {args.rounds} rounds")
    print(f"  total {result['seconds']:.2f} s, of which assistlearn's own {result['own_seconds']:.3f} s")
    print(f"  own overhead: {result['own_share']:.1%} of the run (to reach: at most 5 %)")
    print(f"  own memory at its peak: {result['memory_vectors']:.1f} vectors of n float64 (to reach: at most 6)")


if __name__ == "__main__":
    main()
