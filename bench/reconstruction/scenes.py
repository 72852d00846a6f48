"""Helpers to attack: their private columns, some related to the label and some not, and their learners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn.types import Codes, Floats

N = 300


@dataclass(frozen=True)
class Scene:
    """What the helper has, and what the initiator has: columns and true labels of its own."""

    columns: Floats
    own: Floats
    labels: Codes


def made(rng: np.random.Generator) -> Scene:
    """Return two columns that matter and two that do not; the initiator has another that matters."""
    X = rng.normal(size=(N, 5))
    return Scene(X[:, :4], X[:, 4:], (X @ [1.0, 0.5, 0.0, 0.0, 0.7] + rng.normal(size=N) > 0).astype(int))


def one_column(rng: np.random.Generator) -> Scene:
    """Return a helper with a single column."""
    X = rng.normal(size=(N, 2))
    return Scene(X[:, :1], X[:, 1:], (X.sum(axis=1) + rng.normal(size=N) > 0).astype(int))


def breast(rng: np.random.Generator) -> Scene:
    """Return four measurements of tumours, and a column of chance."""
    X, y = load_breast_cancer(return_X_y=True)
    rows = rng.permutation(len(y))[:N]
    return Scene(np.column_stack([X[rows][:, [0, 1, 4, 9]], rng.normal(size=N)]), X[rows][:, [20, 21]], y[rows])


def molecules(rng: np.random.Generator) -> Scene:
    """Return five descriptors of molecules."""
    from paper.datasets import qsar

    data = qsar()
    rows = rng.permutation(len(data.labels))[:N]
    names = list(data.feature_names)
    own, private = (
        [names.index(name) for name in some] for some in (("SpMax_L", "nO"), ("J_Dz(e)", "C%", "Me", "Mi", "SM6_L"))
    )
    X = np.asarray(data.features, float)[rows]
    return Scene(X[:, private], X[:, own], np.unique(data.labels[rows], return_inverse=True)[1])


SCENES: dict[str, Callable[[np.random.Generator], Scene]] = {
    "made": made,
    "one column": one_column,
    "breast": breast,
    "molecules": molecules,
}
LEARNERS: dict[str, Any] = {
    "stump": DecisionTreeClassifier(max_depth=1),
    "tree": DecisionTreeClassifier(max_depth=3),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "bayes": GaussianNB(),
    "forest": RandomForestClassifier(n_estimators=5, max_depth=3),
}
