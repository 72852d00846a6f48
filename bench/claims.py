"""What the default claims of itself, and what it costs, on the tables of ``bench.accuracy``.

    python -m bench.claims --out NEW.csv [--seeds 2] [--first 0]
    python -m bench.claims --compare OLD.csv NEW.csv [--page]  # writes the summary, and all pairs into bench/claims.md

For every problem, learner and split a row: the log loss that the run claims (of its learned combination, on samples
that it has not seen), that on the test samples, both with their standard errors, the accuracy, the rounds and the
bytes. A test sample that repeats a training sample, column by column, is left out: it is about nobody new. The losses
of the test samples are kept in a folder beside the file, ``NEW.losses``: whether they have changed goes by the same
samples. To compare with an older commit, put this file, ``evidence_page.py``, ``provenance.py`` and
``accuracy/problems`` into a checkout of it, and run it there too.
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
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from bench.accuracy.bytes import Counted
from bench.accuracy.measure import agents_of
from bench.accuracy.problems import PROBLEMS
from bench.accuracy.problems.ruled import RULED
from bench.accuracy.problems.tic_tac_toe import TIC_TAC_TOE
from bench.evidence_page import ROOT, put
from bench.provenance import wrapped

ALL = {problem.name: problem for problem in (*TIC_TAC_TOE, *RULED, *PROBLEMS)}
SLOW = {("fashion", "forest"), ("letter x 4", "svm"), ("letter x 4", "boosted")}
FIELDS = ("problem", "learner", "seed", "classes", "kind", "claimed", "claimed_error", "test", "test_error")
FIELDS += ("accuracy", "rounds", "bytes", "seconds")
NUMBERS = ("claimed", "claimed_error", "test", "test_error", "accuracy", "bytes")
PAGE = ROOT / "bench" / "claims.md"


def measured(problem: str, learner: str, seed: int, losses_in: Path | None = None) -> dict[str, Any]:
    """Return what one run claims and costs; keep the losses of the test samples in a folder."""
    cut = ALL[problem].cut(seed)
    model = Counted(agents_of(cut, learner), random_state=seed)
    seen = {row.tobytes() for row in np.ascontiguousarray(cut.X_train)}
    new = np.array([row.tobytes() not in seen for row in np.ascontiguousarray(cut.X_test)])
    X_test, y_test = cut.X_test[new], cut.y_test[new]
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(cut.X_train, cut.y_train)
        seconds = time.process_time() - begun
        chances = model.predict_proba(X_test)
        codes = np.searchsorted(model.classes_, y_test)
        losses = -np.log(np.clip(chances[np.arange(len(codes)), codes], 1e-15, 1.0))
        accuracy = float((model.predict(X_test) == y_test).mean())
    if losses_in:
        np.save(_kept(losses_in, problem, learner, seed), losses.astype(np.float32))
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


class Compared(NamedTuple):
    """A problem and a learner, before and after: means over the same splits."""

    problem: str
    learner: str
    splits: int
    claimed: float
    test: float
    claim_errors: float
    old_test: float
    old_claim_errors: float
    change_errors: float
    accuracy: float
    old_accuracy: float
    bytes_ratio: float
    farthest: float
    gap: float
    old_gap: float


def compared(old: Path, new: Path) -> list[Compared]:
    """Return what both files say about each problem and learner, where somebody knew anything in both.

    A change is divided by its own standard error, over the samples of all splits: both were tested on the same samples.
    """
    before, after = (_rows(path) for path in (old, new))
    found: list[Compared] = []
    for pair in after:
        known = (
            {seed for seed, row in side.get(pair, {}).items() if row["kind"] != "none"} for side in (before, after)
        )
        seeds = sorted(set.intersection(*known))  # where nobody knew anything, nothing is claimed
        if not seeds:
            continue
        was, now = (
            {name: np.array([float(side[pair][seed][name]) for seed in seeds]) for name in NUMBERS}
            for side in (before, after)
        )
        (old_gap, old_error), (gap, error) = (
            (side["test"] - side["claimed"], np.hypot(side["claimed_error"], side["test_error"])) for side in (was, now)
        )
        lost = (np.concatenate([np.load(_kept(_losses(path), *pair, seed)) for seed in seeds]) for path in (old, new))
        change = -np.subtract(*lost)
        spread = max(float(change.std(ddof=1)) / math.sqrt(len(change)), 1e-9)
        found.append(
            Compared(
                *pair,
                len(seeds),
                now["claimed"].mean(),
                now["test"].mean(),
                gap.sum() / math.sqrt((error**2).sum()),
                was["test"].mean(),
                old_gap.sum() / math.sqrt((old_error**2).sum()),
                change.mean() / spread,
                now["accuracy"].mean(),
                was["accuracy"].mean(),
                now["bytes"].sum() / max(was["bytes"].sum(), 1.0),
                np.abs(gap / error).max(),
                gap.mean(),
                old_gap.mean(),
            )
        )
    return found


def summary(found: list[Compared]) -> list[str]:
    """Return what all of them say together."""
    far = [f"{each.problem}, {each.learner} ({each.farthest:.1f})" for each in found if each.farthest > 3.0]
    worse = [f"{each.problem}, {each.learner}" for each in found if each.change_errors > 2.0]
    lower = sum(each.change_errors < -2.0 for each in found)
    games = [each for each in found if each.problem == "tic-tac-toe"]
    gap, old_gap = (np.array([getattr(each, name) for each in found]) for name in ("gap", "old_gap"))
    better = np.array([each.accuracy - each.old_accuracy for each in found])
    return [
        f"{len(found)} pairs of table and learner, {sum(each.splits for each in found)} runs",
        f"test loss above the claimed one, mean: {gap.mean():+.4f}, before {old_gap.mean():+.4f}",
        f"runs beyond three standard errors of their claim: {'; '.join(far) or 'none'}",
        f"test loss lower than before by more than two standard errors: {lower} pairs; higher: "
        f"{'; '.join(worse) or 'none'}",
        f"accuracy against before, mean: {better.mean():+.4f} ± {better.std(ddof=1) / math.sqrt(len(better)):.4f}",
        f"bytes, mean of ratios to before: {np.mean([each.bytes_ratio for each in found]):.3f}",
        *(
            f"accuracy of {each.problem}, {each.learner}: {each.accuracy:.3f}, before {each.old_accuracy:.3f}"
            for each in games
        ),
    ]


def table(found: list[Compared]) -> str:
    """Return a row of Markdown for each of them."""
    lines = [
        "| table | learner | claimed | test | errors apart | test before | errors apart before | accuracy | before "
        "| bytes, ratio |",
        "| --- " * 10 + "|",
    ]
    for each in found:
        numbers = f"{each.claimed:.3f} | {each.test:.3f} | {each.claim_errors:+.1f}", f"{each.old_test:.3f}"
        numbers += (f"{each.old_claim_errors:+.1f}", f"{each.accuracy:.3f}", f"{each.old_accuracy:.3f}")
        lines.append(f"| {each.problem} | {each.learner} | {' | '.join(numbers)} | {each.bytes_ratio:.2f} |")
    return "\n".join(lines)


def _losses(path: Path) -> Path:
    return path.with_suffix(".losses")


def _kept(folder: Path, problem: str, learner: str, seed: int) -> Path:
    return folder / f"{problem}, {learner}, {seed}.npy"


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
    parser.add_argument("--page", action="store_true", help="write what is compared into the documentation")
    asked = parser.parse_args()
    if asked.compare:
        found = compared(*asked.compare)
        print(table(found), *summary(found), sep="\n")
        if asked.page:
            listed = "\n".join(wrapped(f"- {line}", "  ") for line in summary(found))
            seeds = {seed for rows in _rows(asked.compare[1]).values() for seed in rows}
            command = f"python -m bench.claims --first {min(seeds)} --seeds {len(seeds)}"
            put(PAGE, "bench/claims.py", listed, command)
            put(PAGE, "bench/claims.py, pairs", table(found), command)
        return
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
    losses_in = _losses(asked.out) if asked.out else None
    if losses_in:
        losses_in.mkdir(exist_ok=True)
    writer = csv.DictWriter(file, FIELDS)
    if not done:
        writer.writeheader()
    with ProcessPoolExecutor(asked.jobs, initializer=threadpool_limits, initargs=(1,)) as pool:
        for row in pool.map(partial(measured, losses_in=losses_in), *zip(*jobs, strict=True)) if jobs else ():
            writer.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()
