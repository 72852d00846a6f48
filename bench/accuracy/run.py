"""Accuracy of every way to learn, on every problem: ``python -m bench.accuracy.run``.

Replications are numbered by the seeds of their splits, from :data:`FIRST` on: nothing in the methods was chosen on
these. Results go to ``results.csv`` as they come; started again, it goes on where it was. ``--quick`` is a small run
that shows that everything works. Then ``docs/accuracy.md`` and its picture are written from the file.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from bench.accuracy import measure, report
from bench.accuracy.problems import PROBLEMS, Cut, Problem
from bench.accuracy.ways import BITS, FEW, FIVE_TREES, ORDERS, POOLED, WAYS

HERE = Path(__file__).parent
FIELDS = ("problem", "learner", "way", "replication", "round", "accuracy", "seconds")
OVERLAP_LEARNERS = {"tree-3", "logistic", "bayes"}
ORDERED = {("digits", "tree-3"), ("red wine x 11", "tree-3"), ("letter x 4", "tree-3"), ("vehicle", "tree-3")}
IN_FEWER_BITS = {("digits", "tree-3"), ("letter x 4", "tree-3")}
FIVE_TREES_ON = {("digits", "tree-3"), ("letter", "tree-3"), ("letter x 4", "tree-3")}
FIRST = 100
"""The seed of the first replication. Splits of other seeds were used while the methods were made."""
QUICK_PROBLEM, QUICK_LEARNERS = "breast cancer", ("tree-3", "forest", "-")  # its data come with scikit-learn


def wanted(problem: Problem, learner: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return what to measure: name of the way -> (kind, settings)."""
    plan: dict[str, tuple[str, dict[str, Any]]] = {}
    if learner == "-":
        return {name: ("pooled", {}) for name in POOLED}
    plan |= {name: ("plain", WAYS[name]) for name in FEW.get(learner, WAYS)}
    if learner != "mix":
        plan["single"] = "single", WAYS["ascii"]
        plan["oracle"] = "oracle", WAYS["ascii"]
    if (problem.name, learner) in ORDERED:
        plan |= {name: ("plain", settings) for name, settings in ORDERS.items()}
    if (problem.name, learner) in IN_FEWER_BITS:
        plan |= {name: ("plain", settings) for name, settings in BITS.items()}
    if (problem.name, learner) in FIVE_TREES_ON:
        plan[FIVE_TREES] = "five trees", WAYS["soft"]
    if learner in OVERLAP_LEARNERS and " x " not in problem.name and problem.name != "blob-20":
        plan |= {f"{way}, partial": ("partial", WAYS[way]) for way in ("ascii", "soft")}
    return plan


def job(task: tuple[int, str, int, frozenset[str]]) -> list[dict[str, Any]]:
    """Measure what is missing of one problem, learner and replication."""
    place, learner, replication, done = task
    problem = PROBLEMS[place]
    cut: Cut | None = None
    rows: list[dict[str, Any]] = []
    for way, (kind, settings) in wanted(problem, learner).items():
        if way in done:
            continue
        cut = cut or problem.cut(replication)
        for name, scores, seconds in curves(cut, learner, way, kind, settings, replication):
            rows += [
                dict(
                    zip(
                        FIELDS,
                        (problem.name, learner, name, replication, t, round(s, 5), round(seconds, 3)),
                        strict=True,
                    )
                )
                for t, s in enumerate(scores, 1)
            ]
    return rows


def curves(
    cut: Cut, learner: str, way: str, kind: str, settings: dict[str, Any], seed: int
) -> Iterator[tuple[str, list[float], float]]:
    if kind == "pooled":
        yield way, *measure.pooled(cut, POOLED[way], seed)
    elif kind == "five trees":
        yield way, *measure.curve(cut, "5 trees", settings, seed)
    elif kind == "partial":
        yield way, [], 0.0
        for how, scores, seconds in measure.overlaps(cut, learner, settings, seed):
            yield f"{way}: {how}", scores, seconds
    else:
        yield way, *measure.curve(cut, learner, settings, seed, "" if kind == "plain" else kind)


def tasks(first: int, replications: int, results: Path, quick: bool) -> Iterator[tuple[int, str, int, frozenset[str]]]:
    """Yield what is still to do, one replication of everything after the other."""
    done: dict[tuple[str, str, int], set[str]] = {}
    if results.exists():
        with results.open(newline="") as file:
            for row in csv.DictReader(file):
                way = row["way"].partition(":")[0]
                done.setdefault((row["problem"], row["learner"], int(row["replication"])), set()).add(way)
    for number, (place, problem) in product(range(replications), enumerate(PROBLEMS)):
        replication = first + number
        if number >= problem.replications or (quick and problem.name != QUICK_PROBLEM):
            continue
        pooled = () if " x " in problem.name else ("-",)  # the same tables, cut up in another way
        for learner in (*problem.learners, *pooled):
            if quick and learner not in QUICK_LEARNERS:
                continue
            ways = frozenset(done.get((problem.name, learner, replication), ()))
            if set(wanted(problem, learner)) - ways:
                yield place, learner, replication, ways


def one_thread() -> None:
    """Keep a process to one thread: there is one process per core already."""
    threadpool_limits(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--first", type=int, default=FIRST, help="seed of the first replication")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--docs", type=Path, default=HERE.parents[1] / "docs")
    parser.add_argument("--quick", action="store_true", help="one problem, two learners, two replications; for CI")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the report from the results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results = options.out / "results.csv"
    if not options.report:
        replications = 2 if options.quick else options.replications
        to_do = list(tasks(options.first, replications, results, options.quick))
        begun = time.perf_counter()
        fresh = not results.exists()
        with results.open("a", newline="") as file, ProcessPoolExecutor(options.jobs, initializer=one_thread) as pool:
            writer = csv.DictWriter(file, FIELDS)
            if fresh:
                writer.writeheader()
            for number, rows in enumerate(pool.map(job, to_do), 1):
                writer.writerows(rows)
                file.flush()
                place, learner, replication, _ = to_do[number - 1]
                said = f"{PROBLEMS[place].name}, {learner}, replication {replication}"
                print(f"{number}/{len(to_do)}  {time.perf_counter() - begun:6.0f} s  {said}", flush=True)
    report.write(results, options.docs)


if __name__ == "__main__":
    main()
