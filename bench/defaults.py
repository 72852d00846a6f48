"""What the defaults bring and cost: an estimator without settings beside ``method="ascii"``, on the same splits.

    python -m bench.defaults [--seeds 100 101 102]

Both are as a user gets them, with 20 rounds at the most. Seconds are those of the processor in ``fit``, in one thread:
set OMP_NUM_THREADS=1. Every fit is a row of bench/defaults.csv, which is made anew; the table that is printed is the
one of defaults.md beside this file.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from assistlearn import AssistedClassifier
from bench.accuracy.measure import agents_of
from bench.accuracy.problems import PROBLEMS, Cut

RESULTS = Path(__file__).with_name("defaults.csv")
COLUMNS = ("problem", "learner", "method", "seed", "rounds", "accuracy", "seconds")
NAMES = ("breast cancer", "empty helper", "imbalanced", "useless columns", "digits")
LEARNERS = ("tree-3", "logistic", "forest")
METHODS: dict[str, dict[str, Any]] = {"default": {}, "ascii": {"method": "ascii"}}

ALL_PAIRS = Path(__file__).parent / "accuracy" / "results.csv"
"""What :mod:`bench.accuracy` measured: the recommended way is ``combined`` there."""

Row = dict[str, str]


def fit(cut: Cut, learner: str, method: str, seed: int) -> dict[str, Any]:
    """Return what one fit reaches, and the processor's seconds that it takes."""
    model = AssistedClassifier(agents_of(cut, learner), random_state=seed, **METHODS[method])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.process_time()
        model.fit(cut.X_train, cut.y_train)
        seconds = time.process_time() - begun
        accuracy = model.score(cut.X_test, cut.y_test)
    return {"rounds": model.n_rounds_, "accuracy": f"{accuracy:.5f}", "seconds": f"{seconds:.3f}"}


def fits(seeds: Sequence[int], names: Sequence[str] = NAMES) -> Iterator[dict[str, Any]]:
    """Yield a row for each problem, learner, seed and method."""
    for name in names:
        [problem] = [problem for problem in PROBLEMS if problem.name == name]
        for seed in seeds:
            cut = problem.cut(seed)
            for learner in LEARNERS:
                for method in METHODS:
                    row = {"problem": name, "learner": learner, "method": method, "seed": seed}
                    yield row | fit(cut, learner, method, seed)


def table(rows: Iterable[Row]) -> list[str]:
    """Return the lines of a table: means over the seeds, and in the last line over all fits."""
    rows = list(rows)
    lines = [
        "| table | learner | accuracy, default | `ascii` | rounds, default | `ascii` | seconds, default | `ascii` |",
        "| --- " * 8 + "|",
    ]
    cases = list(dict.fromkeys((row["problem"], row["learner"]) for row in rows))
    for problem, learner in cases:
        lines.append(_line(problem, learner, [r for r in rows if (r["problem"], r["learner"]) == (problem, learner)]))
    return [*lines, _line("all", "", rows)]


def _line(problem: str, learner: str, rows: Sequence[Row]) -> str:
    def mean(column: str, method: str) -> float:
        return statistics.mean(float(row[column]) for row in rows if row["method"] == method)

    forms = {"accuracy": ".3f", "rounds": ".1f", "seconds": ".1f"}
    figures = [format(mean(column, method), form) for column, form in forms.items() for method in METHODS]
    return f"| {' | '.join([problem, learner, *figures])} |"


def seconds_of_all_pairs() -> tuple[int, float, float]:
    """Return of how many pairs :mod:`bench.accuracy` has both ways, and the mean seconds of a fit by either.

    There rounds were at most 10, or 3 for strong learners, and the messages of the recommended way were counted.
    """
    seconds = {
        (row["problem"], row["learner"], row["replication"], row["way"]): float(row["seconds"])
        for row in read(ALL_PAIRS)
    }
    pairs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (problem, learner, replication, way), taken in seconds.items():
        papers = seconds.get((problem, learner, replication, "ascii"))
        if way == "combined" and papers is not None:
            pairs.setdefault((problem, learner), []).append((taken, papers))
    means = [[statistics.mean(each) for each in zip(*fits, strict=True)] for fits in pairs.values()]
    combined, ascii = (statistics.mean(each) for each in zip(*means, strict=True))
    return len(means), combined, ascii


def read(file: Path = RESULTS) -> list[Row]:
    """Return the rows of a file of results."""
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 101, 102])
    asked = parser.parse_args()
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in fits(asked.seeds):
            writer.writerow(row)
            file.flush()
    print("\n".join(table(read())))
    print(
        "Of {} pairs of bench.accuracy, seconds of a fit: combined {:.1f}, ascii {:.2f}".format(*seconds_of_all_pairs())
    )


if __name__ == "__main__":
    main()
