"""Pilots and drawn sequences: ``python -m bench.worth.run``.

Seeds count from 10,000 on. Nothing was chosen on them: neither the bets, which have looked at no data, nor the sizes.
``results.csv`` has a row for each seed; a run goes on where the last one stopped. ``--quick`` makes few of each.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from assistlearn.errors import AssistLearnWarning
from bench.worth.permuted import pilot
from bench.worth.sequences import CASES, LONGEST, looked_at

RESULTS = Path(__file__).parent / "results.csv"
FIRST, REPLICATIONS, QUICK = 10_000, 1_000, 20
PILOTS = {"permuted rows": True, "rows in order": False}
N_IN_ORDER = 100
FIELDS = ("what", "seed", "answer", "n_opened", "naive")
NEVER = ""


def measured(job: tuple[str, int]) -> dict[str, object]:
    """Return one row of the results; ``naive`` is when McNemar's test after every block first said yes."""
    what, seed = job
    if what in CASES:
        looked = looked_at(CASES[what], seed)
        naive = NEVER if looked.naive is None else looked.naive
        return dict(zip(FIELDS, (what, seed, looked.answer, looked.n_opened, naive), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssistLearnWarning)
        worth = pilot(seed, PILOTS[what])
    return dict(zip(FIELDS, (what, seed, worth.answer, worth.n_opened, NEVER), strict=True))


def jobs(n: int, first: int = FIRST) -> list[tuple[str, int]]:
    """Return what is to be measured, with its seeds."""
    counts = dict.fromkeys([*CASES, "permuted rows"], n) | {"rows in order": min(n, N_IN_ORDER)}
    return [(what, first + number) for what, count in counts.items() for number in range(count)]


def read(path: Path = RESULTS) -> list[dict[str, str]]:
    """Return the rows that were measured."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def shown(rows: list[dict[str, str]]) -> str:
    """Return a table of the answers, of the samples that they took, and of the naive test's alarms."""
    lines = [f"{'what':>15}{'seeds':>7}{'yes':>8}{'no':>8}{'undecided':>11}{'median opened':>15}{'naive alarms':>14}"]
    for what in dict.fromkeys(row["what"] for row in rows):
        own = [row for row in rows if row["what"] == what]
        shares = [np.mean([row["answer"] == answer for row in own]) for answer in ("yes", "no", "undecided")]
        alarms = f"{np.mean([row['naive'] != NEVER for row in own]):.1%}" if what in CASES else ""
        median = np.median([int(row["n_opened"]) for row in own])
        cells = "".join(f"{share:>{width}.1%}" for share, width in zip(shares, (8, 8, 11), strict=True))
        lines.append(f"{what:>15}{len(own):>7}{cells}{median:>15.0f}{alarms:>14}")
    return "\n".join(lines)


def one_thread() -> None:
    """Keep a process to one thread."""
    threadpool_limits(1)


def main() -> None:
    """Measure what is missing, write every row as it comes, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} seeds from 0 on, printed and not written")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.quick:
        print(shown([{name: str(value) for name, value in measured(job).items()} for job in jobs(QUICK, first=0)]))
        return
    done = {(row["what"], int(row["seed"])) for row in read()}
    missing = [job for job in jobs(REPLICATIONS) if job not in done]
    with (
        RESULTS.open("a", encoding="utf-8", newline="") as file,
        ProcessPoolExecutor(chosen.jobs, None, one_thread) as pool,
    ):
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for row in pool.map(measured, missing):
            writer.writerow(row)
            file.flush()
    print(f"Sequences of {LONGEST:,} samples, looked at every 50.")
    print(shown(read()))


if __name__ == "__main__":
    main()
