"""What rounds after the first bring, and cost: ``python -m bench.further_rounds --out new.csv``.

For each pair of a problem and a learner it fits an estimator with default settings, and writes the rounds that were run
and kept, the bytes with all helpers (:mod:`bench.accuracy.bytes`), accuracy and log loss on the test samples, and the
log loss that the combination claims. The ``assistlearn`` that is measured is the one that is imported: check an older
commit out beside this one, and let ``PYTHONPATH`` name its ``src`` before this folder. Then compare two files:
``python -m bench.further_rounds --compare old.csv new.csv``.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from bench.accuracy.bytes import Counted
from bench.accuracy.measure import agents_of
from bench.accuracy.problems import PROBLEMS, Problem
from bench.accuracy.problems.tic_tac_toe import TIC_TAC_TOE

FIELDS = ("problem", "learner", "seed", "run", "kept", "bytes", "accuracy", "log_loss", "claimed", "seconds")
LEARNERS = ("tree-3", "logistic", "bayes", "forest", "boosted")
SLOW = {("letter", "forest"), ("letter x 4", "boosted"), ("letter x 4", "logistic"), ("digits x 8", "boosted")}
"""Pairs of which one fit takes minutes; they are measured if they are named in ``--only``."""
MORE = {"digits": ("bayes",), "breast cancer": ("bayes", "boosted"), "iris": ("forest",), "qsar": ("bayes",)}
"""Learners that are tried here beside those of the problem."""


def measured(problem: Problem, learner: str, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the row of one fit."""
    cut = problem.cut(seed)
    model = Counted(agents_of(cut, learner), random_state=seed, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.perf_counter()
        model.fit(cut.X_train, cut.y_train)
        seconds = time.perf_counter() - begun
        lost = log_loss(cut.y_test, model.predict_proba(cut.X_test), labels=model.classes_)
        accuracy = model.score(cut.X_test, cut.y_test)
    sent = model.bytes_by_round()
    combination = getattr(model, "combination_", None)
    claimed = "" if combination is None else round(combination.loss, 5)
    found = len(sent), model.n_rounds_, sent[-1], round(accuracy, 5), round(lost, 5), claimed, round(seconds, 2)
    return dict(zip(FIELDS, (problem.name, learner, seed, *found), strict=True))


def pairs(only: list[str]) -> list[tuple[Problem, str]]:
    """Return the problems with their learners; ``only`` names problems, or pairs such as ``iris/tree-3``."""
    found = []
    for problem in (*TIC_TAC_TOE, *PROBLEMS):
        for learner in (*problem.learners, *MORE.get(problem.name, ())):
            pair = f"{problem.name}/{learner}"
            asked = pair in only or (problem.name in only and learner in LEARNERS)
            usual = not only and learner in LEARNERS and (problem.name, learner) not in SLOW
            if asked or usual:
                found.append((problem, learner))
    return found


def compare(old: Path, new: Path) -> None:
    """Print both files side by side, pair by pair, and the means over the pairs."""
    before, after = read(old), read(new)
    ratios = []
    print(f"{'pair':40} n   rounds     bytes   accuracy      log loss           errors")
    for pair in sorted(before.keys() & after.keys()):
        seeds = sorted(before[pair].keys() & after[pair].keys())
        then, now = (np.array([rows[pair][seed] for seed in seeds]) for rows in (before, after))
        (run, sent, right, lost), (run_2, sent_2, right_2, lost_2) = then.mean(axis=0), now.mean(axis=0)
        worse = now[:, 3] - then[:, 3]
        error = worse.std(ddof=1) / len(seeds) ** 0.5 if len(seeds) > 1 else np.nan
        errors = worse.mean() / error if error > 0.0 else 0.0
        if "tic-tac-toe" not in pair:
            ratios.append(sent_2 / sent)
        print(
            f"{pair:40} {len(seeds)}  {run:4.1f} {run_2:4.1f}  {sent_2 / sent:5.2f}  {right:.3f} {right_2:.3f}  "
            f"{lost:.4f} {lost_2:.4f} {worse.mean():+.4f}  {errors:+5.1f}"
        )
    print(f"bytes: {np.mean(ratios):.3f} of the old on average over {len(ratios)} pairs without tic-tac-toe")


def read(path: Path) -> dict[str, dict[int, tuple[float, ...]]]:
    """Return pair -> seed -> rounds run, bytes, accuracy, log loss."""
    found: dict[str, dict[int, tuple[float, ...]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            numbers = tuple(float(row[name]) for name in ("run", "bytes", "accuracy", "log_loss"))
            found.setdefault(f"{row['problem']}, {row['learner']}", {})[int(row["seed"])] = numbers
    return found


def main() -> None:
    """Measure, or compare what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"))
    parser.add_argument("--out", type=Path, help="a file to add rows to; standard output by default")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first replication")
    parser.add_argument("--replications", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[], help="problems, or pairs such as iris/tree-3")
    parser.add_argument("--shrinkage", type=float, default=None)
    options = parser.parse_args()
    if options.compare:
        compare(*options.compare)
        return
    settings = {} if options.shrinkage is None else {"shrinkage": options.shrinkage}
    fresh = options.out is None or not options.out.exists()
    with sys.stdout if options.out is None else options.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        for seed in range(options.first, options.first + options.replications):
            for problem, learner in pairs(options.only):
                writer.writerow(measured(problem, learner, seed, settings))
                file.flush()


if __name__ == "__main__":
    main()
