"""The tables: an initiator with labels and columns, and a helper whose columns are attacked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

MOST_TRAINED, MOST_TESTED = 5_000, 5_000


@dataclass(frozen=True)
class Cut:
    """A table, cut between two agents and between training and test samples.

    Attributes
    ----------
    X, y : ndarray
        All columns, and the labels as class codes.
    own, theirs : list of int
        The columns of the initiator, and of the helper.
    attacked : mapping of int to str
        Which of the helper's columns are attacked, by their names.
    train, test : ndarray of int
        The samples.
    """

    X: np.ndarray
    y: np.ndarray
    own: list[int]
    theirs: list[int]
    attacked: Mapping[int, str]
    train: np.ndarray
    test: np.ndarray


def _cut(X: np.ndarray, y: np.ndarray, own: list[int], attacked: Mapping[int, str], seed: int) -> Cut:
    theirs = [column for column in range(X.shape[1]) if column not in own]
    rows = np.random.RandomState(seed).permutation(len(y))
    n_train = min(len(y) * 7 // 10, MOST_TRAINED)
    return Cut(X, y, own, theirs, attacked, rows[:n_train], rows[n_train : n_train + MOST_TESTED])


def credit(seed: int) -> Cut:
    """Return clients of a bank: the initiator has bills and payments, the helper who they are and how late they pay."""
    from paper.datasets import fate

    data = fate("default_credit")
    own, theirs = (data.columns(agent).tolist() for agent in ("guest", "host"))
    names = (
        "limit",
        "sex",
        "education",
        "marriage",
        "age",
        "late",
    )  # what else there is, bills give away by themselves
    return _cut(data.features, data.labels, own, dict(zip(theirs, names, strict=False)), seed)


def breast(seed: int) -> Cut:
    """Return tumours: the initiator has means, the helper errors and worst values, of which five are attacked."""
    data = load_breast_cancer()
    names = {column: str(data.feature_names[column]) for column in range(10, 30, 4)}
    return _cut(data.data, data.target, list(range(10)), names, seed)


def digits(seed: int) -> Cut:
    """Return digits: the left halves are the initiator's, the right halves the helper's; six pixels are attacked."""
    X, y = load_digits(return_X_y=True)
    own = [pixel for pixel in range(64) if pixel % 8 < 4]
    return _cut(X, y, own, {row * 8 + 4 + row % 2: f"pixel in row {row + 1}" for row in range(1, 7)}, seed)


TABLES: dict[str, Callable[[int], Cut]] = {"default credit": credit, "breast cancer": breast, "digits": digits}
