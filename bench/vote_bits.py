"""What fewer bits cost a prediction: how many predicted classes change, and the accuracy, with 4 to 16 bits of a vote.

The first agent's own votes never travel. Those of the others are told in whole levels, on a scale that follows from the
sum of their model weights. ``default_credit`` and ``letter`` need their files: see paper/datasets/README.md.

python -m bench.vote_bits [--splits 3] [--rounds 10] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.core.state import quantise_votes, votes_of
from assistlearn.core.votes import winners
from assistlearn.session.judging import Votes
from paper.datasets import fate, letter, qsar, red_wine

Table = tuple[Any, Any]

DATA: dict[str, Callable[[], Table]] = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "QSAR": lambda: _columns(qsar()),
    "default_credit": lambda: _columns(fate("default_credit")),
    "red wine": lambda: _columns(red_wine()),
    "digits": lambda: load_digits(return_X_y=True),
    "letter": lambda: _columns(letter()),
}
LEARNERS = {
    "tree of depth 3": DecisionTreeClassifier(max_depth=3),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "ascii": {"method": "ascii"},
    "ensemble": {"method": "ensemble"},
    "soft": {"method": "soft", "reward": "in-sample"},
    "soft, learned": {"method": "soft", "reward": "auto", "combine": "learned", "models_per_turn": 1},
}
BITS = (4, 8, 16)
MOST_SAMPLES = 6_000


def _columns(data: Any) -> Table:
    return data.features, data.labels


def predicted(clf: AssistedClassifier, X: Any, bits: int | None) -> Any:
    """Return the predicted classes where the others' votes are told in so many bits; None: as they are."""
    method, n_classes, heard = clf._plan().make_method().of_initiator(), len(clf.classes_), {}
    for place, (name, agent) in enumerate(clf.agents_.items()):
        votes = agent.scores(X[:, clf.columns_[name]], len(X), n_classes, method)
        loudest = agent.total_weight * method.vote_range(n_classes)[1]
        told = votes if bits is None or not place else votes_of(quantise_votes(votes, loudest, bits))
        heard[name] = Votes(told, agent.total_weight)
    return clf.classes_[winners(clf._decided(heard, clf._own_numbers_of(X)).total)]


def row(table: Table, learner: Any, settings: dict[str, Any], splits: int, rounds: int) -> dict[str, Any]:
    """Return the share of classes that change, and of those that are right."""
    X, y = (np.asarray(each)[:MOST_SAMPLES] for each in table)
    parts = np.array_split(np.arange(X.shape[1]), 3)
    changed, right = {bits: [] for bits in BITS}, {bits: [] for bits in (None, *BITS)}
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
        agents = [(name, learner, columns) for name, columns in zip("ABC", parts, strict=True)]
        clf = AssistedClassifier(agents, n_rounds=rounds, random_state=seed, **settings).fit(X[train], y[train])
        whole = predicted(clf, X[test], None)
        right[None] += (whole == y[test]).tolist()
        for bits in BITS:
            said = predicted(clf, X[test], bits)
            changed[bits] += (said != whole).tolist()
            right[bits] += (said == y[test]).tolist()
    return {
        "samples": len(right[None]),
        "changed": {bits: float(np.mean(changed[bits])) for bits in BITS},
        "accuracy": {str(bits or "whole"): float(np.mean(right[bits])) for bits in (None, *BITS)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if not args.json:
        print("| table | method | learner | samples | changed: 4, 8, 16 bits | accuracy: whole, 4, 8, 16 bits |")
        print("| --- | --- | --- | --- | --- | --- |")
    rows = []
    for data, load in DATA.items():
        table = load()
        for name, settings in SETTINGS.items():
            for kind, learner in LEARNERS.items():
                found = row(table, learner, settings, args.splits, args.rounds)
                rows.append({"data": data, "method": name, "learner": kind} | found)
                if not args.json:
                    changed = ", ".join(f"{found['changed'][bits]:.2%}" for bits in BITS)
                    right = ", ".join(f"{each:.4f}" for each in found["accuracy"].values())
                    print(f"| {data} | `{name}` | {kind} | {found['samples']:,} | {changed} | {right} |", flush=True)
    if args.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
