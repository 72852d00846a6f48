"""Small classifiers that misbehave in one known way each, and one that writes down what it is given."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier


class Constant(ClassifierMixin, BaseEstimator):
    """Always answers the same class code, whatever it was shown."""

    def __init__(self, code: Any = 0):
        self.code = code

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.code)


class Heaviest(ClassifierMixin, BaseEstimator):
    """Answers the class with the most weight: a constant that listens."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.code_ = np.bincount(y, weights=sample_weight).argmax()
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.code_)


class Memory(ClassifierMixin, BaseEstimator):
    """Reads the label off its last column: perfect, if the table's last column is the class code."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.asarray(X)[:, -1].astype(int)


class Opposite(Memory):
    """Wrong everywhere, if the table's last column is the class code."""

    def predict(self, X):
        return (super().predict(X) + 1) % len(self.classes_)


class Sparing(ClassifierMixin, BaseEstimator):
    """Wrong on the one sample that matters least; its table is the class code and the row's number."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.wrong_ = np.argmin(sample_weight)
        return self

    def predict(self, X):
        return (X[:, 0].astype(int) + (X[:, 1] == self.wrong_)) % len(self.classes_)


class Failing(ClassifierMixin, BaseEstimator):
    """Raises ``error``: while fitting once the weights differ, or while predicting."""

    def __init__(self, error: Any = None, when: str = "fit"):
        self.error = error
        self.when = when

    def fit(self, X, y, sample_weight=None):
        if self.when == "fit":
            raise self.error
        if self.when == "refit" and np.ptp(sample_weight) > 0:
            raise self.error
        self.classes_ = np.unique(y)
        self.code_ = np.bincount(y, weights=sample_weight).argmax()
        return self

    def predict(self, X):
        if self.when == "predict":
            raise self.error
        if self.when == "predict elsewhere" and X.shape[0] != 40:
            raise self.error
        return np.full(X.shape[0], self.code_)


class Witness(DecisionTreeClassifier):
    """A tree that writes down the weights, the rows and the seeds it is fitted with."""

    seen: ClassVar[list[tuple[np.ndarray, Any, Any]]] = []

    def fit(self, X, y, sample_weight=None):
        Witness.seen.append((sample_weight, X, self.random_state))
        return super().fit(X, y, sample_weight=sample_weight)


class WitnessWithoutWeights(KNeighborsClassifier):
    """The same for a learner that takes no weights."""

    seen: ClassVar[list[tuple[np.ndarray, np.ndarray]]] = []

    def fit(self, X, y):
        WitnessWithoutWeights.seen.append((np.asarray(X), np.asarray(y)))
        return super().fit(X, y)


class OnceForAll(DecisionTreeClassifier):
    """A tree that prepares its table once and is refitted to what it prepared."""

    prepared: ClassVar[list[Any]] = []

    def prepare(self, X, y):
        OnceForAll.prepared.append(Prepared(np.asarray(X)))
        return OnceForAll.prepared[-1]

    def fit(self, X, y, sample_weight=None):
        if isinstance(X, Prepared):
            X.fits += 1
            X = X.table
        return super().fit(X, y, sample_weight=sample_weight)

    def predict(self, X):
        if isinstance(X, Prepared):
            X.predictions += 1
            X = X.table
        return super().predict(X)


class Prepared:
    """What :class:`OnceForAll` makes of a table."""

    def __init__(self, table: np.ndarray):
        self.table = table
        self.fits = 0
        self.predictions = 0


class OnlyLabels(DecisionTreeClassifier):
    """A tree that has no probabilities."""

    predict_proba = property()
