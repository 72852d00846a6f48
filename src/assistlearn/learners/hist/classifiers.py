"""Classifiers of XGBoost's histogram trees: a tree, and a small boosted ensemble, on a table that is binned once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from assistlearn.core.ignorance import blocks
from assistlearn.core.labels import classes_and_codes
from assistlearn.errors import SettingsError
from assistlearn.learners.hist.binned import BinnedTable, Categories, find_categories, has_categories, to_numbers
from assistlearn.learners.hist.models import PREDICTED_ROWS, Frozen, Margins, checked, freeze, load_xgboost, thaw
from assistlearn.learners.weighting import MAX_SEED, take_rows
from assistlearn.types import Codes, Floats

# A setting's smallest and largest value, and whether it is a whole number.
_RANGES = {
    "max_depth": (1, np.inf, True),
    "max_bin": (2, 65_536, True),
    "subsample": (1e-6, 1, False),
    "n_estimators": (1, np.inf, True),
    "learning_rate": (1e-6, np.inf, False),
    "reg_lambda": (0, np.inf, False),
    "min_child_weight": (0, np.inf, False),
}


class HistClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier of XGBoost's histogram trees, which can prepare its table once (:class:`~.learner.Prepares`).

    It takes arrays, and data frames with categories. Its fitted trees are kept as bytes.
    """

    max_depth: int | None
    max_bin: int
    subsample: float
    feature_types: list[str] | None
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    categories_: Categories | None
    booster_: Frozen | None

    # Whether the scale of the weights changes nothing: an agent then need not copy its ignorance to scale it.
    any_scale: ClassVar[bool] = False

    # -- what each of the two defines for itself: targets, XGBoost's parameters, and what raw scores mean --------------

    @abstractmethod
    def _targets(self, codes: Codes, n_classes: int) -> NDArray[np.float32]: ...

    @abstractmethod
    def _objective(self, table: BinnedTable) -> dict[str, Any]: ...

    @abstractmethod
    def _weights(self, weights: Floats) -> NDArray[np.float32]: ...

    @abstractmethod
    def _n_trees_per_round(self, table: BinnedTable) -> int: ...

    def _n_rounds(self) -> int:
        return 1

    @abstractmethod
    def _codes(self, margins: Margins) -> NDArray[np.intp]: ...

    @abstractmethod
    def _probabilities(self, margins: Margins) -> Floats: ...

    # -- fitting -------------------------------------------------------------------------------------------------------

    def prepare(self, X: Any, y: Any) -> BinnedTable:
        """Bin a table once, to be fitted with many different weights.

        Pass the result to ``fit``, ``predict`` and ``predict_proba`` of this estimator or of its clones, in place of
        ``X``.
        """
        fresh: Self = clone(self)  # self is not changed
        return fresh._prepare(X, y)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the trees to a table, or to what :meth:`prepare` made of it. Missing values are NaN."""
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
        if weights is not None and not weights.sum() > 0.0:
            raise SettingsError("Every sample_weight is zero: there is nothing to learn from.")
        seen = np.ones(len(table), np.float32) if weights is None else self._weights(weights)
        table.matrix.set_info(weight=seen)
        del seen  # the matrix has a copy
        booster = load_xgboost().Booster(self._params(table), [table.matrix])
        for number in range(self._n_rounds()):
            booster.update(table.matrix, number)
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

    # -- predicting ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        out = np.empty(_num_samples(X), dtype=self.classes_.dtype)
        done = 0
        for margins in self._margins(X):
            out[done : done + len(margins)] = self.classes_[self._codes(margins)]
            done += len(margins)
        return out

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        answers = [self._probabilities(margins) for margins in self._margins(X)]
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def _margins(self, X: Any) -> Iterator[Margins]:
        """Yield the raw scores: those of a binned table at once, those of new rows block by block."""
        if isinstance(X, BinnedTable):
            yield self._margins_of_table(X)
            return
        X = self._checked_new(X)
        n_rows = _num_samples(X)
        if self.booster_ is None:
            yield np.zeros((n_rows, 1), np.float32)
            return
        booster = thaw(self.booster_, self._n_threads())
        for rows in blocks(n_rows, PREDICTED_ROWS):
            yield booster.inplace_predict(take_rows(X, rows), predict_type="margin")

    def _margins_of_table(self, table: BinnedTable) -> Margins:
        if self.booster_ is None:
            return np.zeros((len(table), 1), np.float32)
        margins: Margins | None = table.recall(self.booster_)
        if margins is None:
            margins = thaw(self.booster_, self._n_threads()).predict(table.matrix, output_margin=True)
        return margins

    def check_kept(self, source: str) -> None:
        frozen = getattr(self, "booster_", None)
        if frozen is not None:
            n_outputs = len(self.classes_) if len(self.classes_) > 2 else 1
            self.booster_ = checked(frozen, self.n_features_in_, n_outputs, source)

    # -- checking what users pass --------------------------------------------------------------------------------------

    def _checked(self, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        if y is None:
            raise SettingsError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self.categories_ = None
        if has_categories(X):
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            self.categories_ = find_categories(X)
            X = to_numbers(X, self.categories_)
        else:
            X, y = validate_data(self, X, y, dtype="numeric", ensure_all_finite="allow-nan")
        check_classification_targets(y)
        return X, y

    def _checked_new(self, X: Any) -> NDArray[Any]:
        if self.categories_ is None and not has_categories(X):
            numbers: NDArray[Any] = validate_data(self, X, dtype="numeric", ensure_all_finite="allow-nan", reset=False)
            return numbers
        if not hasattr(X, "columns"):
            raise SettingsError(
                "The model was fitted to a data frame with categories. Pass a data frame with the same columns."
            )
        validate_data(self, X, skip_check_array=True, reset=False)
        return to_numbers(X, self.categories_ or [None] * self.n_features_in_)

    def _check_settings(self) -> None:
        for name, (least, most, whole) in _RANGES.items():
            value = getattr(self, name, None)
            if not hasattr(self, name) or (value is None and name == "max_depth"):
                continue
            if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
                raise SettingsError(f"{name}={value!r} must be a {'whole ' if whole else ''}number.")
            if not least <= float(value) <= most:
                raise SettingsError(f"{name}={value!r} must lie between {least:g} and {most:g}.")

    def _n_threads(self) -> int:
        """Return how many threads XGBoost may use; zero means all cores, or as many as ``OMP_NUM_THREADS`` says."""
        return 0 if self.n_jobs is None else int(effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class HistTreeClassifier(HistClassifier):
    """A classification tree that splits at the edges of bins, on XGBoost.

    It grows by Gini impurity, as :class:`~sklearn.tree.DecisionTreeClassifier` does, and is as accurate; but a table
    is binned once, after which a tree under new weights takes a small part of the time. That is what an agent does in
    every turn. It also works alone, as any other classifier.

    Parameters
    ----------
    max_depth : int or None, default=5
        How deep the tree may grow; None sets no limit.
    max_bin : int, default=64
        Into how many bins a column is cut, at the most, each with about as many samples as the others. More than 256
        double the memory.
    subsample : float, default=1.0
        The share of the samples, drawn at random, that a tree is grown on.
    feature_types : list of str, default=None
        For tables without data types of their own: "c" for a column that holds the codes of categories, "q" for any
        other. The categorical columns of a pandas or polars data frame are known as such.
    random_state : int, RandomState instance or None, default=None
        Where the subsample comes from. With ``subsample=1.0`` there is no chance in the tree.
    n_jobs : int, default=None
        How many threads to use. None leaves it to XGBoost, which uses all cores or as many as ``OMP_NUM_THREADS``
        says; -1 means all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        The number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are all strings.
    categories_ : list of (ndarray or None), or None
        The categories of every column, in the order of their codes; None where the table was not a data frame with
        categorical columns. A category that is not among them counts as missing.
    n_trees_ : int
        The number of trees.
    booster_ : ndarray of uint8, or None
        The tree as XGBoost writes it, the bytes of a JSON document; None where there is one class only.

    Notes
    -----
    A boosting step with the squared error of the one-hot labels, from zero and unregularised, gains exactly the
    decrease of Gini impurity, and a leaf is then the share of each class. With more than two classes one tree has all
    shares in its leaves. XGBoost cannot split a categorical column that way yet; where a table has one, and there are
    more than two classes, a tree is grown for each class.

    A missing value goes to the side of a split where it lowers the impurity most.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> tree = HistTreeClassifier(max_depth=3).fit(X, y)
    >>> round(tree.score(X, y), 2)
    0.98

    Binned once, fitted with different weights:

    >>> table = tree.prepare(X, y)
    >>> for favourite in range(3):
    ...     model = tree.fit(table, y, sample_weight=np.where(y == favourite, 100.0, 1.0))
    ...     print(favourite, model.score(X[y == favourite], y[y == favourite]))
    0 1.0
    1 1.0
    2 1.0
    """

    any_scale: ClassVar[bool] = True

    def __init__(
        self,
        max_depth: int | None = 5,
        *,
        max_bin: int = 64,
        subsample: float = 1.0,
        feature_types: list[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.max_bin = max_bin
        self.subsample = subsample
        self.feature_types = feature_types
        self.random_state = random_state
        self.n_jobs = n_jobs

    def join(self, models: Sequence[HistTreeClassifier]) -> JointTrees | None:
        """Return one model that answers for all of these, which were fitted to the same table, and reads rows once.

        It answers exactly what they answer one by one. None where they cannot be joined: they know different classes,
        or one class only.
        """
        same = all(np.array_equal(model.classes_, self.classes_) for model in models)
        return JointTrees(models) if same and len(self.classes_) > 1 else None

    def _targets(self, codes: Codes, n_classes: int) -> NDArray[np.float32]:
        if n_classes <= 2:
            return codes.astype(np.float32)
        one_hot = np.zeros((len(codes), n_classes), np.float32)
        one_hot[np.arange(len(codes)), codes] = 1.0
        return one_hot

    def _objective(self, table: BinnedTable) -> dict[str, Any]:
        return {
            "objective": "reg:squarederror",
            "base_score": 0.0,
            "learning_rate": 1.0,
            "reg_lambda": 0.0,
            "min_child_weight": 0.0,
            "multi_strategy": "multi_output_tree" if self._n_trees_per_round(table) == 1 else "one_output_per_tree",
        }

    def _n_trees_per_round(self, table: BinnedTable) -> int:
        n_classes = len(table.classes)
        return n_classes if table.categorical and n_classes > 2 else 1

    def _weights(self, weights: Floats) -> NDArray[np.float32]:
        # A tree does not care about the scale, but XGBoost's smallest gain is an absolute number. A power of two
        # rounds nothing.
        scale = 2.0 ** -round(math.log2(float(weights.mean())))
        return np.multiply(weights, scale, dtype=np.float32, casting="unsafe")

    def _codes(self, margins: Margins) -> NDArray[np.intp]:
        if margins.ndim == 1:
            return (margins > 0.5).astype(np.intp)
        codes: NDArray[np.intp] = margins.argmax(axis=1)
        return codes

    def _probabilities(self, margins: Margins) -> Floats:
        if margins.ndim == 1:
            share = np.clip(margins.astype(np.float64), 0.0, 1.0)
            return np.column_stack([1.0 - share, share])
        shares = np.maximum(margins.astype(np.float64), 0.0)
        total = shares.sum(axis=1, keepdims=True)
        shares[total[:, 0] <= 0.0] = 1.0  # in a leaf without weight, all classes are equally likely
        out: Floats = shares / shares.sum(axis=1, keepdims=True)
        return out


class JointTrees:
    def __init__(self, trees: Sequence[HistTreeClassifier]) -> None:
        self._trees = trees
        self._boosters = [thaw(tree.booster_, trees[0]._n_threads()) for tree in trees if tree.booster_ is not None]

    def predict(self, X: Any) -> Codes:
        """Return the classes that every tree answers, of shape (n_trees, n_rows)."""
        first = self._trees[0]
        X = first._checked_new(X)
        n_rows = _num_samples(X)
        out = np.empty((len(self._trees), n_rows), dtype=_smallest_type(first.classes_))
        classes = first.classes_.astype(out.dtype)
        for rows in blocks(n_rows, PREDICTED_ROWS):
            matrix = load_xgboost().DMatrix(take_rows(X, rows), nthread=first._n_threads())
            for booster, answers in zip(self._boosters, out, strict=True):
                margins = booster.predict(matrix, output_margin=True, validate_features=False)
                answers[rows] = classes[first._codes(margins)]
        return out


def _smallest_type(classes: NDArray[Any]) -> np.dtype[Any]:
    codes = classes.dtype.kind in "iu" and classes.min() >= 0
    return np.min_scalar_type(int(classes.max())) if codes else classes.dtype


class HistBoostClassifier(HistClassifier):
    """A few trees boosted by the logistic loss, on XGBoost.

    A stronger learner than one tree, for few rounds or for methods that use its probabilities. The table is binned
    once; every turn grows a new ensemble under the present ignorance. It also works alone, as any other classifier.

    Parameters
    ----------
    n_estimators : int, default=20
        The number of boosting steps.
    max_depth : int or None, default=5
        How deep a tree may grow; None sets no limit.
    learning_rate : float, default=0.3
        How far each step goes.
    min_child_weight : float, default=1.0
        A leaf has at least this much second derivative of the loss, weights included.
    reg_lambda : float, default=1.0
        The penalty on the square of a leaf's value.
    subsample : float, default=1.0
        The share of the samples, drawn at random, that each step's trees are grown on.
    max_bin, feature_types, random_state, n_jobs
        As those of :class:`HistTreeClassifier`, which has the same attributes, too.

    Notes
    -----
    With more than two classes every step grows a tree for each class. One tree for all of them, as in
    :class:`HistTreeClassifier`, takes as long here and is less accurate.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(cross_val_score(HistBoostClassifier(), X, y).mean() > 0.94)
    True
    """

    def __init__(
        self,
        n_estimators: int = 20,
        *,
        max_depth: int | None = 5,
        learning_rate: float = 0.3,
        max_bin: int = 64,
        min_child_weight: float = 1.0,
        reg_lambda: float = 1.0,
        subsample: float = 1.0,
        feature_types: list[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.max_bin = max_bin
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.feature_types = feature_types
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _n_rounds(self) -> int:
        return self.n_estimators

    def _n_trees_per_round(self, table: BinnedTable) -> int:
        return 1 if len(table.classes) == 2 else len(table.classes)

    def _targets(self, codes: Codes, n_classes: int) -> NDArray[np.float32]:
        return codes.astype(np.float32)

    def _objective(self, table: BinnedTable) -> dict[str, Any]:
        common = {
            "learning_rate": self.learning_rate,
            "reg_lambda": self.reg_lambda,
            "min_child_weight": self.min_child_weight,
        }
        if len(table.classes) == 2:
            return common | {"objective": "binary:logistic"}
        return common | {"objective": "multi:softprob", "num_class": len(table.classes)}

    def _weights(self, weights: Floats) -> NDArray[np.float32]:
        return weights.astype(np.float32)

    def _codes(self, margins: Margins) -> NDArray[np.intp]:
        if margins.ndim == 1:
            return (margins > 0.0).astype(np.intp)
        codes: NDArray[np.intp] = margins.argmax(axis=1)
        return codes

    def _probabilities(self, margins: Margins) -> Floats:
        exact = margins.astype(np.float64)
        if margins.ndim == 1:
            share = expit(exact)
            return np.column_stack([1.0 - share, share])
        out: Floats = softmax(exact, axis=1)
        return out
