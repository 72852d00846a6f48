"""The label-private method on public tables, against epsilon: ``python -m bench.label_private.run``.

Replications are numbered by the seeds of their splits, from 100 on: choices were made on the splits of seeds 0 to 7.
Beside every figure stands its control: the same run with labels that are pure noise. What it gains over the initiator
alone is no use of labels. *Alone* is the initiator's learner, *alone, combined* what it makes of its own scores and
columns in the same way as with helpers: more, where its learner is weak. ``--quick`` is a small run that shows that
everything works.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from assistlearn.core.people import mean_and_error
from bench.label_private.measure import FULL_PRECISION, PURE_NOISE, baseline, one_run
from bench.label_private.problems import PROBLEMS, QUICK

RESULTS = Path(__file__).parent / "results.csv"
FIRST, REPLICATIONS = 100, 5
EPSILONS = (1.0, 2.0, math.inf)
FIELDS = ("problem", "seed", "way", "score", "kind", "seconds")
ALONE, COMBINED, POOLED = "alone", "alone, combined", "pooled"
CONTROL, FINE = "pure noise", "epsilon 1, full precision"


def ways() -> dict[str, tuple[float, int]]:
    """Return name -> epsilon and bits of every way to run the method."""
    named = {f"epsilon {epsilon:g}": (epsilon, 0) for epsilon in EPSILONS}
    return {COMBINED: (math.inf, 0), CONTROL: (PURE_NOISE, 0), **named, FINE: (1.0, FULL_PRECISION)}


def measured(job: tuple[str, int, str, str]) -> dict[str, object]:
    """Return one row of the results."""
    name, seed, way, combine = job
    problem, begun = PROBLEMS[name], time.perf_counter()
    taken = ""
    if way in (ALONE, POOLED):
        score = baseline(problem, seed, pooled=way == POOLED)
    else:
        epsilon, bits = ways()[way]
        found = one_run(problem, seed, epsilon, combine, bits, helpers=way != COMBINED)
        score, taken = found.score, found.kind
    seconds = round(time.perf_counter() - begun, 1)
    return dict(zip(FIELDS, (name, seed, way, round(score, 5), taken, seconds), strict=True))


def shown(rows: list[dict[str, object]]) -> str:
    """Return a table: mean and standard error of every problem and way."""
    names = [ALONE, *ways(), POOLED]
    lines = ["".join(f"{name:>26}" for name in ["problem", *names])]
    for problem in dict.fromkeys(str(row["problem"]) for row in rows):
        cells = [problem]
        for way in names:
            values = [float(str(row["score"])) for row in rows if row["problem"] == problem and row["way"] == way]
            mean, error = mean_and_error(np.array(values))
            cells.append(f"{mean:.4f} ± {error:.4f}" if values else "")
        lines.append("".join(f"{cell:>26}" for cell in cells))
    return "\n".join(lines)


def one_thread() -> None:
    """Keep a process to one thread: there is one process per core already."""
    threadpool_limits(1)


def main() -> None:
    """Measure everything, write the rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=None, help=f"{REPLICATIONS}; two with --quick")
    parser.add_argument("--first", type=int, default=FIRST, help=f"seed of the first replication: {FIRST}")
    parser.add_argument("--only", action="append", default=[], help="a problem; may be repeated")
    parser.add_argument("--combine", default="auto", help="how scores are combined: auto, stack, offset or learned")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--quick", action="store_true", help="one small table, seeds 0 and 1")
    options = parser.parse_args()
    names = options.only or (QUICK if options.quick else tuple(PROBLEMS))
    first, reps = (0, 2) if options.quick else (options.first, REPLICATIONS)
    seeds = range(first, first + (options.reps or reps))
    jobs = [(n, s, way, options.combine) for n in names for s in seeds for way in (ALONE, *ways(), POOLED)]
    rows = []
    with (
        options.out.open("w", newline="", encoding="utf-8") as file,
        ProcessPoolExecutor(options.jobs, initializer=one_thread) as pool,
    ):
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for row in pool.map(measured, jobs):
            rows.append(row)
            writer.writerow(row)
            file.flush()
    print(shown(rows))


if __name__ == "__main__":
    main()
