"""Histogram trees on XGBoost: a table is binned once, and trees are fitted to it with new weights in every turn."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import assert_all_finite, check_random_state
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
from assistlearn.errors import LearnerError, MissingExtraError, SettingsError, UntrustedFileError
from assistlearn.extras import install_line
from assistlearn.learners.model import MAX_SEED, columns, take_rows
from assistlearn.types import Codes, Floats

Categories: TypeAlias = list[NDArray[Any] | None]
"""For every column its categories in the order of their codes; None for a column of numbers."""


@dataclass(eq=False)
class BinnedTable:
    """What ``prepare`` returns, and ``fit``, ``predict`` and ``predict_proba`` take in place of ``X``.

    XGBoost's form needs one or two bytes per value, twice (by row and by column), and 16 bytes per sample. Categories
    are None where the table is not a data frame with categories.
    """

    matrix: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    n_features: int
    feature_names: NDArray[Any] | None
    categories: Categories | None
    categorical: bool
    _latest: tuple[Frozen, Margins] | None = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.y)

    def check_labels(self, y: Any) -> None:
        """Refuse labels other than those that the table was prepared with, because it holds their class codes."""
        if y is self.y:
            return
        if len(y) != len(self.y) or not np.array_equal(y, self.y):
            raise LearnerError(
                f"The table was prepared with other labels ({len(self.y)} of them) than it is fitted with ({len(y)}). "
                "Prepare it again with the new ones."
            )

    def forget(self) -> None:
        self._latest = None

    def remember(self, booster: Frozen, margins: Margins) -> None:
        """Keep the margins of the model that was fitted last: they are known when its trees have grown."""
        self._latest = booster, margins

    def recall(self, booster: Frozen) -> Margins | None:
        """Return the margins of this model and drop them; None where it was not fitted last."""
        if self._latest is None or self._latest[0] is not booster:
            return None
        _, margins = self._latest
        self._latest = None
        return margins


# -- categorical columns of a data frame (pandas or polars), the same in training and in prediction --------------------


def has_categories(X: Any) -> bool:
    return _is_frame(X) and any(_is_categorical(column) for _, column in _columns(X))


def find_categories(X: Any) -> Categories:
    return [_split(column, name)[0] if _is_categorical(column) else None for name, column in _columns(X)]


def to_numbers(X: Any, known: Sequence[NDArray[Any] | None]) -> NDArray[np.float32]:
    """Return a data frame as an array, every category as its code. An unknown category counts as missing."""
    out = np.empty(X.shape, dtype=np.float32)
    for position, ((name, column), categories) in enumerate(zip(_columns(X), known, strict=True)):
        if _is_categorical(column) != (categories is not None):
            raise SettingsError(
                f"Column {name!r} is {'' if categories is None else 'not '}categorical, "
                f"but was{' not' if categories is None else ''} when the model was fitted."
            )
        out[:, position] = _numbers(column, name) if categories is None else _codes(column, name, categories)
    assert_all_finite(out, allow_nan=True, input_name="X")
    return out


def _codes(column: Any, name: str, known: NDArray[Any]) -> NDArray[np.float32]:
    own, positions = _split(column, name)
    code_of = {category: code for code, category in enumerate(known.tolist())}
    codes = np.array([code_of.get(category, np.nan) for category in own.tolist()] + [np.nan], dtype=np.float32)
    return codes[positions]  # a missing value has the position -1, that of the nan at the end


def _split(column: Any, name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the categories of a column, and every value's position among them: -1 where it is missing."""
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):  # pandas
        own, positions = column.cat.categories.tolist(), column.cat.codes.to_numpy().astype(np.intp)
    else:  # polars, whose physical codes may be those of a larger pool
        texts = column.cast(str)
        own, positions = np.unique(texts.fill_null("").to_numpy().astype(str), return_inverse=True)
        positions = np.where(texts.is_null().to_numpy(), -1, positions)
    categories = np.asarray(own)
    if categories.dtype.kind not in "Uiufb":
        raise SettingsError(f"Column {name!r} has categories that are neither text nor numbers. Make them text.")
    return categories, positions


def _numbers(column: Any, name: str) -> NDArray[Any]:
    try:
        if hasattr(column, "iloc"):
            numbers: NDArray[Any] = column.to_numpy(dtype=np.float32, na_value=np.nan)
            return numbers
        return np.asarray(column.cast(float).to_numpy())
    except Exception as error:  # each library has errors of its own
        raise SettingsError(
            f"Column {name!r} does not hold numbers ({column.dtype}). Make it categorical, or encode it."
        ) from error


def _columns(X: Any) -> Iterator[tuple[str, Any]]:
    return zip(map(str, X.columns), columns(X), strict=True)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_series"))


def _is_categorical(column: Any) -> bool:
    return str(column.dtype).partition("(")[0] in ("category", "Categorical", "Enum")


# XGBoost: loaded where it is installed; a grown booster as bytes that can be kept, checked and asked again.
#
# The bytes are XGBoost's own JSON, because the standard library reads and writes it: a check of what comes from a file
# needs no reader of ours.

Frozen: TypeAlias = NDArray[np.uint8]
Margins: TypeAlias = NDArray[np.float32]

PREDICTED_ROWS = 16_384
"""Rows that XGBoost predicts at a time: they stay in the processor's cache, and the memory needed is bounded."""

OLDEST_VERSION = (3, 2)
"""The oldest XGBoost whose models are read: what it makes of older ones is not tested."""
MOST_CATEGORY_BITS = 2**30
"""The most bits of all sets of categories: a node that is split by categories has one for each up to its highest."""
LARGEST = float(np.finfo(np.float32).max)


def load_xgboost() -> Any:
    try:
        import xgboost
    except ImportError:
        raise MissingExtraError(f"Histogram trees need XGBoost: {install_line('xgboost')}") from None
    return xgboost


def freeze(booster: Any) -> Frozen:
    """Return a booster as bytes, without its training table and without any code."""
    return np.frombuffer(booster.save_raw("json"), dtype=np.uint8).copy()


def thaw(frozen: Frozen, n_threads: int) -> Any:
    return load_xgboost().Booster({"nthread": n_threads}, model_file=bytearray(frozen.tobytes()))


# -- a booster from a file ---------------------------------------------------------------------------------------------
# XGBoost checks names, types and most lengths when it reads a model. It does not check children, parents, columns, the
# outputs of trees and the places of leaves and categories: one wrong number, and it reads outside its arrays. So these
# are checked here before it sees them. Fields that are not known here might hold such numbers, too, and are refused.


def checked(frozen: Any, n_columns: int, n_outputs: int, source: str) -> Frozen:
    """Return a booster written anew, after checking all numbers that XGBoost would follow unchecked.

    It is written anew so that XGBoost reads what was checked, even where a key was there twice. Refused is a booster
    with a field that is missing or unknown, or that leads outside.
    """
    try:
        _is(isinstance(frozen, np.ndarray) and frozen.dtype == np.uint8 and frozen.ndim == 1, "not bytes")
        document = json.loads(frozen.tobytes())
        _check_document(document, n_columns, n_outputs)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise UntrustedFileError(
            f"{source}: its XGBoost model cannot be trusted: {error}. It was damaged, made by hand, or written by a "
            "version of XGBoost that is not known here."
        ) from error
    return np.frombuffer(json.dumps(document).encode(), dtype=np.uint8).copy()


def _check_document(document: Any, n_columns: int, n_outputs: int) -> None:
    _has(document, "learner version")
    _is(tuple(_ints(document["version"], 3, 0, 1_000)) >= OLDEST_VERSION, "a version that is not known")
    learner = document["learner"]
    _has(learner, "attributes feature_names feature_types gradient_booster learner_model_param objective")
    _is(learner["attributes"] == {} and learner["feature_names"] == [], "attributes")
    types = learner["feature_types"]
    _is(types == [] or (len(types) == n_columns and set(types) <= {"c", "q"}), "feature_types")
    objective = learner["objective"]
    by_class = objective["name"] == "multi:softprob"
    _is(by_class or objective["name"] in ("reg:squarederror", "binary:logistic"), "objective")
    classes, scale = {"num_class": str(n_outputs)}, {"scale_pos_weight": "1"}
    known = {"softmax_multiclass_param": classes} if by_class else {"reg_loss_param": scale}
    _is(objective == {"name": objective["name"]} | known, "objective")
    sizes = learner["learner_model_param"]
    _has(sizes, "base_score boost_from_average num_class num_feature num_target")
    _is(sizes["num_feature"] == str(n_columns), "num_feature")
    _is(sizes["num_class"] == (str(n_outputs) if by_class else "0"), "num_class")
    _is(sizes["num_target"] == ("1" if by_class else str(n_outputs)), "num_target")
    _is(sizes["boost_from_average"] in ("0", "1"), "boost_from_average")
    _is(len(sizes["base_score"]) < 64 * n_outputs, "base_score")
    _floats(json.loads(sizes["base_score"]), n_outputs)
    _has(learner["gradient_booster"], "model name")
    _is(learner["gradient_booster"]["name"] == "gbtree", "gradient_booster")
    model = learner["gradient_booster"]["model"]
    _has(model, "cats gbtree_model_param iteration_indptr tree_info trees")
    _is(all(part == [] for part in model["cats"].values()), "cats")
    trees = model["trees"]
    vector = n_outputs if n_outputs > 1 and "leaf_weights" in trees[0] else 1
    _is(model["gbtree_model_param"] == {"num_parallel_tree": "1", "num_trees": str(len(trees))}, "num_trees")
    _ints(model["tree_info"], len(trees), 0, n_outputs if vector == 1 else 1)
    until = _ints(model["iteration_indptr"], None, 0, len(trees) + 1)
    _is(until[0] == 0 and until[-1] == len(trees) and bool((np.diff(until) >= 0).all()), "iteration_indptr")
    bits = 0
    for number, tree in enumerate(trees):
        _is(tree["id"] == number and type(tree["id"]) is int, "id of a tree")
        bits += _check_tree(tree, n_columns, vector)
    _is(bits < MOST_CATEGORY_BITS, "more categories than can be kept")


def _check_tree(tree: Any, n_columns: int, vector: int) -> int:
    """Check a tree, and return how many bits XGBoost will keep for its categories."""
    _has(
        tree,
        "base_weights categories categories_nodes categories_segments categories_sizes default_left id left_children "
        "loss_changes parents right_children split_conditions split_indices split_type sum_hessian tree_param"
        + " leaf_weights"
        * (vector > 1),
    )
    n = len(tree["left_children"])
    sizes = {"num_deleted": "0", "num_feature": n_columns, "num_nodes": n, "size_leaf_vector": vector}
    _is(tree["tree_param"] == {name: str(size) for name, size in sizes.items()}, "tree_param")
    left, right = _ints(tree["left_children"], n, -1, n), _ints(tree["right_children"], n, -1, n)
    parents = _ints(tree["parents"], n, -1, 2**31)
    _ints(tree["default_left"], n, 0, 2)
    _ints(tree["split_indices"], n, 0, n_columns)
    by_category = _ints(tree["split_type"], n, 0, 2) == 1
    for name in ("loss_changes", "split_conditions", "sum_hessian"):
        _floats(tree[name], n)
    _floats(tree["base_weights"], n * vector)

    leaves = left == -1
    inner = np.flatnonzero(~leaves)
    children = np.concatenate([left[inner], right[inner]])
    _is(np.array_equal(np.sort(children), np.arange(1, n)), "a node that is not the child of one other")
    _is(bool((children > np.tile(inner, 2)).all()), "a child that does not come after its parent")
    _is(np.array_equal(parents[children], np.tile(inner, 2)) and int(parents[0]) in (-1, 2**31 - 1), "parents")
    if vector == 1:
        _is(bool((right[leaves] == -1).all()), "a leaf with a child")
    else:  # the number of a leaf's right child says where its values are
        _is(np.array_equal(np.sort(right[leaves]), np.arange(leaves.sum())), "leaves without values")
        _floats(tree["leaf_weights"], int(leaves.sum()) * vector)

    nodes = np.flatnonzero(by_category)
    _is(not leaves[nodes].any(), "a leaf that is split")
    _is(np.array_equal(_ints(tree["categories_nodes"], len(nodes), 0, n), nodes), "categories_nodes")
    categories = _ints(tree["categories"], None, 0, MOST_CATEGORY_BITS)
    counts = _ints(tree["categories_sizes"], len(nodes), 1, len(categories) + 1)
    starts = _ints(tree["categories_segments"], len(nodes), 0, len(categories) + 1)
    _is(np.array_equal(np.append(starts, len(categories)), np.append(0, counts.cumsum())), "categories_segments")
    highest = np.maximum.reduceat(categories, starts) if len(nodes) else categories
    return int(highest.sum())


def _ints(values: Any, length: int | None, least: int, below: int) -> NDArray[np.int64]:
    """Return values as an array, after checking that they are whole numbers of a range, and how many they are."""
    _is(isinstance(values, list), "a list is missing")
    _is(length is None or len(values) == length, f"{len(values)} numbers in place of {length}")
    _is(set(map(type, values)) <= {int}, "something else than whole numbers")
    _is(not values or (min(values) >= least and max(values) < below), f"a number outside {least} to {below - 1}")
    return np.array(values, dtype=np.int64)


def _floats(values: Any, length: int) -> None:
    _is(isinstance(values, list) and len(values) == length, "a list of another length")
    _is(set(map(type, values)) <= {float} and all(abs(x) <= LARGEST for x in values), "something else than numbers")


def _has(fields: Any, names: str) -> None:
    _is(isinstance(fields, dict) and sorted(fields) == sorted(names.split()), f"other fields than {names}")


def _is(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


# Classifiers of XGBoost's histogram trees: a tree, and a small boosted ensemble, on a table that is binned once.

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

    # With two classes there is one raw score: the second class is answered where it is larger than this.
    _threshold: ClassVar[float] = 0.0

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

    def _codes(self, margins: Margins) -> NDArray[np.intp]:
        if margins.ndim == 1:
            return (margins > self._threshold).astype(np.intp)
        codes: NDArray[np.intp] = margins.argmax(axis=1)
        return codes

    def _margins(self, X: Any) -> Iterator[Margins]:
        """Yield the raw scores: those of a binned table at once, those of new rows block by block."""
        binned = isinstance(X, BinnedTable)
        X = X if binned else self._checked_new(X)
        n_rows = _num_samples(X)
        if self.booster_ is None:
            yield np.zeros((n_rows, 1), np.float32)
            return
        recalled = X.recall(self.booster_) if binned else None
        if recalled is not None:
            yield recalled
            return
        booster = thaw(self.booster_, self._n_threads())
        if binned:
            yield booster.predict(X.matrix, output_margin=True)
            return
        for rows in blocks(n_rows, PREDICTED_ROWS):
            yield booster.inplace_predict(take_rows(X, rows), predict_type="margin")

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
    _threshold: ClassVar[float] = 0.5

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

    def _probabilities(self, margins: Margins) -> Floats:
        exact = margins.astype(np.float64)
        if margins.ndim == 1:
            share = expit(exact)
            return np.column_stack([1.0 - share, share])
        out: Floats = softmax(exact, axis=1)
        return out
