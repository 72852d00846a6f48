"""TablePreprocessor: data frames with text, dates, booleans and gaps become numbers, in scikit-learn's manner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,
    _num_samples,
    check_array,
    check_is_fitted,
    validate_data,
)

from assistlearn.errors import SettingsError, WrongKeyError
from assistlearn.tables.columns import FrameReader
from assistlearn.tables.preparation import Steps, steps_for
from assistlearn.tables.settings import PreprocessingSettings

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
