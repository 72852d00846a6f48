"""The problems: a table, its labels, who knows which columns, and how it is cut into training and test samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from assistlearn import datasets


@dataclass(frozen=True)
class Cut:
    """One replication of a problem."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    columns: dict[str, list[int]]


@dataclass(frozen=True)
class Problem:
    """A problem, the learners that are tried on it, and how many replications there are at the most."""

    name: str
    cut: Callable[[int], Cut]
    learners: tuple[str, ...]
    replications: int = 100


def of(data: datasets.DataSet, seed: int, n_train: float | int = 0.7, n_test: int = 4_000) -> Cut:
    columns = {agent: data.columns(agent).tolist() for agent in data.agents}
    return cut(data.features.astype(np.float64), data.labels, columns, seed, n_train, n_test)


def cut(X, y, columns, seed: int, n_train: float | int, n_test: int) -> Cut:
    stratify = y if np.bincount(np.unique(y, return_inverse=True)[1]).min() > 1 else None
    parts = train_test_split(X, y, train_size=n_train, random_state=seed, stratify=stratify)
    return Cut(parts[0], parts[2], parts[1][:n_test], parts[3][:n_test], columns)


def digits(seed: int) -> Cut:
    X, y = load_digits(return_X_y=True)
    pixels = np.arange(64).reshape(8, 8)
    return cut(
        X, y, {"left": pixels[:, :4].ravel().tolist(), "right": pixels[:, 4:].ravel().tolist()}, seed, 0.7, 4_000
    )


def breast(seed: int) -> Cut:
    X, y = load_breast_cancer(return_X_y=True)
    return cut(X, y, {"A": list(range(10)), "B": list(range(10, 30))}, seed, 0.7, 4_000)


def blob(family: str, spread: float) -> Callable[[int], Cut]:
    def draw(seed: int) -> Cut:
        wide = replace(datasets.FAMILIES[family], spread=spread)
        train = datasets.blobs(wide, random_state=seed)
        test = datasets.blobs(wide, "test", n_samples=5_000, random_state=seed)
        columns = {agent: train.columns(agent).tolist() for agent in train.agents}
        return Cut(train.features, train.labels, test.features, test.labels, columns)

    return draw


def fashion(seed: int) -> Cut:
    data = datasets.fashion_mnist(cut=seed)
    return of(data.take(np.random.RandomState(seed).permutation(len(data))[:4_000]), seed, 2_000, 2_000)


PROBLEMS = (
    Problem("digits", digits, ("tree-3", "tree", "forest", "logistic", "network", "mix")),
    Problem("red wine", lambda s: of(datasets.red_wine(2), s), ("tree-3", "tree", "forest", "logistic")),
    Problem("red wine x 11", lambda s: of(datasets.red_wine(11), s), ("tree-3", "bayes")),
    Problem("qsar", lambda s: of(datasets.qsar(), s), ("tree-3", "tree", "forest", "logistic")),
    Problem("letter", lambda s: of(datasets.letter(2), s, 2_000), ("tree-3", "tree", "forest", "bayes")),
    Problem("letter x 4", lambda s: of(datasets.letter(4), s, 2_000), ("tree-3", "bayes")),
    Problem(
        "vehicle", lambda s: of(datasets.fate("vehicle_scale"), s), ("tree-3", "tree", "forest", "logistic", "mix")
    ),
    Problem(
        "default credit", lambda s: of(datasets.fate("default_credit"), s, 3_000), ("tree-3", "logistic", "boosted")
    ),
    Problem("breast cancer", breast, ("tree-3", "logistic", "forest")),
    Problem("blob-10", blob("fig3a", 2.0), ("tree-3", "bayes")),
    Problem("blob-20", blob("fig6a", 2.0), ("tree-3", "bayes")),
    Problem("fashion", fashion, ("forest",), replications=2),
)
