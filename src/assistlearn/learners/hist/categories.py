"""Categorical columns of a data frame (pandas or polars) as numbers, the same in training and in prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from assistlearn.errors import SettingsError

Categories: TypeAlias = list[NDArray[Any] | None]
"""For every column its categories in the order of their codes; None for a column of numbers."""


def has_categories(X: Any) -> bool:
    """Whether a table is a data frame with a categorical column.

    >>> import pandas
    >>> has_categories(pandas.DataFrame({"a": [1.0]})), has_categories(pandas.DataFrame({"a": ["x"]}, dtype="category"))
    (False, True)
    """
    return _is_frame(X) and any(_is_categorical(column) for _, column in _columns(X))


def find_categories(X: Any) -> Categories:
    """Return the categories of a data frame's columns.

    >>> import pandas
    >>> find_categories(pandas.DataFrame({"a": [1.0, 2.0], "b": pandas.Categorical(["y", "x"])}))
    [None, array(['x', 'y'], dtype='<U1')]
    """
    return [_split(column, name)[0] if _is_categorical(column) else None for name, column in _columns(X)]


def to_numbers(X: Any, known: Sequence[NDArray[Any] | None]) -> NDArray[np.float32]:
    """Return a data frame as an array, every category as its code. An unknown category counts as missing.

    >>> import pandas
    >>> frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": pandas.Categorical(["y", "x", "z"])})
    >>> to_numbers(frame, [None, np.array(["x", "y"])])
    array([[ 1.,  1.],
           [ 2.,  0.],
           [ 3., nan]], dtype=float32)
    """
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
    """Return the codes of a column's values among the known categories."""
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
    """Yield the names and the columns of a data frame."""
    for position, name in enumerate(X.columns):
        yield str(name), X.iloc[:, position] if hasattr(X, "iloc") else X.to_series(position)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_series"))


def _is_categorical(column: Any) -> bool:
    return str(column.dtype).partition("(")[0] in ("category", "Categorical", "Enum")
