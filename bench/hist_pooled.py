"""Time and test AUC of two agents against what a user would do if data could be pooled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hist_result import Figure, at_least, at_most, seconds
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from assistlearn import AssistedClassifier
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier

Table = tuple[np.ndarray, np.ndarray, int]
"""Columns, labels, and how many of the columns are the first agent's."""

TREE = HistTreeClassifier(5, n_jobs=1)
BOOST = HistBoostClassifier(20, n_jobs=1)
# name: (method, learner, rounds)
ASSISTED = {
    "trees, 20 rounds": ("simple", TREE, 20),
    "trees, 100 rounds": ("simple", TREE, 100),
    "boosted trees, 5 rounds": ("ascii", BOOST, 5),
}


def measure(quick: bool) -> Iterator[Figure]:
    for case, table in _tables(quick).items():
        yield from _compare(case, *table)


def _compare(case: str, X: np.ndarray, y: np.ndarray, first: int) -> Iterator[Figure]:
    parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    time_xgb, auc_xgb = _time_and_auc(XGBClassifier(n_jobs=1), *parts)
    time_hist, auc_hist = _time_and_auc(HistGradientBoostingClassifier(random_state=0), *parts)
    yield Figure("pooled", case, "seconds, pooled XGBoost", time_xgb)
    yield Figure("pooled", case, "AUC, pooled XGBoost", auc_xgb)
    yield Figure("pooled", case, "seconds, pooled HistGradientBoosting", time_hist)
    yield Figure("pooled", case, "AUC, pooled HistGradientBoosting", auc_hist)
    for name, (method, learner, rounds) in ASSISTED.items():
        agents = [("first", learner, slice(0, first)), ("second", learner, slice(first, None))]
        assisted = AssistedClassifier(agents, method=method, n_rounds=rounds, random_state=0)
        time, auc = _time_and_auc(assisted, *parts)
        yield Figure("pooled", case, f"seconds, {name}", time)
        yield Figure("pooled", case, f"AUC, {name}", auc)
        yield at_most("pooled", case, f"times pooled XGBoost's seconds, {name}", time / time_xgb, 3.0)
        yield at_least("pooled", case, f"AUC less pooled XGBoost's, {name}", auc - auc_xgb, -0.005)


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
