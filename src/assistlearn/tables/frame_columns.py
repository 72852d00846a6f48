"""Turn the columns of a data frame or an array into Polars series, like the columns that are read from a file.

pandas has several types for the same thing, and columns of any objects. The objects decide what a column becomes:

=====================================================  ==========================
what the values of a column of objects are             what it becomes
=====================================================  ==========================
numbers, ``Decimal`` included                          numbers
``True`` and ``False``                                 booleans
dates and moments; durations                           moments in UTC; durations
text; text among numbers, booleans and dates           text
anything else: lists, dicts, bytes, ...                refused
=====================================================  ==========================
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.agent_files.suggestion import listed
from assistlearn.errors import ColumnsError
from assistlearn.tables.kinds import NO_FEATURE


def frame_columns(X: Any, source: str) -> dict[str, pl.Series]:
    """Return the columns of a pandas or Polars data frame or of an array, by name; an array has ``x0``, ``x1``, ...

    Parameters
    ----------
    X : data frame or ndarray
        With two dimensions.
    source : str
        Whose columns these are, for error messages.

    Examples
    --------
    >>> columns = frame_columns(np.array([["a", 1], ["b", None]], dtype=object), "X")
    >>> {name: (str(values.dtype), values.to_list()) for name, values in columns.items()}
    {'x0': ('String', ['a', 'b']), 'x1': ('Float64', [1.0, None])}
    """
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else [f"x{n}" for n in range(X.shape[1])]
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ColumnsError(f"{source}: {listed(twice)} is the name of more than one column. Give each its own.")
    return {name: _series(name, column, source) for name, column in zip(names, _columns(X), strict=True)}


def _columns(X: Any) -> Iterator[Any]:
    if hasattr(X, "iloc"):
        yield from (X.iloc[:, place] for place in range(X.shape[1]))
    elif hasattr(X, "get_columns"):
        yield from X.get_columns()
    else:
        yield from X.T


def _series(name: str, column: Any, source: str) -> pl.Series:
    if isinstance(column, pl.Series):
        values = _of_objects(name, column.to_list(), source) if column.dtype == pl.Object else column
    elif isinstance(column, np.ndarray):
        values = _of_array(name, column, source)
    else:
        values = _of_pandas(name, column, source)
    if isinstance(values.dtype, NO_FEATURE):
        raise ColumnsError(
            f"{source}: column {name!r} is of type {values.dtype}, which cannot be a feature. Leave it out, or turn it "
            "into numbers or text."
        )
    return values


def _of_array(name: str, values: NDArray[Any], source: str) -> pl.Series:
    kind = values.dtype.kind
    if kind in "biu" or (kind == "f" and values.dtype.itemsize in (4, 8)):
        return pl.Series(name, np.ascontiguousarray(values))
    if kind == "f":
        return pl.Series(name, values.astype(np.float64 if values.dtype.itemsize > 8 else np.float32))
    if kind in "Mm":
        return pl.Series(name, values.astype("datetime64[us]" if kind == "M" else "timedelta64[us]"))
    return _of_objects(name, values.tolist(), source)


def _of_pandas(name: str, column: Any, source: str) -> pl.Series:
    """Return a column of pandas as a series; its type may be one of numpy, of pandas or of Arrow."""
    dtype = column.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow

        return pl.Series(name, pl.from_arrow(pyarrow.array(column)))
    if hasattr(dtype, "categories"):
        return _of_categories(name, column)
    if hasattr(dtype, "freq"):  # periods
        return _of_pandas(name, column.dt.to_timestamp(), source)
    if getattr(dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    missing = column.isna().to_numpy()
    if dtype.kind in "biuf" and hasattr(dtype, "numpy_dtype"):
        known = column.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return _of_array(name, known, source).set(pl.Series(missing), None)
    if dtype.kind in "biufMm":
        return _of_array(name, column.to_numpy(), source)
    values = np.array(column, dtype=object)
    values[missing] = None
    return _of_objects(name, values.tolist(), source)


def _of_categories(name: str, column: Any) -> pl.Series:
    """Return categories as text of a categorical type, so that they are not read as numbers or dates."""
    known = [_word(value) for value in column.cat.categories.tolist()]
    words = np.array([*known, None], dtype=object)[column.cat.codes.to_numpy()]
    return pl.Series(name, words.tolist(), dtype=pl.String).cast(pl.Categorical)


def _of_objects(name: str, values: Sequence[Any], source: str) -> pl.Series:
    if {*map(type, values)} <= {str, type(None)}:
        return pl.Series(name, values, dtype=pl.String)
    known = [None if _is_gap(value) else value for value in values]
    sorts = {_sort(value) for value in known if value is not None}
    if None in sorts:
        row = next(n for n, value in enumerate(known) if value is not None and _sort(value) is None)
        raise ColumnsError(
            f"{source}: column {name!r} holds a value of type {type(known[row]).__name__} (row {row + 1}), which "
            "cannot be a feature. Leave the column out, or turn it into numbers or text."
        )
    if not sorts:
        return pl.Series(name, known, dtype=pl.Null)
    if sorts == {"boolean"}:
        return pl.Series(name, [None if value is None else bool(value) for value in known], dtype=pl.Boolean)
    if sorts <= {"number", "boolean"}:
        return pl.Series(name, [None if value is None else _number(value) for value in known], dtype=pl.Float64)
    if sorts == {"moment"}:
        return pl.Series(name, [None if v is None else _moment(v) for v in known], dtype=pl.Datetime("us"))
    if sorts == {"duration"}:
        return pl.Series(name, [None if v is None else _duration(v) for v in known], dtype=pl.Duration("us"))
    return pl.Series(name, [None if value is None else _word(value) for value in known], dtype=pl.String)


_SORTS = {
    "boolean": (bool, np.bool_),
    "duration": (dt.timedelta, np.timedelta64),  # before numbers: timedelta64 counts as a number, too
    "number": (Real, Decimal),
    "text": (str,),
    "moment": (dt.date, np.datetime64),
}


@cache
def _sort_of(kind: Any) -> str | None:
    return next((sort for sort, types in _SORTS.items() if issubclass(kind, types)), None)


def _sort(value: Any) -> str | None:
    kind: Any = type(value)
    return _sort_of(kind)


def may_be_features(values: Iterable[Any]) -> bool:
    """Return whether each of these objects may be a value of a feature.

    >>> may_be_features([1, None, "a"]), may_be_features([{"a": 1}])
    (True, False)
    """
    return all(_is_gap(value) or _sort(value) is not None for value in values)


def _is_gap(value: Any) -> bool:
    """Return whether a value is missing: None, not a number (NaN), or the equivalents of pandas and numpy."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return False
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, Real | Decimal) and value != value


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits; infinite numbers are refused later
        return float("inf")


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, np.datetime64):
        moment: dt.datetime = value.astype("datetime64[us]").item()
        return moment
    if not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)


def _duration(value: Any) -> dt.timedelta:
    made: dt.timedelta = value.astype("timedelta64[us]").item() if isinstance(value, np.timedelta64) else value
    return made


def _word(value: Any) -> str:
    """Return a value as the text that a CSV file would have for it."""
    sort = _sort(value)
    if sort == "boolean":
        return str(value).lower()
    if sort == "number" and not isinstance(value, Decimal) and value % 1 == 0:
        return str(int(value))  # 3.0 and 3 are one code
    if sort == "moment":
        return str(_moment(value).isoformat())
    return str(value)
