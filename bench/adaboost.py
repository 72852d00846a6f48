"""One agent with depth-1 trees against ``AdaBoostClassifier`` doing the same rounds, turn and turn about.

python -m bench.adaboost [--rounds 50] [--repeats 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier

SIZES = [(1_000, 10, 3), (20_000, 20, 3), (200_000, 10, 5)]


def seconds(estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
    start = time.process_time()  # one thread each: unlike the wall clock, not disturbed by what else runs
    estimator.fit(X, y)
    return time.process_time() - start


def compare(n: int, columns: int, classes: int, rounds: int, repeats: int) -> dict[str, float]:
    X, y = make_classification(n, columns, n_informative=columns // 2, n_classes=classes, random_state=0)
    stump = DecisionTreeClassifier(max_depth=1)
    ours, theirs = [], []
    for _ in range(repeats):
        assisted = AssistedClassifier([("alone", stump, slice(None))], n_rounds=rounds, random_state=0, method="ascii")
        adaboost = AdaBoostClassifier(stump, n_estimators=rounds, random_state=0)
        ours.append(seconds(assisted, X, y))
        theirs.append(seconds(adaboost, X, y))
        weights = [c.model_weight for c in assisted.contributions_]
        np.testing.assert_allclose(weights, adaboost.estimator_weights_[: len(weights)], atol=1e-10)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    return {"n": n, "columns": columns, "classes": classes, "ours": min(ours), "adaboost": min(theirs), "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="the smallest size only")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    results = [compare(*size, args.rounds, args.repeats) for size in (SIZES[:1] if args.quick else SIZES)]
    if args.json:
        print(json.dumps(results))
        return
    print(f"One agent with depth-1 trees, {args.rounds} rounds, same model weights to 1e-10; best of {args.repeats}")
    for r in results:
        print(
            f"  {r['n']:>9,} x {r['columns']}, {r['classes']} classes: "
            f"assistlearn {r['ours']:.3f} s, AdaBoostClassifier {r['adaboost']:.3f} s, "
            f"median ratio {r['ratio']:.2f} (to reach: at most 1)"
        )


if __name__ == "__main__":
    main()
