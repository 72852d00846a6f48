"""What fewer bits cost the soft method: test accuracy with 2 to 32 bits per score and turn, same splits.

python -m bench.score_bits [--splits 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier

DATA = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}
LEARNERS = {
    "tree of depth 3": DecisionTreeClassifier(max_depth=3),
    "naive Bayes": GaussianNB(),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
}
BITS = (2, 3, 4, 8, 16, 32)


def accuracies(load: Any, learner: Any, splits: int) -> dict[int, list[float]]:
    X, y = load(return_X_y=True)
    halves = np.array_split(np.arange(X.shape[1]), 2)
    found: dict[int, list[float]] = {bits: [] for bits in BITS}
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
        for bits in BITS:
            agents = [(name, learner, columns) for name, columns in zip("AB", halves, strict=True)]
            clf = AssistedClassifier(
                agents, method="soft", n_rounds=5, score_bits=bits, random_state=seed, reward="in-sample"
            )
            found[bits].append(float(clf.fit(X[train], y[train]).score(X[test], y[test])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    for data, load in DATA.items():
        for name, learner in LEARNERS.items():
            found = accuracies(load, learner, args.splits)
            lost = {b: [x - best for x, best in zip(found[b], found[32], strict=True)] for b in BITS}
            error = {b: statistics.stdev(lost[b]) / len(lost[b]) ** 0.5 if len(lost[b]) > 1 else 0.0 for b in BITS}
            means = {b: statistics.mean(found[b]) for b in BITS}
            rows.append({"data": data, "learner": name, "accuracy": means, "standard error of the loss": error})
    if args.json:
        print(json.dumps(rows))
        return
    print(f"Soft method, 2 agents, 5 rounds, {args.splits} splits: mean test accuracy, and ± the standard error of the")
    print("difference to 32 bits on the same splits")
    print("| data | learner | " + " | ".join(f"{b} bits" for b in BITS) + " |")
    print("| --- | --- |" + " --- |" * len(BITS))
    for row in rows:
        cells = [f"{row['accuracy'][b]:.3f} ± {row['standard error of the loss'][b]:.3f}" for b in BITS[:-1]]
        print(f"| {row['data']} | {row['learner']} | " + " | ".join(cells) + f" | {row['accuracy'][32]:.3f} |")


if __name__ == "__main__":
    main()
