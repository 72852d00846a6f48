"""Attack the releases of real runs on public data: ``python -m bench.privacy.run``.

    python -m bench.privacy.run [--reps 5] [--jobs 2] [--again WORD] [--quick] [--report] [--out FOLDER] [--docs FOLDER]

Results go to ``results.csv`` as they come; started again, it goes on where it was. Then ``README.md`` beside them,
``docs/evidence/privacy-measured.md`` and its picture are written. ``--again`` measures the ways anew whose names begin
with a word, in all replications that there are, and replaces their rows, with those of labels. ``--quick`` is a small
run that shows that everything works; ``--report`` measures nothing.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from bench.privacy import report
from bench.privacy.measure import measured
from bench.privacy.tables import TABLES
from bench.privacy.ways import EPSILONS, WAYS

HERE = Path(__file__).parent
RESULTS = "results.csv"
FIELDS = ("table", "way", "rounds", "figure", "column", "replication", "value")
FIRST, REPS = 100, 5
QUICK_TABLES = ("breast cancer",)
QUICK_WAYS = ("ascii", "soft, 8 bits", "label-private, epsilon 1")
QUICK_COLUMNS, QUICK_EPSILONS = 2, (1.0,)


class Job(NamedTuple):
    """What to measure: a table, a replication, and how much of it."""

    table: str
    replication: int
    ways: tuple[str, ...] = tuple(WAYS)
    most_columns: int = 100
    epsilons: tuple[float, ...] = EPSILONS


def rows_of(job: Job) -> list[tuple[object, ...]]:
    """Return the rows of a job, as they stand in the file."""
    cut = TABLES[job.table](job.replication)
    found = measured(cut, job.replication, job.ways, job.most_columns, job.epsilons)
    return [(job.table, r.way, r.rounds, r.figure, r.column, job.replication, round(r.value, 4)) for r in found]


def jobs(options: argparse.Namespace) -> list[Job]:
    """Return what is still to do, one replication of everything after the other."""
    done = set()
    if (options.out / RESULTS).exists():
        with (options.out / RESULTS).open(newline="", encoding="utf-8") as file:
            done = {(row["table"], int(row["replication"])) for row in csv.DictReader(file)}
    wanted = [(table, FIRST + number) for number in range(options.reps) for table in TABLES]
    if options.quick:
        wanted = [(table, number) for number in range(options.reps) for table in QUICK_TABLES]
        return [Job(*key, QUICK_WAYS, QUICK_COLUMNS, QUICK_EPSILONS) for key in wanted if key not in done]
    return [Job(*key) for key in wanted if key not in done]


def again(path: Path, word: str, processes: int) -> None:
    """Measure some ways anew, in all replications that a file has, and put their rows in the place of the old ones."""
    with path.open(newline="", encoding="utf-8") as file:
        old = [tuple(row[field] for field in FIELDS) for row in csv.DictReader(file)]
    ways = tuple(way for way in WAYS if way.startswith(word))
    to_do = [Job(table, int(seed), ways) for table, seed in dict.fromkeys((row[0], row[5]) for row in old)]
    measured_anew = [tuple(map(str, row)) for _, rows in run(to_do, processes) for row in rows]
    replaced = {row[1] for row in measured_anew}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows([row for row in old if row[1] not in replaced])
        writer.writerows(measured_anew)


def run(to_do: list[Job], processes: int) -> Iterator[tuple[Job, list[tuple[object, ...]]]]:
    """Yield each job with its rows."""
    with ProcessPoolExecutor(processes, initializer=one_thread) as pool:
        yield from zip(to_do, pool.map(rows_of, to_do), strict=True)


def one_thread() -> None:
    """Keep a process to one thread: there is one process per core already."""
    threadpool_limits(1)


def write(path: Path, to_do: list[Job], processes: int) -> None:
    """Add the rows of jobs to a file as they come."""
    begun, fresh = time.perf_counter(), not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(FIELDS)
        for number, (job, rows) in enumerate(run(to_do, processes), 1):
            writer.writerows(rows)
            file.flush()
            seconds = time.perf_counter() - begun
            print(f"{number}/{len(to_do)}  {seconds:6.0f} s  {job.table}, replication {job.replication}", flush=True)


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line, or of some arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reps", type=int, default=None, help=f"replications: {REPS}; two with --quick")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--again", metavar="WORD", default="", help="measure ways anew whose names begin so")
    parser.add_argument("--quick", action="store_true", help="one table, three ways, seeds 0 and 1; for CI")
    parser.add_argument("--report", action="store_true", help="measure nothing, write the page from the results")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--docs", type=Path, default=HERE.parents[1] / "docs" / "evidence")
    options = parser.parse_args(arguments)
    if options.quick and options.out == HERE:
        parser.error("--quick needs --out and --docs: its figures do not belong to the page.")
    if options.reps is None:
        options.reps = 2 if options.quick else REPS
    return options


def main() -> None:
    """Measure what is missing, then write the page."""
    options = options_of()
    options.out.mkdir(parents=True, exist_ok=True)
    to_do = [] if options.report or options.again else jobs(options)
    if options.again:
        again(options.out / RESULTS, options.again, options.jobs)
    if to_do:
        write(options.out / RESULTS, to_do, options.jobs)
    report.write(options.out / RESULTS, options.docs)


if __name__ == "__main__":
    main()
