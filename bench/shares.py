"""Shares of helpers whose worth is known: ``python -m bench.shares``.

Two helpers have the same columns, a third has noise. Under *chain* the first of the two speaks first in every round,
and leaves less to gain for the second; under *random* neither does so more often. Printed are the mean shares of the
log loss, how often the interval of the difference of the two equal helpers holds 0, and how often the noise's own
interval does. Then the seconds that twelve helpers and 10,000 samples take.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.evaluation.score_calibration import ScoreCalibration
from assistlearn.evaluation.shares import GainShare, shares_of_sum

HALF_INTERVAL = 1.96
METHODS = {"ascii": {"method": "ascii"}, "soft": {"method": "soft", "reward": "auto"}}


def shares(method: str, order: str, seed: int) -> dict[str, GainShare]:
    X, y = make_classification(
        2_400, 8, n_informative=8, n_redundant=0, n_classes=2, class_sep=0.7, random_state=seed, shuffle=False
    )
    X = np.hstack([X, np.random.default_rng(seed).normal(size=(len(y), 4))])
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    tree = DecisionTreeClassifier(max_depth=3)
    columns = {"own": slice(0, 2), "one": slice(2, 8), "same": slice(2, 8), "noise": slice(8, 12)}
    agents = [(name, tree, part) for name, part in columns.items()]
    clf = AssistedClassifier(agents, order=order, n_rounds=20, random_state=seed, **METHODS[method])
    return {share.helper: share for share in clf.fit(X_train, y_train).shares(X_test, y_test).helpers}


def orders(n_seeds: int) -> None:
    print("| method | order | one | same | noise | equal within the interval | noise's interval holds 0 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for method in METHODS:
        for order in ("chain", "random"):
            found = [shares(method, order, seed) for seed in range(n_seeds)]
            means = [float(np.mean([each[name].loss.value for each in found])) for name in ("one", "same", "noise")]
            equal = sum(_within(each["one"], each["same"]) for each in found)
            none = sum(abs(each["noise"].loss.value) <= HALF_INTERVAL * each["noise"].loss.error for each in found)
            cells = [f"{mean:.3f}" for mean in means] + [f"{equal} of {n_seeds}", f"{none} of {n_seeds}"]
            print(f"| {method} | {order} | {' | '.join(cells)} |", flush=True)


def _within(one: GainShare, other: GainShare) -> bool:
    """Return whether the difference of two shares is within its interval, as if they were independent."""
    error = float(np.hypot(one.loss.error, other.loss.error))
    return abs(one.loss.value - other.loss.value) <= HALF_INTERVAL * error


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
    warnings.simplefilter("ignore")
    speed()
    orders(parser.parse_args().seeds)
