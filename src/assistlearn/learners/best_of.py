"""The best of several learners, by their log loss on samples that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from assistlearn.core.votes import clipped
from assistlearn.errors import SettingsError, UntrustedFileError
from assistlearn.learners.folds import Honesty
from assistlearn.learners.learner import Learner
from assistlearn.learners.model import Model
from assistlearn.plan import Plan
from assistlearn.types import Codes, Floats, Said


class BestOf(ClassifierMixin, BaseEstimator):
    """Takes the one of several classifiers with the least log loss out of fold, and fits it to all samples.

    For a classifier without probabilities, how often it is right out of fold is taken as its probability.

    Parameters
    ----------
    estimators : sequence of scikit-learn classifiers or pipelines
        Never changed: clones of them are fitted.
    cv : int, default=3
        The number of folds.
    random_state : int, default=None
        For the folds and for chance in the classifiers; None stands for 0.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    best_ : int
        Which of the classifiers was taken.
    losses_ : ndarray of shape (n_estimators,)
        Their mean log losses.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> best = BestOf([DummyClassifier(), GaussianNB()]).fit(*load_iris(return_X_y=True))
    >>> best.best_, best.losses_.round(1)
    (1, array([1.1, 0.1]))
    """

    def __init__(self, estimators: Sequence[Any], cv: int = Plan.cv, random_state: int | None = None) -> None:
        self.estimators = estimators
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Floats | None = None) -> BestOf:
        if not len(self.estimators):
            raise SettingsError("estimators is empty: there are no classifiers to choose from.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        codes = codes.astype(np.intp)
        weights = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        weights = weights / weights.sum()
        tried = [self._tried(estimator, X, codes, weights) for estimator in self.estimators]
        self.losses_ = np.array([lost for _, _, lost in tried])
        self.best_ = int(self.losses_.argmin())
        self._model, self._right, _ = tried[self.best_]
        return self

    def _tried(self, estimator: Any, X: Any, codes: Codes, weights: Floats) -> tuple[Model, float, float]:
        """Return a fitted model, how often it is right out of fold, and its log loss there."""
        learner = Learner(estimator, "best of several", Honesty("out-of-fold", cv=self.cv))
        seed = 0 if self.random_state is None else self.random_state
        learner.prepare(X, codes, seed)
        model, said = learner.fit(weights, seed, "the choice of a learner", len(self.classes_), weights)
        answers = said.argmax(axis=1) if said.ndim == 2 else said
        right = float(weights @ (answers == codes))
        chances = clipped(self._probabilities(said, right))
        return model, right, float(-weights @ np.log(chances[np.arange(len(codes)), codes]))

    def _probabilities(self, said: Said, right: float) -> Floats:
        if said.ndim == 2:
            return np.asarray(said, dtype=np.float64)
        n_classes = len(self.classes_)
        out = np.full((len(said), n_classes), (1.0 - right) / max(n_classes - 1, 1))
        out[np.arange(len(said)), said] = right
        return out

    def predict_proba(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._probabilities(self._model.say(self._model.transform(X)), self._right)

    def predict(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        said = self._model.say(self._model.transform(X))
        found: NDArray[Any] = self.classes_[said.argmax(axis=1) if said.ndim == 2 else said]
        return found

    def check_kept(self, source: str) -> None:
        known = vars(self)
        model, right, classes = known.get("_model"), known.get("_right"), known.get("classes_")
        if not isinstance(model, Model) or type(right) is not float or not 0.0 <= right <= 1.0 + 1e-9:
            raise UntrustedFileError(
                f"{source}: the best of several learners does not contain a model with its share of right answers."
            )
        if not isinstance(classes, np.ndarray) or model.n_classes not in (None, len(classes)):
            raise UntrustedFileError(f"{source}: the best of several learners contains a model of other classes.")
