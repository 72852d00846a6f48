"""The tables, who knows which columns, and with which learner: the first agent is the initiator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paper import datasets

BOOSTED = HistGradientBoostingClassifier(learning_rate=0.05, max_leaf_nodes=15)
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
FOREST = RandomForestClassifier(200, min_samples_leaf=2)


@dataclass(frozen=True)
class Table:
    """Rows, class codes, and the columns of each agent, the initiator first."""

    X: np.ndarray
    codes: np.ndarray
    columns: tuple[np.ndarray, ...]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.codes.max()) + 1


@dataclass(frozen=True)
class Problem:
    """A table, the learner of all agents, and what is to be reached: epsilon -> figure."""

    name: str
    table: Callable[[], Table]
    learner: Any
    targets: dict[float, float]

    def score(self, codes: np.ndarray, probabilities: np.ndarray) -> float:
        """Return the area under the curve of two classes, the accuracy of more."""
        if probabilities.shape[1] == 2:
            return float(roc_auc_score(codes, probabilities[:, 1]))
        return float(accuracy_score(codes, probabilities.argmax(axis=1)))


def strips(by: str) -> Table:
    """Digits in three strips of the image: columns or rows 0 to 2, 3 to 5, and 6 to 7."""
    X, codes = load_digits(return_X_y=True)
    pixels = np.arange(64).reshape(8, 8)
    pixels = pixels.T if by == "columns" else pixels
    return Table(X, codes, tuple(pixels[part].ravel() for part in (slice(0, 3), slice(3, 6), slice(6, 8))))


def of(data: datasets.DataSet) -> Table:
    codes = np.unique(data.labels, return_inverse=True)[1]
    return Table(data.features.astype(np.float64), codes, tuple(data.columns(agent) for agent in data.agents))


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem(
            "default credit",
            lambda: of(datasets.fate("default_credit")),
            BOOSTED,
            {1.0: 0.770, 2.0: 0.773, np.inf: 0.775},
        ),
        Problem("digits, columns", lambda: strips("columns"), FOREST, {1.0: 0.85, 2.0: 0.93}),
        Problem("digits, columns, boosted", lambda: strips("columns"), BOOSTED, {1.0: 0.85, 2.0: 0.93}),
        Problem("digits, columns, logistic", lambda: strips("columns"), LOGISTIC, {1.0: 0.85, 2.0: 0.93}),
        Problem("digits, rows", lambda: strips("rows"), FOREST, {}),
        Problem("letter x 4", lambda: of(datasets.letter(4)), FOREST, {}),
        Problem("red wine", lambda: of(datasets.red_wine(2)), FOREST, {}),
        Problem("qsar", lambda: of(datasets.qsar()), FOREST, {}),
        Problem("breast", lambda: of(datasets.fate("breast")), FOREST, {}),
    )
}
QUICK = ("breast",)
