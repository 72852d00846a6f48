"""Shares of helpers whose worth is known: ``python -m bench.shares``.

Two helpers have the same columns, a third has noise. Under *chain* the first of the two speaks first in every round,
and leaves less to gain for the second; under *random* neither does so more often. Printed are the mean shares of the
log loss, how often the interval of the difference of the two equal helpers holds 0, and how often the noise's own
interval does: of single runs, and of the mean of several with different seeds (``mean_shares``). Before that, the
seconds that twelve helpers and 10,000 samples take.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, SharesDisplay, mean_shares
from assistlearn.core.people import mean_and_error
from assistlearn.evaluation.calibration import ScoreCalibration
from assistlearn.evaluation.shares import HALF_INTERVAL, GainShare, shares_of_sum

METHODS = {
    "ascii": {"method": "ascii", "holdout": 0.2},
    "soft, added up": {"method": "soft", "reward": "auto", "models_per_turn": 1, "combine": "sum"},
    "soft, learned": {"method": "soft", "reward": "auto", "models_per_turn": 20, "combine": "auto"},
}
"""The paper's method is calibrated by hold-out samples: else shares are of losses that are too large to mean much."""


def shares(method: str, order: str, seed: int, n_test: int, n_runs: int) -> dict[str, GainShare]:
    X, y = make_classification(
        1_200 + n_test, 8, n_informative=8, n_redundant=0, n_classes=2, class_sep=0.7, random_state=seed, shuffle=False
    )
    X = np.hstack([X, np.random.default_rng(seed).normal(size=(len(y), 4))])
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=n_test, random_state=seed)
    tree = DecisionTreeClassifier(max_depth=3)
    columns = {"own": slice(0, 2), "one": slice(2, 8), "same": slice(2, 8), "noise": slice(8, 12)}
    agents = [(name, tree, part) for name, part in columns.items()]
    settings = {"order": order, "n_rounds": 20, "worse_agent": "keep", **METHODS[method]}
    found = [
        AssistedClassifier(agents, random_state=1_000 * run + seed, **settings)
        .fit(X_train, y_train)
        .shares(X_test, y_test)
        for run in range(n_runs)
    ]
    return {share.helper: share for share in (found[0] if n_runs == 1 else mean_shares(found)).helpers}


def orders(n_seeds: int, n_test: int, n_runs: int) -> None:
    print(f"{n_seeds} problems, {n_test} test samples each")
    print("| method | order | runs | one | same | one - same | noise | equal within the interval | noise holds 0 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for method in METHODS:
        for order, runs in (("chain", 1), ("random", 1), ("random", n_runs)):
            found = [shares(method, order, seed, n_test, runs) for seed in range(n_seeds)]
            values = np.array([[each[name].loss.value for each in found] for name in ("one", "same", "noise")])
            one, same, noise = values
            apart = "{:.3f} ± {:.3f}".format(*mean_and_error(one - same))
            equal = sum(_within(each["one"], each["same"]) for each in found)
            none = sum(abs(each["noise"].loss.value) <= HALF_INTERVAL * each["noise"].loss.error for each in found)
            cells = [f"{one.mean():.3f}", f"{same.mean():.3f}", apart, f"{noise.mean():.3f}"]
            cells += [f"{equal} of {n_seeds}", f"{none} of {n_seeds}"]
            print(f"| {method} | {order} | {runs} | {' | '.join(cells)} |", flush=True)


def _within(one: GainShare, other: GainShare) -> bool:
    """Return whether the difference of two shares is within its interval, as if they were independent."""
    error = float(np.hypot(one.loss.error, other.loss.error))
    return abs(one.loss.value - other.loss.value) <= HALF_INTERVAL * error


def picture(path: Path) -> None:
    """Draw the picture of the page on shares: strips of digits, one of them twice, and noise."""
    X, y = load_digits(return_X_y=True)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(len(y), 8))])
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    names = ("first rows", "second rows", "third rows", "the same again", "fourth rows", "noise")
    starts = (0, 16, 32, 32, 48, 64)
    tree = DecisionTreeClassifier(max_depth=4)
    agents = [(name, tree, slice(start, min(start + 16, 72))) for name, start in zip(names, starts, strict=True)]
    clf = AssistedClassifier(agents, order="random", n_rounds=10, random_state=0, **METHODS["soft, added up"])
    SharesDisplay.from_estimator(clf.fit(X_train, y_train), X_test, y_test).figure_.savefig(path, dpi=110)


def speed() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 10_000)
    own, *scores = (rng.normal(size=(10_000, 2)) + 0.3 * np.eye(2)[codes] for _ in range(13))
    named = {f"h{j}": each for j, each in enumerate(scores)}
    for calibration in (None, ScoreCalibration((0.5, 0.6), (0.1, -0.1), "", 1)):
        wall, cpu = time.perf_counter(), time.process_time()
        shares_of_sum(own, named, codes, calibration=calibration)
        seconds = f"{time.perf_counter() - wall:.2f} s ({time.process_time() - cpu:.2f} s of CPU)"
        kind = "by the formula" if calibration is None else "calibrated"
        print(f"12 helpers, 10,000 samples, {kind}: {seconds}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--test", type=int, default=300)
    parser.add_argument("--runs", type=int, default=5, help="of which the mean is taken")
    parser.add_argument("--picture", type=Path, help="only draw the picture of the page on shares")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.picture is not None:
        sys.exit(picture(asked.picture))
    speed()
    orders(asked.seeds, asked.test, asked.runs)
