"""Accuracy of every way to learn, on every problem: ``python -m bench.accuracy.run``.

Replications are numbered by the seeds of their splits, from :data:`FIRST` on: nothing in the methods was chosen on
these. Results go to ``results.csv`` as they come; started again, it goes on where it was. Then
``README.md`` beside them, ``docs/evidence/accuracy.md`` and its picture are written. ``--quick`` is a small run that
shows that everything works.

``results_before.csv`` was measured at commit bca25c9, on the splits of seeds 100 to 109, with ``soft`` as it was before
turns told one score per class. The ways of :data:`bench.accuracy.ways.UNCHANGED` that it has are not measured again.
``--before`` adds the ``soft`` of that commit for pairs that it lacks, with whatever ``assistlearn`` is imported: check
the commit out beside this one, and let ``PYTHONPATH`` name its ``src``.
"""

from __future__ import annotations

import argparse
import csv
import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from bench.accuracy import measure
from bench.accuracy.gal import regressors_of
from bench.accuracy.measure import Curve
from bench.accuracy.problems import PROBLEMS, Cut, Problem
from bench.accuracy.ways import AGAIN, GAL, POOLED, SOFT, UNCHANGED, WAYS

HERE = Path(__file__).parent
RESULTS, BEFORE = "results.csv", "results_before.csv"
FIELDS = ("problem", "learner", "way", "replication", "round", "accuracy", "seconds", "bytes")
ABSENT_LEARNERS = ("tree-3", "logistic")
FIRST = 100
"""The seed of the first replication. Splits of other seeds were used while the methods were made."""
REPLICATIONS = 5
SLOW_PEER = {("letter x 4", "boosted"): 3, ("letter x 4", "svm"): 3}
"""How many replications GAL has where one fit of it takes more than half a minute."""
QUICK = {("breast cancer", "tree-3"), ("breast cancer", "logistic"), ("iris", "tree-3"), ("iris", "logistic")}
QUICK_WAYS = ("combined", "ascii", "GAL")  # the tables come with scikit-learn

Plan = dict[str, tuple[str, dict[str, Any]]]


class Job(NamedTuple):
    """What to measure of one problem, learner and replication."""

    place: int
    learner: str
    replication: int
    plan: Plan


def wanted(problem: Problem, learner: str, number: int = 0) -> Plan:
    """Return what to measure in the replication of a number, from 0: name of the way -> (kind, settings)."""
    if learner == "-":
        return {name: ("pooled", {}) for name in POOLED}
    plan = {way: how for way, how in WAYS.items() if way != "oracle" or learner != "mix"}
    if regressors_of(learner) is not None and number < SLOW_PEER.get((problem.name, learner), number + 1):
        plan[GAL] = "peer", {}
    return plan


def measured(job: Job) -> list[dict[str, Any]]:
    """Return the rows of a job."""
    problem = PROBLEMS[job.place]
    cut = problem.cut(job.replication)
    absent = job.learner in ABSENT_LEARNERS and " x " not in problem.name
    rows: list[dict[str, Any]] = []
    for way, (kind, settings) in job.plan.items():
        for part, found in curves(cut, job, way, kind, settings, absent):
            name = f"{way}: {part}" if part else way
            for t, accuracy in enumerate(found.accuracies):
                sent = found.sent[t] if t < len(found.sent) else ""
                known = problem.name, job.learner, name, job.replication, found.rounds + t + 1
                rows.append(dict(zip(FIELDS, (*known, round(accuracy, 5), round(found.seconds, 3), sent), strict=True)))
    return rows


def curves(
    cut: Cut, job: Job, way: str, kind: str, settings: dict[str, Any], absent: bool
) -> Iterator[tuple[str, Curve]]:
    """Yield the curves of a way: its own, under no name, and others that come with it."""
    if kind == "pooled":
        yield "", measure.pooled(cut, POOLED[way], job.replication)
    elif kind == "peer":
        yield "", measure.peer(cut, job.learner, job.replication)
    elif kind == "counted":
        yield from measure.counted(cut, job.learner, settings, job.replication, absent)
    else:
        baseline = "" if kind == "plain" else kind
        yield "", measure.curve(cut, job.learner, settings, job.replication, baseline)


def known_ways(path: Path) -> dict[tuple[str, str, int], set[str]]:
    """Return what a file of results has: problem, learner, replication -> ways."""
    done: dict[tuple[str, str, int], set[str]] = {}
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                key = row["problem"], row["learner"], int(row["replication"])
                done.setdefault(key, set()).add(row["way"].partition(":")[0])
    return done


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """Yield what is still to do, one replication of everything after the other."""
    done, before = known_ways(options.out / RESULTS), known_ways(options.out / BEFORE)
    for number in range(options.replications):
        replication = options.first + number
        for place, problem in enumerate(PROBLEMS):
            if number >= problem.replications:
                continue
            pooled = () if " x " in problem.name else ("-",)  # the same tables, cut up in another way
            for learner in (*problem.learners, *pooled):
                key = problem.name, learner, replication
                if options.before:
                    plan = {} if learner == "-" else {"soft": ("plain", SOFT)}
                    has = before.get(key, set())
                else:
                    plan = wanted(problem, learner, number)
                    has = done.get(key, set()) | _same_as_before(learner, before.get(key, set()))
                plan = {way: how for way, how in plan.items() if way not in has and _chosen(options, *key[:2], way)}
                if plan:
                    yield Job(place, learner, replication, plan)


def _same_as_before(learner: str, ways: set[str]) -> set[str]:
    return set() if learner in AGAIN else ways & set(UNCHANGED)


def _chosen(options: argparse.Namespace, problem: str, learner: str, way: str) -> bool:
    """Whether the options ask for a measurement."""
    if options.quick and ((problem, learner) not in QUICK or way not in QUICK_WAYS):
        return False
    asked = ((options.only, problem), (options.learners, learner), (options.ways, way))
    return all(not names or name in names for names, name in asked)


def write(path: Path, rows: Iterable[tuple[str, list[dict[str, Any]]]]) -> None:
    """Add rows to a file as they come, with the columns that it has already."""
    fields = FIELDS
    if path.exists():
        with path.open(newline="") as file:
            fields = tuple(csv.DictReader(file).fieldnames or FIELDS)
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fields, extrasaction="ignore")
        if fresh:
            writer.writeheader()
        for said, found in rows:
            writer.writerows(found)
            file.flush()
            print(said, flush=True)


def run(to_do: list[Job], processes: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield what to say of each job, and its rows."""
    begun = time.perf_counter()
    with ProcessPoolExecutor(processes, initializer=one_thread) as pool:
        for number, (job, rows) in enumerate(zip(to_do, pool.map(measured, to_do), strict=True), 1):
            said = f"{PROBLEMS[job.place].name}, {job.learner}, replication {job.replication}"
            yield f"{number}/{len(to_do)}  {time.perf_counter() - begun:6.0f} s  {said}", rows


def one_thread() -> None:
    """Keep a process to one thread: there is one process per core already."""
    threadpool_limits(1)


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line, or of some arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=None, help=f"{REPLICATIONS}; two with --quick")
    parser.add_argument("--first", type=int, default=None, help=f"seed of the first replication: {FIRST}")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--docs", type=Path, default=HERE.parents[1] / "docs" / "evidence")
    for name in ("only", "learners", "ways"):
        told = f"{'problems' if name == 'only' else name}, separated by commas without a space; all others are left out"
        parser.add_argument(f"--{name}", type=lambda given: re.split(",(?! )", given), default=[], help=told)
    parser.add_argument("--before", action="store_true", help=f"add soft to {BEFORE}, with the assistlearn imported")
    parser.add_argument("--quick", action="store_true", help="two problems, two learners, seeds 0 and 1; for CI")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the report from the results")
    options = parser.parse_args(arguments)
    if options.first is None:
        options.first = 0 if options.quick else FIRST
    if options.replications is None:
        options.replications = 2 if options.quick else REPLICATIONS
    return options


def main() -> None:
    """Measure what is missing, then write the page."""
    options = options_of()
    options.out.mkdir(parents=True, exist_ok=True)
    to_do = [] if options.report else list(jobs(options))
    if to_do:
        write(options.out / (BEFORE if options.before else RESULTS), run(to_do, options.jobs))
    if not options.before:
        from bench.accuracy import report

        report.write(options.out / RESULTS, options.out / BEFORE, options.docs)


if __name__ == "__main__":
    main()
