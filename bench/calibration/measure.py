"""One measurement: scores of held-out samples and of test samples, and what ways to calibrate make of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from assistlearn import AssistedClassifier
from assistlearn.evaluation.calibration import fit_calibration
from bench.accuracy.measure import agents_of
from bench.accuracy.problems import PROBLEMS

LEARNER, ROUNDS, HELD_OUT = "tree-3", 10, 0.2

SETS = ("breast cancer", "wine", "qsar", "vehicle", "red wine", "digits", "default credit", "letter")

METHODS: dict[str, dict[str, Any]] = {
    "ascii": {"method": "ascii"},
    "simple": {"method": "simple"},
    "ensemble": {"method": "ensemble"},
    "soft": {"method": "soft", "reward": "auto", "combine": "sum", "models_per_turn": 1},
    "combined": {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 20},
    "label-private": {"method": "label-private", "models_per_turn": 20},
}


@dataclass(frozen=True)
class Scores:
    """The sum of all votes on samples that were held out and on test samples, with their class codes."""

    held: np.ndarray
    held_codes: np.ndarray
    test: np.ndarray
    test_codes: np.ndarray
    formula: np.ndarray
    """The probabilities of the method's own formula on test samples."""


def scores_of(name: str, method: str, seed: int) -> Scores:
    """Fit to four fifths of the training samples of a replication, and score the others and the test samples."""
    [problem] = [each for each in PROBLEMS if each.name == name]
    cut = problem.cut(seed)
    classes, codes = np.unique(cut.y_train, return_inverse=True)
    even = codes if np.bincount(codes).min() > 1 else None
    X, held, y, held_codes = train_test_split(cut.X_train, codes, test_size=HELD_OUT, random_state=seed, stratify=even)
    model = AssistedClassifier(agents_of(cut, LEARNER), n_rounds=ROUNDS, random_state=seed, **METHODS[method])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    test_codes = np.searchsorted(classes, cut.y_test)
    return Scores(
        _total(model, held), held_codes, _total(model, cut.X_test), test_codes, model.predict_proba(cut.X_test)
    )


def _total(model: AssistedClassifier, X: np.ndarray) -> np.ndarray:
    return sum(model.agent_scores(X).values())


class _Scorer(ClassifierMixin, BaseEstimator):
    """A classifier whose table already is the scores, so that scikit-learn calibrates these."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> _Scorer:
        """Know the classes."""
        self.classes_ = np.arange(X.shape[1])
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the scores, of the second class alone where there are two."""
        return X[:, 1] if X.shape[1] == 2 else X

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the classes with the highest scores."""
        return X.argmax(axis=1)


def by_formula(scores: Scores) -> np.ndarray:
    return scores.formula


def ours(scores: Scores) -> np.ndarray:
    return fit_calibration(scores.held, scores.held_codes).probabilities(scores.test)


def by_sklearn(method: str) -> Callable[[Scores], np.ndarray]:
    """Return scikit-learn's calibration around the same scores, fitted to the same held-out samples."""

    def calibrated(scores: Scores) -> np.ndarray:
        scorer = FrozenEstimator(_Scorer().fit(scores.held, scores.held_codes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = CalibratedClassifierCV(scorer, method=method).fit(scores.held, scores.held_codes)
        said = np.zeros_like(scores.test)
        said[:, fitted.classes_] = fitted.predict_proba(scores.test)
        return said

    return calibrated


WAYS: dict[str, Callable[[Scores], np.ndarray]] = {
    "formula": by_formula,
    "calibrated": ours,
    "sigmoid": by_sklearn("sigmoid"),
    "isotonic": by_sklearn("isotonic"),
    "temperature": by_sklearn("temperature"),
}
"""Ways to make probabilities; the last three are scikit-learn's, of which ``sigmoid`` is its default."""


def expected_calibration_error(codes: np.ndarray, probabilities: np.ndarray, n_bins: int = 15) -> float:
    """Return the mean gap between how sure answers claim to be and how often they are right.

    The answer is the likeliest class. Answers are put into bins of equal width by how sure they claim to be.

    >>> expected_calibration_error(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1]] * 4))
    0.4
    """
    sure = probabilities.max(axis=1)
    gap = sure - (probabilities.argmax(axis=1) == codes)
    bins = np.minimum((sure * n_bins).astype(np.intp), n_bins - 1)
    return float(np.abs(np.bincount(bins, weights=gap, minlength=n_bins)).sum() / len(codes))


def figures(said: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Return the log loss and the expected calibration error in 15 bins."""
    known = np.arange(said.shape[1])
    return float(log_loss(codes, said / said.sum(axis=1, keepdims=True), labels=known)), expected_calibration_error(
        codes, said
    )


def least_error(said: np.ndarray, seed: int) -> float:
    """Return the calibration error that there would be if the probabilities were right: that of chance alone."""
    chance = np.random.default_rng(seed).random((len(said), 1))
    drawn = (chance > said.cumsum(axis=1)).sum(axis=1).clip(max=said.shape[1] - 1)
    return expected_calibration_error(drawn, said)
