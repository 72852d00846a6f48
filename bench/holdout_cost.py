"""What holding samples out costs: the log loss on test samples, with and without.

    python -m bench.holdout_cost [--small] [--repeats 6] [--write]

Tables with few classes of those of ``bench.turncoats``, and three of its learners. In every split the same samples, at
most 800, are given to ``AssistedClassifier`` with its recommended settings; it holds out none of them, or a share.
``--write`` puts the result into ``turncoats.md`` beside this file.
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = "1"  # before anything that uses OpenMP is imported

import time
import warnings

import numpy as np
from sklearn.metrics import log_loss

from assistlearn import AssistedClassifier
from assistlearn.core.people import mean_and_error
from bench.evidence_page import put
from bench.turncoats import LEARNERS, PAGE, tables

WRITER = "bench/holdout_cost.py"
SHARES = (None, 0.05, 0.1, 0.2)
TABLES = ("breast cancer", "qsar", "red wine", "default credit")
MOST, MOST_TESTED = 800, 1_000


def losses(repeats: int) -> dict[str, list[list[float]]]:
    """Return for each table the losses: a row for each learner and split, a column for each share."""
    found: dict[str, list[list[float]]] = {}
    for name, X, y, columns in tables():
        if name not in TABLES:
            continue
        X, y = np.asarray(X, float), np.asarray(y)
        found[name] = []
        for learner in ("logistic", "tree-3", "forest"):
            for seed in range(repeats):
                rows = np.random.default_rng(seed).permutation(len(y))
                train, test = rows[: min(MOST, 2 * len(rows) // 3)], rows[MOST : MOST + MOST_TESTED]
                test = test if len(test) else rows[len(train) :]
                agents = [(f"a{i}", LEARNERS[learner](), own) for i, own in enumerate(columns)]
                row = []
                for share in SHARES:
                    clf = AssistedClassifier(agents, random_state=seed, holdout=share).fit(X[train], y[train])
                    known = np.isin(y[test], clf.classes_)
                    row.append(log_loss(y[test][known], clf.predict_proba(X[test][known]), labels=clf.classes_))
                found[name].append(row)
        print(name, np.mean(found[name], axis=0).round(4), flush=True)
    return found


def table(found: dict[str, list[list[float]]]) -> str:
    head = "| table | nothing held out | " + " | ".join(f"{share:.0%} held out" for share in SHARES[1:]) + " |"
    lines = [head, "| --- " * (len(SHARES) + 1) + "|"]
    for name, rows in found.items():
        all_losses = np.array(rows)
        more = all_losses[:, 1:] - all_losses[:, :1]
        cells = ["{:+.4f} ± {:.4f}".format(*mean_and_error(column)) for column in more.T]
        lines.append(f"| {name} | {all_losses[:, 0].mean():.4f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="one split of each: does it run?")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--write", action="store_true", help="write the page")
    asked = parser.parse_args()
    repeats = 1 if asked.small else asked.repeats
    warnings.simplefilter("ignore")
    began = time.process_time()
    text = table(losses(repeats))
    print(f"{text}\n\n{time.process_time() - began:.0f} seconds of the processor")
    if asked.write:
        put(PAGE, WRITER, text, f"python -m bench.holdout_cost --repeats {repeats}")


if __name__ == "__main__":
    main()
