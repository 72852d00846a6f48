"""Data sets that several tests use, and columns that can be said by a name (and so be pickled)."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn import datasets


@cache
def iris() -> tuple[np.ndarray, np.ndarray]:
    return datasets.load_iris(return_X_y=True)


@cache
def wine() -> tuple[np.ndarray, np.ndarray]:
    return datasets.load_wine(return_X_y=True)


@cache
def cancer() -> tuple[np.ndarray, np.ndarray]:
    return datasets.load_breast_cancer(return_X_y=True)


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    return datasets.load_digits(return_X_y=True)


@cache
def birds() -> tuple[np.ndarray, np.ndarray]:
    """Return four classes with names, six columns, continuous and noisy: no two splits are equally good."""
    X, y = datasets.make_classification(
        400, 6, n_informative=5, n_redundant=0, n_classes=4, flip_y=0.1, class_sep=0.8, random_state=3
    )
    return X, np.array(["wren", "crow", "gull", "owl"])[y]


@cache
def pair() -> tuple[np.ndarray, np.ndarray]:
    """Return the same for two classes, -1 and 1."""
    X, y = datasets.make_classification(300, 6, n_informative=5, n_redundant=0, flip_y=0.1, random_state=5)
    return X, 2 * y - 1


def left(X):
    """Name the left half of the columns, the middle one included."""
    return slice(0, (X.shape[1] + 1) // 2)


def right(X):
    """Name the right half of the columns."""
    return slice(X.shape[1] // 2, None)


def every(X):
    """Name all columns."""
    return slice(None)
