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

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
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
from sklearn.utils.validation import (
    _check_feature_names_in,
    _num_samples,
    check_array,
    check_is_fitted,
    validate_data,
)

from assistlearn.errors import ColumnsError, SettingsError, WrongKeyError, listed
from assistlearn.learners.hist import HistBoostClassifier, HistTreeClassifier
from assistlearn.learners.learner import BestOf
from assistlearn.tables.columns import FrameReader, may_be_features
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


# TablePreprocessor: data frames with text, dates, booleans and gaps become numbers, in scikit-learn's manner.


_Encoding = Literal["one-hot", "ordinal"]
_Scale = Literal["standard", "minmax", "none"]

_CHOICES: dict[str, tuple[Any, ...]] = {
    "categories": get_args(_Encoding),
    "missing": ("impute", "keep"),
    "scale": get_args(_Scale),
    "decimal": (".", ","),
    "text": ("read", "category"),
}


class TablePreprocessor(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a table of text, categories, dates, booleans and numbers with gaps into numbers.

    It is the preprocessing of the command line: the same rules say what a column is, and the same transformers of
    scikit-learn make numbers of it. :class:`~assistlearn.AssistedClassifier` puts it before learners that
    cannot take their columns as they are. With the default settings it suits linear models, networks and neighbours.
    For another learner use :meth:`for_learner`.

    Parameters
    ----------
    categories : {"one-hot", "ordinal"}, default="one-hot"
        One column for each category, or one column of codes. A category that ``fit`` has not seen counts as a rare
        one, or as none at all; a missing one is a category of its own.
    max_categories : int, default=20
        How many values of a column are told apart; the rarest share one.
    as_category : sequence of str, default=()
        Columns, by name or pattern, whose numbers are codes and not amounts. Columns of a categorical data type are
        categories anyway.
    missing : {"impute", "keep"}, default="impute"
        Fill missing numbers with the median, and add a column that says where they were missing; or keep them missing.
    missing_values : sequence of str, default=("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
        Words that stand for a missing value. Empty text always does.
    scale : {"standard", "minmax", "none"}, default="standard"
        Bring numbers to mean zero and variance one, bring them between 0 and 1, or leave them as they are.
    dates : {"days", "refuse"}, str or dict from str to str, default="days"
        Turn dates and moments into days since 1970 (UTC), or refuse them. Or say how dates in text are written, if not
        as ``2020-02-29``: one form for all columns, ``"dd.mm.yyyy"``, or one for each column, by name or pattern.
    decimal : {".", ","}, default="."
        What stands before the fraction of a number in text.
    text : {"read", "category"}, default="read"
        Read a column of text that is all numbers, booleans or ISO dates as such, as in a CSV file; or treat all text as
        categories, as in a Parquet file.

    Attributes
    ----------
    kinds_ : dict of str to str
        What each column is: ``"number"``, ``"boolean"``, ``"date"`` or ``"category"``.
    left_out_ : tuple of str
        Columns that had no value in any row. They are not used.
    transformer_ : ColumnTransformer
        The fitted transformers of scikit-learn.
    n_features_in_ : int
        The number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are all strings.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [41, None, 67], "town": ["Ulm", "Bern", None], "since": ["2020-02-29", "", "?"]})
    >>> prepare = TablePreprocessor(scale="none").fit(frame)
    >>> prepare.kinds_
    {'age': 'number', 'town': 'category', 'since': 'date'}
    >>> list(prepare.get_feature_names_out())
    ['age', 'since', 'missingindicator_age', 'missingindicator_since', 'town_Bern', 'town_Ulm', 'town_None']
    >>> prepare.transform(frame)
    array([[4.1000e+01, 1.8321e+04, 0.0000e+00, 0.0000e+00, 0.0000e+00, 1.0000e+00, 0.0000e+00],
           [5.4000e+01, 1.8321e+04, 1.0000e+00, 1.0000e+00, 1.0000e+00, 0.0000e+00, 0.0000e+00],
           [6.7000e+01, 1.8321e+04, 0.0000e+00, 1.0000e+00, 0.0000e+00, 0.0000e+00, 1.0000e+00]])
    """

    def __init__(
        self,
        *,
        categories: str = "one-hot",
        max_categories: int = PreprocessingSettings().max_categories,
        as_category: Sequence[str] = (),
        missing: str = "impute",
        missing_values: Sequence[str] = PreprocessingSettings().missing_values,
        scale: str = "standard",
        dates: str | Mapping[str, str] = "days",
        decimal: str = ".",
        text: str = "read",
    ) -> None:
        self.categories = categories
        self.max_categories = max_categories
        self.as_category = as_category
        self.missing = missing
        self.missing_values = missing_values
        self.scale = scale
        self.dates = dates
        self.decimal = decimal
        self.text = text

    @classmethod
    def for_learner(cls, learner: Any, **parameters: Any) -> Self:
        """Return a preprocessor that suits a learner, with the choices of the default preprocessing.

        Parameters
        ----------
        learner : scikit-learn classifier
            Trees get codes, and all others one column for each category. Learners that take missing values get them.
            All but trees get scaled numbers.
        **parameters : dict
            Parameters to set differently.

        Returns
        -------
        preprocessor : TablePreprocessor
            Unfitted.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> TablePreprocessor.for_learner(DecisionTreeClassifier(), as_category=["zip"])
        TablePreprocessor(as_category=['zip'], categories='ordinal', missing='keep', scale='none')
        """
        steps = steps_for(learner, PreprocessingSettings())
        missing = "impute" if steps.impute else "keep"
        return cls(**{"categories": steps.categories, "missing": missing, "scale": steps.scale} | parameters)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out what the columns are, and learn medians, scales and categories.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_columns)
            pandas, Polars or NumPy.
        y : None
            Not used.

        Returns
        -------
        self : TablePreprocessor
            Fitted.
        """
        settings = self._settings()
        X = self._checked(X, reset=True)
        self._reader = FrameReader.found_in(X, settings, "X", read_text=self.text == "read")
        self.kinds_, self.left_out_ = self._reader.by_name, self._reader.left_out
        steps = self._steps().transformer(self._reader.schema).set_output(transform="default")
        self.transformer_ = steps.fit(self._reader.read(X, "X"))
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the columns as numbers.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_columns)
            The columns of ``fit``.

        Returns
        -------
        numbers : ndarray of shape (n_samples, n_columns_out), or what ``set_output`` says
            :meth:`get_feature_names_out` has the names of its columns.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        numbers: NDArray[Any] = self.transformer_.transform(self._reader.read(X, "X"))
        return numbers

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that :meth:`transform` makes.

        Parameters
        ----------
        input_features : array-like of str, default=None
            The names of the columns of ``X``, where it had none in ``fit``.

        Returns
        -------
        names : ndarray of str
            A column of numbers or codes keeps its name. A column that marks missing numbers is called
            ``missingindicator_`` and the name of their column. A column for one category is called by the name of its
            column, ``_`` and the category. Where two names would be the same, all begin with ``numbers__`` or
            ``categories__``.
        """
        check_is_fitted(self)
        given = np.asarray(_check_feature_names_in(self, input_features), dtype=object)
        by_branch = {}
        for branch, fitted, columns in self.transformer_.transformers_:
            names = given[[self._reader.positions[self._reader.names.index(column)] for column in columns]]
            by_branch[branch] = _names_out(fitted, names)
        out = [name for names in by_branch.values() for name in names]
        if len(set(out)) < len(out):
            out = [f"{branch}__{name}" for branch, names in by_branch.items() for name in names]
        return np.asarray(out, dtype=object)

    def _checked(self, X: Any, reset: bool) -> Any:
        if not hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_all_finite=False, estimator=self, input_name="X")
        elif _num_samples(X) == 0:
            raise SettingsError("X has 0 sample(s) (rows), while a minimum of 1 is required.")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _settings(self) -> PreprocessingSettings:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise SettingsError(f"{name}={getattr(self, name)!r} must be one of {', '.join(map(repr, choices))}.")
        if isinstance(self.max_categories, bool) or not isinstance(self.max_categories, int | np.integer):
            raise SettingsError(f"max_categories={self.max_categories!r} must be a whole number.")
        if self.max_categories < 2:
            raise SettingsError(f"max_categories={self.max_categories!r} must be 2 or more.")
        for name in ("as_category", "missing_values"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(each, str) for each in given):
                raise SettingsError(f"{name}={given!r} must be a list of text.")
        if not isinstance(self.dates, str | Mapping):
            raise SettingsError(
                f"dates={self.dates!r} must be 'days', 'refuse', a form such as 'dd.mm.yyyy', or a dict."
            )
        try:
            return PreprocessingSettings(
                as_category=tuple(self.as_category),
                missing_values=tuple(self.missing_values),
                dates=self.dates,
                decimal="," if self.decimal == "," else ".",
            )
        except WrongKeyError as error:
            raise SettingsError(str(error).removeprefix("preprocessing.")) from None

    def _steps(self) -> Steps:
        impute = self.missing == "impute"
        encoding: _Encoding = "ordinal" if self.categories == "ordinal" else "one-hot"
        scale: _Scale = "none" if self.scale == "none" else "minmax" if self.scale == "minmax" else "standard"
        return Steps(encoding, int(self.max_categories), impute, scale, -1 if impute else np.nan)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags


def _names_out(fitted: Any, names: NDArray[np.object_]) -> Sequence[str]:
    if hasattr(fitted, "named_steps"):
        fitted = fitted.named_steps.get("impute", "passthrough")  # scaling changes no name
    if isinstance(fitted, str) or not hasattr(fitted, "get_feature_names_out"):
        return list(names)
    nameless = copy(fitted)  # fitted to a frame, it would refuse all names but the frame's
    vars(nameless).pop("feature_names_in_", None)
    return list(nameless.get_feature_names_out(names))
