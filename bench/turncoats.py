"""How often honest helpers are said to vote otherwise than in training, and how often those that do are named.

    python -m bench.turncoats [--small] [--runs 1000] [--repeats 8] [--write]

Two parts. Honest runs: problems of Gaussian clouds of many kinds (2, 3 or 5 classes, 150 to 800 samples to train on,
four learners, all settings that make honest rewards), each trained by ``AssistedClassifier``; then 60, 200 or 600 new
people are predicted. Tables: 200 people that were not trained on are predicted honestly, and with the votes of one
helper changed. ``--write`` puts the result into ``turncoats.md`` beside this file.
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = "1"  # before anything that uses OpenMP is imported

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.evaluation.constancy import changed
from assistlearn.session.judging import Votes
from assistlearn.types import Floats
from bench.evidence_page import ROOT, put
from paper import datasets

PAGE = ROOT / "bench" / "turncoats.md"
WRITER = "bench/turncoats.py"

LEARNERS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
    "tree-3": lambda: DecisionTreeClassifier(max_depth=3),
    "bayes": GaussianNB,
    "forest": lambda: RandomForestClassifier(20, max_depth=5),
    "tree": DecisionTreeClassifier,
}

LIES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "turned around": lambda votes, rng: -votes,
    "the same for all": lambda votes, rng: np.tile(votes[0], (len(votes), 1)),
    "mixed up": lambda votes, rng: rng.permutation(votes),
    "at random": lambda votes, rng: (
        np.abs(votes).max() * _centered(rng.integers(votes.shape[1], size=len(votes)), votes)
    ),
}


def _centered(codes: Any, votes: Floats) -> Floats:
    one = np.eye(votes.shape[1])[codes]
    return one - (1.0 - one) / (votes.shape[1] - 1)


def heard(clf: AssistedClassifier, X: Any) -> dict[str, Votes]:
    return clf._votes_on(clf._check_table(X, reset=False))


def named(clf: AssistedClassifier, said: dict[str, Votes]) -> list[str]:
    now = {name: each.scores / each.weight for name, each in said.items() if each.weight > 0.0}
    return [each.helper for each in changed(clf._votes_in_training, now, next(iter(said)))]


def clouds(seed: int) -> tuple[AssistedClassifier, Any, Any, Any]:
    """Return an estimator of some kind, a table with labels to fit it to, and new people."""
    rng = np.random.default_rng(seed)
    n_classes, n_agents = int(rng.choice([2, 2, 3, 5])), int(rng.integers(2, 4))
    n, n_new = int(rng.choice([150, 300, 800])), int(rng.choice([60, 200, 200, 600]))
    centres = rng.normal(size=(n_classes, 3 * n_agents)) * np.repeat(rng.uniform(0.2, 1.2, n_agents), 3)
    shares = rng.dirichlet(np.full(n_classes, 5.0)) if rng.random() < 0.4 else np.full(n_classes, 1.0 / n_classes)
    settings: dict[str, Any] = {
        "models_per_turn": int(rng.choice([1, 3, 20])),
        "n_rounds": int(rng.choice([1, 2, 4])),
        "combine": str(rng.choice(["auto", "sum"])),
        "reward": "out-of-fold",
    }
    if rng.random() < 0.1:
        settings = {"method": "label-private", "epsilon": 2.0}
    kinds = [*LEARNERS.values()]
    agents = [(f"a{i}", kinds[rng.integers(len(kinds))](), [3 * i, 3 * i + 1, 3 * i + 2]) for i in range(n_agents)]
    y = rng.choice(n_classes, n + n_new, p=shares)
    y[: 3 * n_classes] = np.tile(np.arange(n_classes), 3)
    X = rng.normal(size=(len(y), 3 * n_agents)) + centres[y]
    return AssistedClassifier(agents, random_state=seed, **settings), X[:n], y[:n], X[n:]


def honest_runs(n_runs: int) -> str:
    found = []
    for seed in range(n_runs):
        clf, X, y, new = clouds(seed)
        clf.fit(X, y)
        found.append((len(new), bool(named(clf, heard(clf, new)))))
        if (seed + 1) % 100 == 0:
            print(f"{seed + 1} honest runs, {sum(alarm for _, alarm in found)} with somebody named", flush=True)
    rows = []
    for n_new in sorted({n for n, _ in found}):
        alarms = [alarm for n, alarm in found if n == n_new]
        rows.append(f"| {n_new} | {len(alarms):,} | {sum(alarms)} | {100 * np.mean(alarms):.1f} % |")
    alarms = [alarm for _, alarm in found]
    rows.append(f"| all | {len(alarms):,} | {sum(alarms)} | {100 * np.mean(alarms):.1f} % |")
    return "\n".join(["| new people | honest runs | with somebody named | share |", "| --- | --- | --- | --- |", *rows])


def tables() -> Iterator[tuple[str, Any, Any, list[list[int]]]]:
    """Yield tables with the columns of each agent."""
    for name, loaded in (("breast cancer", load_breast_cancer), ("digits", load_digits)):
        X, y = loaded(return_X_y=True)
        yield name, X, y, [list(part) for part in np.array_split(np.arange(X.shape[1]), 3)]
    for name, data in (("qsar", datasets.qsar()), ("red wine", datasets.red_wine()), ("letter", datasets.letter())):
        yield name, data.features, data.labels, [list(data.columns(agent)) for agent in data.agents]
    fate = datasets.fate("default_credit")
    yield "default credit", fate.features, fate.labels, [list(fate.columns(agent)) for agent in fate.agents]


def accuracy(clf: AssistedClassifier, said: dict[str, Votes], X: Any, y: Any) -> float:
    total = clf._decided(said, clf._own_numbers_of(X)).total
    return float(np.mean(clf._labels(total) == y))


def of_table(X: Any, y: Any, columns: list[list[int]], repeats: int, most: int) -> list[str]:
    """Return the cells of a row: false alarms, accuracies, and how often each lie is named."""
    alarms, right, caught = [], [], {lie: [] for lie in LIES}
    for learner in ("logistic", "tree-3", "forest"):
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            rows = rng.permutation(len(y))
            train, new = rows[200 : 200 + most], rows[:200]
            agents = [(f"a{i}", LEARNERS[learner](), own) for i, own in enumerate(columns)]
            clf = AssistedClassifier(agents, random_state=seed).fit(X[train], y[train])
            said = heard(clf, X[new])
            alarms.append(bool(named(clf, said)))
            others = [name for name in said if name != "a1"]
            if said["a1"].weight == 0.0:
                continue
            lied = said | {"a1": Votes(-said["a1"].scores, said["a1"].weight)}
            left = clf.subset(others)
            right.append(
                [
                    accuracy(clf, said, X[new], y[new]),
                    accuracy(clf, lied, X[new], y[new]),
                    accuracy(left, {name: said[name] for name in others}, X[new], y[new]),
                ]
            )
            for lie, told in LIES.items():
                changed_votes = Votes(told(said["a1"].scores, rng), said["a1"].weight)
                caught[lie].append("a1" in named(clf, said | {"a1": changed_votes}))
    means = [f".{round(1000 * each):03d}" for each in np.mean(right, axis=0)]
    shares = [f"{sum(each)} of {len(each)}" for each in caught.values()]
    return [f"{sum(alarms)} of {len(alarms)}", *means, *shares]


def on_tables(repeats: int, most: int) -> str:
    names = "| table | honest, named | accuracy, honest | turned around | without it | " + " | ".join(LIES) + " |"
    lines = [names, "| --- " * (names.count("|") - 1) + "|"]
    for name, X, y, columns in tables():
        lines.append(
            f"| {name} | " + " | ".join(of_table(np.asarray(X, float), np.asarray(y), columns, repeats, most)) + " |"
        )
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few runs: does it run?")
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--write", action="store_true", help="write the page")
    asked = parser.parse_args()
    runs, repeats = (10, 1) if asked.small else (asked.runs, asked.repeats)
    warnings.simplefilter("ignore")
    began = time.process_time()
    text = f"{honest_runs(runs)}\n\n{on_tables(repeats, 800)}"
    print(f"{text}\n\n{time.process_time() - began:.0f} seconds of the processor")
    if asked.write:
        put(PAGE, WRITER, text, f"python -m bench.turncoats --runs {runs} --repeats {repeats}")


if __name__ == "__main__":
    main()
