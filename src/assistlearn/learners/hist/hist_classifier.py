"""What the histogram tree and the boosted ensemble have in common: binning and refitting."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from assistlearn.core.class_codes import classes_and_codes
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.learners.hist.binned import BinnedTable
from assistlearn.learners.hist.booster import grow, load_xgboost
from assistlearn.learners.hist.input_checks import refuse_weightless
from assistlearn.learners.hist.predicting import PredictingTrees
from assistlearn.learners.hist.xgboost_json.frozen import freeze
from assistlearn.learners.seeding import MAX_SEED
from assistlearn.learners.weighting import take_rows


class HistClassifier(PredictingTrees):
    """A classifier of XGBoost's histogram trees, which can prepare its table once (:class:`~.learner.Prepares`)."""

    feature_types: list[str] | None
    random_state: int | np.random.RandomState | None

    # Whether the scale of the weights changes nothing: an agent then need not copy its ignorance to scale it.
    any_scale: ClassVar[bool] = False

    # -- what each of the two defines for itself -----------------------------------------------------------------------

    @abstractmethod
    def _targets(self, codes: Codes, n_classes: int) -> NDArray[np.float32]:
        """Return the targets that the trees are fitted to."""

    @abstractmethod
    def _objective(self, table: BinnedTable) -> dict[str, Any]:
        """Return XGBoost's parameters that depend on the loss and on the table's classes."""

    @abstractmethod
    def _weights(self, weights: Floats) -> NDArray[np.float32]:
        """Return the weights that XGBoost gets, in single precision."""

    @abstractmethod
    def _n_trees_per_round(self, table: BinnedTable) -> int:
        """Return how many trees a boosting step grows."""

    def _n_rounds(self) -> int:
        """Return the number of boosting steps."""
        return 1

    # -- fitting -------------------------------------------------------------------------------------------------------

    def prepare(self, X: Any, y: Any) -> BinnedTable:
        """Bin a table once, to be fitted with many different weights.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,)
            The labels.

        Returns
        -------
        table : BinnedTable
            Pass it to ``fit``, ``predict`` and ``predict_proba`` of this estimator or of its clones, in place of ``X``.
        """
        fresh: Self = clone(self)  # self is not changed
        return fresh._prepare(X, y)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features), or BinnedTable
            The table, or what :meth:`prepare` made of it. Missing values are NaN.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        self : HistClassifier
            The fitted classifier.
        """
        self._check_settings()
        prepared = isinstance(X, BinnedTable)
        if prepared:
            X.check_labels(y)
            X.forget()
            weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
            table = X
        else:
            X, y = self._checked(X, y)
            weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
            table, weights = self._bin_counting(X, y, weights)
        self.classes_ = table.classes
        self.n_features_in_ = table.n_features
        self.categories_ = table.categories
        if table.feature_names is not None:
            self.feature_names_in_ = table.feature_names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.booster_ = None
        self.n_trees_ = 0
        if len(self.classes_) > 1:
            self._grow(table, weights, prepared)
        return self

    def _grow(self, table: BinnedTable, weights: Floats | None, prepared: bool) -> None:
        """Grow the trees under these weights, and keep them as bytes."""
        if weights is not None:
            refuse_weightless(weights)
        seen = np.ones(len(table), np.float32) if weights is None else self._weights(weights)
        table.matrix.set_weight(seen)
        del seen
        booster = grow(self._params(table), table.matrix, self._n_rounds())
        frozen = freeze(booster)
        self.booster_ = frozen
        self.n_trees_ = self._n_rounds() * self._n_trees_per_round(table)
        if prepared:  # the answers for the training rows cost nothing at this point
            table.remember(frozen, booster.predict(table.matrix, output_margin=True))

    def _prepare(self, X: Any, y: Any) -> BinnedTable:
        self._check_settings()
        given = y
        X, y = self._checked(X, y)
        classes, codes = classes_and_codes(y)
        return self._bin(X, given if isinstance(given, np.ndarray) and given.ndim == 1 else y, codes, classes)

    def _bin_counting(self, X: Any, y: NDArray[Any], weights: Floats | None) -> tuple[BinnedTable, Floats | None]:
        """Bin the rows whose weight is not zero, as if the others were not there."""
        classes, codes = classes_and_codes(y)
        if weights is not None and not weights.all() and weights.any():
            rows = np.flatnonzero(weights)
            X, y, codes, weights = take_rows(X, rows), y[rows], codes[rows], weights[rows]
        return self._bin(X, y, codes, classes), weights

    def _bin(self, X: Any, y: NDArray[Any], codes: Codes, classes: NDArray[Any]) -> BinnedTable:
        types = self.feature_types
        if self.categories_ is not None:
            types = ["q" if categories is None else "c" for categories in self.categories_]
        matrix = load_xgboost().QuantileDMatrix(
            X,
            label=self._targets(codes, len(classes)),
            max_bin=self.max_bin,
            enable_categorical=True,
            feature_types=types,
            nthread=self._n_threads(),
        )
        names = getattr(self, "feature_names_in_", None)
        return BinnedTable(matrix, y, classes, self.n_features_in_, names, self.categories_, "c" in (types or ()))

    def _params(self, table: BinnedTable) -> dict[str, Any]:
        state = self.random_state
        seed = int(state) if isinstance(state, Integral) else int(check_random_state(state).randint(MAX_SEED))
        return {
            "tree_method": "hist",
            "max_depth": 0 if self.max_depth is None else self.max_depth,
            "max_bin": self.max_bin,
            "subsample": self.subsample,
            "seed": seed,
            "nthread": self._n_threads(),
        } | self._objective(table)
