"""Decide whether a learner gets its columns unchanged, or prepared.

=======================================  ===================================================================
the learner gets its columns             when
=======================================  ===================================================================
unchanged, whatever they hold            it has steps of its own (a pipeline, a ``ColumnTransformer``), or says
                                         that it accepts text
unchanged                                all are numbers or booleans, without gaps
unchanged                                there are gaps, and it says that it accepts missing values
unchanged                                some are of a categorical data type, and it encodes those itself
prepared, all of them                    anything else: text, dates, objects, decimals, other categories or gaps
=======================================  ===================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

from assistlearn.learners.hist import HistBoostClassifier, HistTreeClassifier
from assistlearn.tables.frame_columns import may_be_features
from assistlearn.tables.preprocessing import has_own_steps, inner_learners

_NUMBERS = (
    *(pl.Float32, pl.Float64, pl.Boolean),
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
)


def takes_kinds(learner: Any, own: Any) -> bool:
    """Return whether a learner accepts columns of these kinds. Missing values are not looked at.

    Parameters
    ----------
    learner : scikit-learn classifier
        With or without steps of its own.
    own : data frame, ndarray or sparse matrix
        Its columns.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> frame = pl.DataFrame({"town": ["Ulm", "Bern"]})
    >>> takes_kinds(DecisionTreeClassifier(), frame)
    False
    >>> towns = frame.cast(pl.Categorical)
    >>> takes_kinds(DecisionTreeClassifier(), towns), takes_kinds(HistGradientBoostingClassifier(), towns)
    (False, True)
    """
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
    """Return whether a learner encodes a column of a categorical data type itself."""
    if isinstance(learner, HistGradientBoostingClassifier):
        from_dtype = isinstance(learner.categorical_features, str) and learner.categorical_features == "from_dtype"
        return from_dtype and n_categories <= learner.max_bins
    if isinstance(learner, HistTreeClassifier | HistBoostClassifier) or getattr(learner, "enable_categorical", False):
        return True
    inside = list(inner_learners(learner))
    return bool(inside) and all(takes_categories(part, n_categories) for part in inside)


def has_gaps(own: Any) -> bool:
    """Return whether any value is missing.

    >>> has_gaps(pl.DataFrame({"a": [1, None]})), has_gaps(np.zeros((2, 2)))
    (True, False)
    """
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
