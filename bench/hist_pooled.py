"""Time and test AUC of two agents against what a user would do if data could be pooled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from assistlearn import AssistedClassifier
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier
from bench.hist_result import Figure, at_least, at_most, seconds

Table = tuple[np.ndarray, np.ndarray, int]
"""Columns, labels, and how many of the columns are the first agent's."""

TREE = HistTreeClassifier(5, n_jobs=1)
REFERENCES = ("pooled XGBoost", "pooled XGBoost, depth 3, rate 0.1")
# name: (method, learner, rounds). The soft ones were chosen among two dozen on part of the first split's training rows.
ASSISTED = {
    "hard, trees, 20 rounds": ("simple", TREE, 20),
    "hard, trees, 100 rounds": ("simple", TREE, 100),
    "soft, 20 trees of depth 5, 3 rounds": ("soft", HistBoostClassifier(20, n_jobs=1), 3),
    "soft, 50 trees of depth 3, 2 rounds": (
        "soft",
        HistBoostClassifier(50, max_depth=3, learning_rate=0.1, n_jobs=1),
        2,
    ),
}


def measure(quick: bool) -> Iterator[Figure]:
    for case, table in _tables(quick).items():
        yield from _compare(case, *table, splits=1 if quick else 5)


def _compare(case: str, X: np.ndarray, y: np.ndarray, first: int, splits: int) -> Iterator[Figure]:
    models = _pooled(first, X.shape[1]) | _assisted(first)
    found = np.empty((len(models), splits, 2))  # seconds and AUC
    for split in range(splits):
        parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)
        _time_and_auc(XGBClassifier(n_jobs=1, n_estimators=1), *parts)  # whoever is first would pay for loading
        found[:, split] = [_time_and_auc(model, *parts) for model in models.values()]
    row = {name: number for number, name in enumerate(models)}
    for name in models:
        time, auc = found[row[name]].mean(axis=0)
        yield Figure("pooled", case, f"seconds, {name}", time)
        yield Figure("pooled", case, f"AUC, {name}", auc)
    best = max(REFERENCES, key=lambda name: found[row[name], :, 1].mean())
    for name in ASSISTED:
        times = found[row[name], :, 0].mean() / found[row[best], :, 0].mean()
        less = found[row[name], :, 1] - found[row[best], :, 1]
        yield at_most("pooled", case, f"times the seconds of {best}: {name}", times, 3.0)
        yield at_least("pooled", case, f"AUC less that of {best}: {name}", less.mean(), -0.005)
        yield Figure("pooled", case, "  its standard deviation between splits", less.std())


def _pooled(first: int, columns: int) -> dict[str, Any]:
    apart = str([list(range(first)), list(range(first, columns))])
    return {
        REFERENCES[0]: XGBClassifier(n_jobs=1),
        REFERENCES[1]: XGBClassifier(n_jobs=1, max_depth=3, learning_rate=0.1),
        "pooled XGBoost, no tree with columns of both": XGBClassifier(n_jobs=1, interaction_constraints=apart),
        "pooled HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    }


def _assisted(first: int) -> dict[str, Any]:
    return {
        name: AssistedClassifier(
            [("first", learner, slice(0, first)), ("second", learner, slice(first, None))],
            method=method,
            reward="in-sample",
            n_rounds=rounds,
            random_state=0,
        )
        for name, (method, learner, rounds) in ASSISTED.items()
    }


def _time_and_auc(
    model: Any, X: np.ndarray, X_test: np.ndarray, y: np.ndarray, y_test: np.ndarray
) -> tuple[float, float]:
    time, _ = seconds(lambda: model.fit(X, y))
    scores = (
        model.decision_function(X_test) if hasattr(model, "decision_function") else model.predict_proba(X_test)[:, 1]
    )
    return time, float(roc_auc_score(y_test, scores))


def _tables(quick: bool) -> dict[str, Table]:
    n = 2_000 if quick else 45_000
    X, y = make_classification(
        n, 17, n_informative=12, n_redundant=2, weights=[0.8], flip_y=0.05, class_sep=0.7, random_state=0
    )
    tables: dict[str, Table] = {f"made, {n:,} x 17": (X.astype(np.float32), y, 8)}
    folder = os.environ.get("ASSISTLEARN_DATA")
    if folder and not quick:
        tables["default_credit, 30,000 x 23"] = _credit(Path(folder) / "fate_hetero")
    return tables


def _credit(folder: Path) -> Table:
    guest, host = (
        np.genfromtxt(folder / f"default_credit_hetero_{side}.csv", delimiter=",", skip_header=1)
        for side in ("guest", "host")
    )
    guest, host = guest[guest[:, 0].argsort()], host[host[:, 0].argsort()]
    assert np.array_equal(guest[:, 0], host[:, 0])
    return np.column_stack([guest[:, 2:], host[:, 1:]]).astype(np.float32), guest[:, 1].astype(int), guest.shape[1] - 2
