"""The default preprocessing: from a table with text and gaps to the numbers that a learner takes.

It is a scikit-learn ``Pipeline`` in front of the learner, made of scikit-learn's own transformers, fitted once on the
agent's training rows. Which steps it has depends on the learner:

============================================  ==============================  =======================  ========
learner                                       missing numbers                 categories               scaled
============================================  ==============================  =======================  ========
takes missing values itself (trees, forests,  left to the learner             ordinal codes            no
histogram boosting, XGBoost)
other trees (gradient boosting, AdaBoost)     median, and a column that says  ordinal codes            no
                                              where they were missing
all others (linear models, networks,          the same                        one column per category  yes
neighbours, Bayes, ...)
============================================  ==============================  =======================  ========

A missing category is a category of its own. A category that training has not seen counts as a rare category, or as no
category. A learner that needs none of these steps (trees on numbers alone) gets an array, and no pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from assistlearn.errors import ColumnsError, listed
from assistlearn.learners.hist import HistBoostClassifier, HistTreeClassifier
from assistlearn.learners.learner import BestOf
from assistlearn.tables.columns import may_be_features
from assistlearn.tables.schema import Schema
from assistlearn.tables.settings import PreprocessingSettings

_FLOAT32_LEARNERS = (DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier)
"""They convert every table to 32 bits in every fit. A table of 32 bits saves that work and gives the same trees."""

_NUMBERS = (
    *(pl.Float32, pl.Float64, pl.Boolean),
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
)


def default_pipeline(schema: Schema, learner: Any, settings: PreprocessingSettings | None = None) -> Any:
    """Return an unfitted pipeline of preprocessing and learner; the learner itself where it needs no preprocessing.

    It is to be fitted to what :func:`learner_rows` returns.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from assistlearn.tables.schema import Column, Kind
    >>> schema = Schema((Column("age", Kind.NUMBER), Column("pulse", Kind.NUMBER)))
    >>> default_pipeline(schema, LogisticRegression())["prepare"].transformers
    [('numbers', Pipeline(steps=[('impute', SimpleImputer(add_indicator=True, keep_empty_features=True,
    strategy='median')), ('scale', StandardScaler())]), ['age', 'pulse'])]
    """
    settings = settings or PreprocessingSettings()
    if not settings.enabled or has_own_steps(learner):
        return learner
    steps = steps_for(learner, settings)
    if steps.leaves_numbers and not schema.categories:
        return learner
    return Pipeline([("prepare", steps.transformer(schema)), ("learner", learner)])


def steps_for(learner: Any, settings: PreprocessingSettings) -> Steps:
    tree_like, keeps_gaps = is_tree_like(learner), takes_missing(learner)
    impute = not keeps_gaps if settings.missing == "auto" else settings.missing == "impute"
    scale = not tree_like if settings.scale == "auto" else settings.scale == "standard"
    # to [0, 1] for learners that refuse negative numbers
    how: Literal["minmax", "standard"] = "minmax" if _tag(learner, "positive_only") else "standard"
    encode: Literal["ordinal", "one-hot"] = "ordinal" if tree_like else "one-hot"
    return Steps(
        categories=encode if settings.categories == "auto" else settings.categories,
        max_categories=settings.max_categories,
        impute=impute,
        scale=how if scale else "none",
        unknown_value=np.nan if keeps_gaps else -1,
    )


@dataclass(frozen=True)
class Steps:
    """How columns are prepared for a learner.

    Missing numbers are filled with the median, and a new column marks where they were missing, if ``impute``. Numbers
    are brought to mean zero and variance one (standard), or between 0 and 1 (minmax). The rarest of more than
    ``max_categories`` values share a category; ``unknown_value`` is the code of one that training has not seen.
    """

    categories: Literal["one-hot", "ordinal"]
    max_categories: int
    impute: bool
    scale: Literal["standard", "minmax", "none"]
    unknown_value: float

    @property
    def leaves_numbers(self) -> bool:
        return not self.impute and self.scale == "none"

    def transformer(self, schema: Schema) -> ColumnTransformer:
        """Return the unfitted transformer. Numbers come first, then categories."""
        branches: list[tuple[str, Any, list[str]]] = []
        if schema.numbers:
            branches.append(("numbers", self._of_numbers(), schema.numbers))
        if schema.categories:
            branches.append(("categories", self._encoder(), schema.categories))
        return ColumnTransformer(branches, sparse_threshold=0.0)

    def _of_numbers(self) -> Any:
        if self.leaves_numbers:
            return "passthrough"
        steps: list[tuple[str, Any]] = []
        if self.impute:
            steps.append(("impute", SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)))
        if self.scale != "none":
            steps.append(("scale", MinMaxScaler(clip=True) if self.scale == "minmax" else StandardScaler()))
        return Pipeline(steps)

    def _encoder(self) -> Any:
        if self.categories == "one-hot":
            return OneHotEncoder(
                max_categories=self.max_categories, handle_unknown="infrequent_if_exist", sparse_output=False
            )
        return OrdinalEncoder(
            max_categories=self.max_categories,
            handle_unknown="use_encoded_value",
            unknown_value=self.unknown_value,
        )


def learner_rows(estimator: Any, features: pl.DataFrame) -> pl.DataFrame | NDArray[Any]:
    """Return features in the form that an estimator needs: a frame for a pipeline, an array for a bare learner."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(last, _FLOAT32_LEARNERS) and not isinstance(estimator, Pipeline):
        features = features.cast({pl.Float64: pl.Float32})
    return features if has_own_steps(estimator) else features.to_numpy()


def check_features(features: pl.DataFrame, schema: Schema, learner: Any, settings: PreprocessingSettings) -> None:
    if settings.enabled or has_own_steps(learner):
        if settings.enabled and takes_codes_only(learner):
            raise ColumnsError(
                f"{type(learner).__name__} takes category codes only, which the default preprocessing does not make. "
                'Write a function that returns a pipeline with your own encoder, and name it: kind = "module:function".'
            )
        return
    remedy = (
        "Exclude them under [features], set preprocessing.enabled = true, or use a learner with a pipeline of its own."
    )
    if schema.categories:
        raise ColumnsError(
            f"The features {listed(schema.categories)} hold text, preprocessing is switched off, and "
            f"{type(learner).__name__} has no encoder. {remedy}"
        )
    missing = [name for name in schema.names if features[name].has_nulls()]
    if missing and not takes_missing(learner):
        raise ColumnsError(
            f"The features {listed(missing)} have missing values, preprocessing is switched off, and "
            f"{type(learner).__name__} does not take them. {remedy}"
        )


def has_own_steps(learner: Any) -> bool:
    """Return whether the learner prepares its columns itself: it is or has a pipeline, or says that it takes text."""
    if isinstance(learner, BestOf):
        return any(has_own_steps(one) for one in learner.estimators)
    parts = [learner, *learner.get_params(deep=True).values()] if hasattr(learner, "get_params") else [learner]
    return any(isinstance(part, Pipeline | ColumnTransformer) for part in parts) or _tag(learner, "string")


def takes_missing(learner: Any) -> bool:
    return _tag(learner, "allow_nan")


def takes_codes_only(learner: Any) -> bool:
    return _tag(learner, "categorical") and _tag(learner, "positive_only")


def is_tree_like(learner: Any) -> bool:
    """Return whether the learner splits columns, so that neither their scale nor the order of codes matters much."""
    if takes_missing(learner) or isinstance(learner, (*_FLOAT32_LEARNERS, GradientBoostingClassifier)):
        return True
    if isinstance(learner, AdaBoostClassifier) and learner.estimator is None:
        return True
    inside = list(inner_learners(learner))
    return bool(inside) and all(is_tree_like(part) for part in inside)


def inner_learners(learner: Any) -> Iterator[Any]:
    """Yield the learners inside, such as the one of a grid search, or all of a vote."""
    own = getattr(learner, "estimator", None)
    if hasattr(own, "fit"):
        yield own
    for part in getattr(learner, "estimators", None) or ():
        yield part[1] if isinstance(part, tuple) else part


def _tag(learner: Any, name: str) -> bool:
    try:
        return bool(getattr(get_tags(learner).input_tags, name))
    except AttributeError:  # it has no such tag
        return False


# Does a learner get its columns in Python unchanged, or prepared? Unchanged, if it has steps of its own or says that it
# accepts text; if all are numbers or booleans, without gaps or with a learner that accepts them; or if the others are
# of a categorical data type that it encodes itself. Otherwise all of them are prepared.


def takes_kinds(learner: Any, own: Any) -> bool:
    """Return whether a learner accepts columns of these kinds. Missing values are not looked at."""
    if sparse.issparse(own) or has_own_steps(learner):
        return True
    if isinstance(own, np.ndarray):  # other objects: the learner itself refuses them
        return _as_floats(own) is not None or (own.dtype.kind == "O" and not may_be_features(own.flat))
    if hasattr(own, "iloc"):
        columns = [own.iloc[:, place] for place in range(own.shape[1])]
        return all(
            takes_categories(learner, len(column.cat.categories)) if hasattr(column.dtype, "categories")
            else column.dtype.kind in "biuf"
            for column in columns
        )  # fmt: skip
    if hasattr(own, "get_columns"):
        return all(
            takes_categories(learner, column.n_unique()) if column.dtype in (pl.Categorical, pl.Enum)
            else column.dtype in _NUMBERS
            for column in own.get_columns()
        )  # fmt: skip
    return True


def takes_categories(learner: Any, n_categories: int) -> bool:
    if isinstance(learner, HistGradientBoostingClassifier):
        from_dtype = isinstance(learner.categorical_features, str) and learner.categorical_features == "from_dtype"
        return from_dtype and n_categories <= learner.max_bins
    if isinstance(learner, HistTreeClassifier | HistBoostClassifier) or getattr(learner, "enable_categorical", False):
        return True
    inside = list(inner_learners(learner))
    return bool(inside) and all(takes_categories(part, n_categories) for part in inside)


def has_gaps(own: Any) -> bool:
    if isinstance(own, np.ndarray):
        floats = _as_floats(own)
        return floats is not None and floats.dtype.kind == "f" and bool(np.isnan(floats).any())
    if hasattr(own, "isna"):
        return bool(own.isna().to_numpy().any())
    if hasattr(own, "get_columns"):
        return any(
            column.has_nulls() or (column.dtype.is_float() and bool(column.is_nan().any()))
            for column in own.get_columns()
        )
    return False


def _as_floats(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return an array as numbers, as scikit-learn would convert it; None where it could not."""
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind != "O":
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
