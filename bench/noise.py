"""What the default claims, and what it costs, where no column says anything about the labels.

    python -m bench.noise [--seeds 10] [--classes 3] [--page]

Four agents have four columns of normal noise each; 3,000 rows, a small share of them positive. The best that anybody
can do is to say how often each class occurs: the prior. For every learner and seed the program prints the log loss on
20,000 new rows as a ratio to that of the prior, and how far the loss that the run claims of itself lies from it, in
standard errors of both. What the prior would claim of itself stands beside it: where chance has given the training rows
few positives, that is too low by as many errors. ``--classes 3`` divides the rest between two further classes.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before anything that uses OpenMP is imported

import argparse
import math
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from bench.evidence_page import ROOT, put

LEARNERS: dict[str, Any] = {
    "forest": RandomForestClassifier(50),
    "extra trees": ExtraTreesClassifier(50),
    "extra trees with bags": ExtraTreesClassifier(50, bootstrap=True),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 20),
    "boosted trees": HistGradientBoostingClassifier(max_iter=20, early_stopping=False),
    "boosted to a stop": HistGradientBoostingClassifier(max_iter=100, early_stopping=True),
    "tree": DecisionTreeClassifier(),
    "tree-3": DecisionTreeClassifier(max_depth=3),
    "logistic": LogisticRegression(),
    "neighbours": KNeighborsClassifier(10),
    "bayes": GaussianNB(),
}
PAGE = ROOT / "bench" / "claims.md"
N, N_NEW, N_AGENTS, N_COLUMNS = 3_000, 20_000, 4, 4


class Found(NamedTuple):
    """What one run claimed, and what it cost on new rows."""

    learner: str
    seed: int
    prior: float
    test: float
    claimed: float
    error: float
    prior_errors: float
    kind: str
    seconds: float

    @property
    def ratio(self) -> float:
        """The test loss in units of the prior's."""
        return self.test / self.prior

    @property
    def errors(self) -> float:
        """By how many standard errors the test loss is above the claimed one."""
        return (self.test - self.claimed) / self.error


def measured(learner: str, seed: int, rare: float, n_classes: int, settings: dict[str, Any]) -> Found:
    """Return what one run claims of noise, and what it costs."""
    rng = np.random.default_rng(seed)
    shares = np.array([1.0 - rare, rare]) if n_classes == 2 else np.array([1.0 - 5 * rare, 4 * rare, rare])
    y, y_new = (rng.choice(n_classes, n, p=shares) for n in (N, N_NEW))
    X, X_new = (rng.normal(size=(n, N_AGENTS * N_COLUMNS)) for n in (N, N_NEW))
    columns = [slice(N_COLUMNS * m, N_COLUMNS * (m + 1)) for m in range(N_AGENTS)]
    agents = [(f"agent {m}", LEARNERS[learner], columns[m]) for m in range(N_AGENTS)]
    model = AssistedClassifier(agents, random_state=seed, **settings)
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.process_time() - begun
    said = np.clip(model.predict_proba(X_new)[np.arange(N_NEW), y_new], 1e-12, 1.0)
    often = np.bincount(y, minlength=n_classes) / N
    losses = -np.log(said)
    learned = model.combination_
    claimed, error, kind = (learned.loss, learned.error, learned.kind) if learned else (math.nan, math.nan, "none")
    both = math.hypot(error, float(losses.std()) / math.sqrt(N_NEW))
    own, new = -np.log(often[y]), -np.log(often[y_new])
    prior_errors = float((new.mean() - own.mean()) / math.hypot(own.std() / math.sqrt(N), new.std() / math.sqrt(N_NEW)))
    return Found(learner, seed, float(new.mean()), float(losses.mean()), claimed, both, prior_errors, kind, seconds)


def main() -> None:
    """Measure, and print a row for each learner and seed, and the worst of each learner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--rare", type=float, default=0.06, help="the share of the rarest class")
    parser.add_argument("--classes", type=int, choices=(2, 3), default=2)
    parser.add_argument("--learners", type=lambda given: given.split(","), default=list(LEARNERS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="write the table into the documentation")
    asked = parser.parse_args()
    jobs = [(name, seed) for name in asked.learners for seed in range(asked.first, asked.first + asked.seeds)]
    print("learner,seed,prior,test,ratio,claimed,errors,prior_errors,kind,seconds")
    worst: dict[str, list[Found]] = {}
    with ProcessPoolExecutor(asked.jobs) as pool:
        futures = [pool.submit(measured, *job, asked.rare, asked.classes, {}) for job in jobs]
        for future in futures:
            found = future.result()
            worst.setdefault(found.learner, []).append(found)
            print(
                f"{found.learner},{found.seed},{found.prior:.4f},{found.test:.4f},{found.ratio:.3f},"
                f"{found.claimed:.4f},{found.errors:+.1f},{found.prior_errors:+.1f},{found.kind},{found.seconds:.1f}",
                flush=True,
            )
    print(table(worst))
    if asked.page:
        put(PAGE, "bench/noise.py", table(worst), f"python -m bench.noise --first {asked.first} --seeds {asked.seeds}")


def table(found: Mapping[str, Sequence[Found]]) -> str:
    """Return a row of Markdown for each learner."""
    lines = [
        "| learner | test loss / prior's: mean | worst | test loss above the claim, errors | the same, of the prior | "
        "farthest apart | seconds |",
        "| --- " * 7 + "|",
    ]
    for name, several in found.items():
        ratios = [each.ratio for each in several]
        errors, prior = ([getattr(each, of) for each in several] for of in ("errors", "prior_errors"))
        seconds = np.mean([each.seconds for each in several])
        apart = max(abs(one - other) for one, other in zip(errors, prior, strict=True))
        lines.append(
            f"| {name} | {np.mean(ratios):.3f} | {max(ratios):.3f} | {min(errors):+.1f} to {max(errors):+.1f} | "
            f"{min(prior):+.1f} to {max(prior):+.1f} | {apart:.1f} | {seconds:.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
