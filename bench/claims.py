"""What the default claims of itself, and what it costs, on the tables of ``bench.accuracy``.

    python -m bench.claims --out NEW.csv [--seeds 2] [--first 0]
    python -m bench.claims --compare OLD.csv NEW.csv

For every problem, learner and split a row: the log loss that the run claims (of its learned combination, on samples
that it has not seen), that on the test samples, both with their standard errors, the accuracy, the rounds and the
bytes. To compare with an older commit, run it once with ``PYTHONPATH`` naming that commit's ``src``.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before anything that uses OpenMP is imported

import argparse
import csv
import math
import re
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.accuracy.bytes import Counted
from bench.accuracy.measure import agents_of
from bench.accuracy.problems import PROBLEMS
from bench.accuracy.problems.ruled import RULED
from bench.accuracy.problems.tic_tac_toe import TIC_TAC_TOE

ALL = {problem.name: problem for problem in (*TIC_TAC_TOE, *RULED, *PROBLEMS)}
SLOW = {("fashion", "forest"), ("letter x 4", "svm"), ("letter x 4", "boosted")}
FIELDS = ("problem", "learner", "seed", "classes", "kind", "claimed", "claimed_error", "test", "test_error")
FIELDS += ("accuracy", "rounds", "bytes", "seconds")


def measured(problem: str, learner: str, seed: int) -> dict[str, Any]:
    """Return what one run claims and costs."""
    cut = ALL[problem].cut(seed)
    model = Counted(agents_of(cut, learner), random_state=seed)
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(cut.X_train, cut.y_train)
        seconds = time.process_time() - begun
        chances = model.predict_proba(cut.X_test)
        codes = np.searchsorted(model.classes_, cut.y_test)
        losses = -np.log(np.clip(chances[np.arange(len(codes)), codes], 1e-15, 1.0))
        accuracy = float((model.predict(cut.X_test) == cut.y_test).mean())
    learned = model.combination_
    claims = ("none", math.nan, math.nan) if learned is None else (learned.kind, learned.loss, learned.error)
    sent = model.bytes_by_round()
    found = (
        *(problem, learner, seed, len(model.classes_), *claims),
        *(float(losses.mean()), float(losses.std(ddof=1)) / math.sqrt(len(losses)), accuracy, model.n_rounds_),
        *(sent[-1] if sent else 0, seconds),
    )
    plain = (round(value, 5) if isinstance(value, float) else value for value in found)
    return dict(zip(FIELDS, plain, strict=True))


def compare(old: Path, new: Path) -> None:
    """Print both files side by side: a row for each problem and learner that both have, and what is worst."""
    before, after = (_rows(path) for path in (old, new))
    print("problem,learner,n,claimed,test,claim_errors,old_test,difference,errors,old_claim_errors,bytes_ratio")
    beyond: list[str] = []
    gaps, old_gaps, ratios = [], [], []
    for pair in after:
        known = (
            {seed for seed, row in side.get(pair, {}).items() if row["kind"] != "none"} for side in (before, after)
        )
        seeds = sorted(set.intersection(*known))  # where nobody knew anything, nothing is claimed
        if not seeds:
            continue
        mean = {
            name: np.array([[float(side[pair][seed][name]) for seed in seeds] for side in (before, after)])
            for name in ("claimed", "claimed_error", "test", "test_error", "bytes")
        }
        gap, error = mean["test"] - mean["claimed"], np.hypot(mean["claimed_error"], mean["test_error"])
        in_errors = gap.sum(axis=1) / np.sqrt((error**2).sum(axis=1))
        change = mean["test"][1] - mean["test"][0]
        spread = max(float(change.std(ddof=1)) / math.sqrt(len(seeds)) if len(seeds) > 1 else math.inf, 1e-9)
        ratio = float(mean["bytes"][1].sum() / max(mean["bytes"][0].sum(), 1.0))
        gaps.append(float(gap[1].mean()))
        old_gaps.append(float(gap[0].mean()))
        ratios.append(ratio)
        worst = float(np.abs(gap[1] / error[1]).max())
        if worst > 3.0:
            beyond.append(f"{pair[0]}, {pair[1]}: {worst:.1f} errors in a single run")
        print(
            f"{pair[0]},{pair[1]},{len(seeds)},{mean['claimed'][1].mean():.4f},{mean['test'][1].mean():.4f},"
            f"{in_errors[1]:+.1f},{mean['test'][0].mean():.4f},{change.mean():+.4f},{change.mean() / spread:+.1f},"
            f"{in_errors[0]:+.1f},{ratio:.2f}"
        )
    print(f"test loss above the claimed one, mean: {np.mean(gaps):+.4f} (before: {np.mean(old_gaps):+.4f})")
    print(f"bytes, mean of ratios to before: {np.mean(ratios):.3f}")
    print(*(beyond or ["no run beyond three standard errors"]), sep="\n")


def _rows(path: Path) -> dict[tuple[str, str], dict[int, dict[str, str]]]:
    out: dict[tuple[str, str], dict[int, dict[str, str]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            out.setdefault((row["problem"], row["learner"]), {})[int(row["seed"])] = row
    return out


def main() -> None:
    """Measure what is missing in the file, or compare two files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=None, help="a CSV file, to which rows are added")
    parser.add_argument("--first", type=int, default=0, help="the first seed; those from 100 on are for reports")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="also the pairs whose fits take minutes")
    for name in ("only", "learners"):
        parser.add_argument(f"--{name}", type=lambda given: re.split(",(?! )", given), default=[])
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"))
    asked = parser.parse_args()
    if asked.compare:
        return compare(*asked.compare)
    done = _rows(asked.out) if asked.out and asked.out.exists() else {}
    jobs = [
        (name, learner, seed)
        for seed in range(asked.first, asked.first + asked.seeds)
        for name, problem in ALL.items()
        for learner in problem.learners
        if (not asked.only or name in asked.only) and (not asked.learners or learner in asked.learners)
        if (asked.all or (name, learner) not in SLOW) and seed not in done.get((name, learner), {})
    ]
    file = asked.out.open("a", newline="") if asked.out else sys.stdout
    writer = csv.DictWriter(file, FIELDS)
    if not done:
        writer.writeheader()
    with ProcessPoolExecutor(asked.jobs, initializer=threadpool_limits, initargs=(1,)) as pool:
        for row in pool.map(measured, *zip(*jobs, strict=True)) if jobs else ():
            writer.writerow(row)
            file.flush()
    return None


if __name__ == "__main__":
    main()
