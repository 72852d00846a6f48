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
FIELDS = ("what", "seed", "answer", "n_opened", "exact", "normal")
NEVER = ""


def measured(job: tuple[str, int]) -> dict[str, object]:
    """Return one row of the results; ``exact`` and ``normal`` are when McNemar's test first found a difference."""
    what, seed = job
    if what in CASES:
        looked = looked_at(CASES[what], seed)
        alarms = (NEVER if alarm is None else alarm for alarm in (looked.exact, looked.normal))
        return dict(zip(FIELDS, (what, seed, looked.answer, looked.n_opened, *alarms), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssistLearnWarning)
        worth = pilot(seed, PILOTS[what])
    return dict(zip(FIELDS, (what, seed, worth.answer, worth.n_opened, NEVER, NEVER), strict=True))


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
    titles = ("what", "seeds", "yes", "no", "undecided", "median opened", "McNemar exact", "normal")
    lines = ["".join(f"{title:>15}" for title in titles)]
    for what in dict.fromkeys(row["what"] for row in rows):
        own = [row for row in rows if row["what"] == what]
        shares = [np.mean([row["answer"] == answer for row in own]) for answer in ("yes", "no", "undecided")]
        shares += [np.mean([row[test] != NEVER for row in own]) for test in ("exact", "normal") if what in CASES]
        cells = [f"{share:.1%}" for share in shares]
        cells.insert(3, f"{np.median([int(row['n_opened']) for row in own]):.0f}")
        lines.append("".join(f"{cell:>15}" for cell in (what, len(own), *cells)))
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
