"""Turn the columns of a file, a data frame or an array into features, in the same way every time."""

from __future__ import annotations

import datetime as dt
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.errors import AssistLearnWarning, ColumnsError, TableError, did_you_mean, listed
from assistlearn.tables.kinds import NO_FEATURE, Notation, blank_to_null, column_of, of_kind, unread_dates
from assistlearn.tables.schema import Column, Kind, Schema, columns_called
from assistlearn.tables.settings import PreprocessingSettings

# Feature columns as a learner's pipeline needs them: missing values are null, and no number is infinite.
#
# Tables from files and data frames are treated in the same way.


def cleaned(values: pl.Series, missing_values: Sequence[str] = ()) -> pl.Series:
    """Return the values with null for every missing one.

    >>> cleaned(pl.Series([" a", "NA", ""]), ["NA"]).to_list()
    ['a', None, None]
    """
    if values.dtype in (pl.Categorical, pl.Enum, pl.String):
        return blank_to_null(values, missing_values)
    has_nan = values.dtype.is_float() and values.is_nan().any()
    return values.fill_nan(None) if has_nan else values  # a copy only where it is needed


def without_values(columns: Mapping[str, pl.Series], source: str) -> tuple[str, ...]:
    """Return the columns without any value: they teach nothing, and some learners fail on them."""
    empty = tuple(name for name, values in columns.items() if values.null_count() == len(values))
    if empty and len(empty) == len(columns):
        raise TableError(
            f"{source}: the features {listed(empty)} have no value in any row. Fill the table, or choose other "
            "features."
        )
    return empty


def feature(values: pl.Series, column: Column, source: str) -> pl.Series:
    """Return cleaned values as a column of this kind. Values that do not fit, and infinite numbers, are refused."""
    made = of_kind(values, column, source)
    if column.kind is Kind.NUMBER and not made.is_finite().all():
        infinite = made.is_infinite()
        raise TableError(
            f"{source}: column {column.name!r} has {infinite.sum():,} infinite values (first: row "
            f"{infinite.arg_true()[0] + 1}). Replace them by finite numbers, or leave them empty."
        )
    return made


# Turn the columns of a data frame or an array into Polars series, like the columns that are read from a file.
#
# pandas has several types for the same thing, and columns of any objects. The objects decide what a column becomes:
#
# =====================================================  ==========================
# what the values of a column of objects are             what it becomes
# =====================================================  ==========================
# numbers, ``Decimal`` included                          numbers
# ``True`` and ``False``                                 booleans
# dates and moments; durations                           moments in UTC; durations
# text; text among numbers, booleans and dates           text
# anything else: lists, dicts, bytes, ...                refused
# =====================================================  ==========================


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


# How the columns of a data frame are read: their kinds are found once, and later frames are read in the same way.


@dataclass(frozen=True)
class FrameReader:
    """The kinds of the columns of a frame, by which later frames are read.

    Columns are found by position; the caller checks their names.

    Attributes
    ----------
    names, kinds : tuple of str
        The feature columns and their kinds.
    narrow : tuple of bool
        For each of them, whether 32 bits hold all its numbers exactly.
    positions : tuple of int
        Where they stand in a frame.
    left_out : tuple of str
        The columns that had no value in any row.
    missing_values : tuple of str
        The texts that mean a missing value.
    dates : str or mapping from str to str
        How dates in text are written, if not as ISO dates: one form, or one for each column.
    decimal : {".", ","}
        What stands before the fraction of a number in text.

    Examples
    --------
    >>> frame = pl.DataFrame({"age": ["41", "?"], "town": ["Ulm", None], "empty": [None, None]})
    >>> reader = FrameReader.found_in(frame, PreprocessingSettings(), "X")
    >>> reader.by_name, reader.left_out
    ({'age': 'number', 'town': 'category'}, ('empty',))
    >>> reader.read(frame, "X").rows()
    [(41.0, 'Ulm'), (None, None)]
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    narrow: tuple[bool, ...]
    positions: tuple[int, ...]
    left_out: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    dates: str | Mapping[str, str] = ""
    decimal: str = "."

    @classmethod
    def found_in(cls, X: Any, settings: PreprocessingSettings, source: str, *, read_text: bool = True) -> FrameReader:
        """Find the kinds of the columns of a frame or an array, and return a reader for them.

        Parameters
        ----------
        X : data frame or ndarray
            With two dimensions.
        settings : PreprocessingSettings
            Which columns are codes, which texts mean a missing value, and whether dates are an error.
        source : str
            Whose columns these are, for error messages.
        read_text : bool, default=True
            Whether text that is numbers, booleans or dates is read as such, as in a CSV file.
        """
        marks = tuple(settings.missing_values) if read_text else ()
        raw = frame_columns(X, source)
        codes = _codes(settings.as_category, list(raw), source)
        notation = Notation.of(settings) if read_text else Notation()
        with _parameters_named():
            notation.check(list(raw), source)
            columns = {
                name: _in_notation(_cleaned(values, marks), Notation() if name in codes else notation, source)
                for name, values in raw.items()
            }
            left_out = without_values(columns, source)
            found = [
                column_of(columns[name], name in codes, read_text and raw[name].dtype == pl.String, source)
                for name in raw
                if name not in left_out
            ]
        _check_dates(found, settings, source)
        if read_text:
            texts = [column.name for column in found if column.kind is Kind.CATEGORY and column.name not in codes]
            _warn_of_dates({name: columns[name] for name in texts if raw[name].dtype == pl.String}, source)
        positions = tuple(place for place, name in enumerate(raw) if name not in left_out)
        names, kinds = tuple(column.name for column in found), tuple(str(column.kind) for column in found)
        return cls(
            names,
            kinds,
            tuple(column.narrow for column in found),
            positions,
            left_out,
            marks,
            notation.dates,
            notation.decimal,
        )

    @property
    def schema(self) -> Schema:
        """The feature columns and their kinds."""
        kinds = map(Kind, self.kinds)
        return Schema(tuple(Column(*column) for column in zip(self.names, kinds, self.narrow, strict=True)))

    @property
    def by_name(self) -> dict[str, str]:
        """The kind of each column."""
        return dict(zip(self.names, self.kinds, strict=True))

    def read(self, X: Any, source: str) -> pl.DataFrame:
        """Return the columns as numbers (floats) and categories (text), with null for what is missing."""
        raw = list(frame_columns(X, source).values())
        notation = Notation(self.dates, self.decimal)
        with _parameters_named():
            return pl.DataFrame(
                [
                    feature(
                        _in_notation(_cleaned(raw[place], self.missing_values), notation, source, column.kind),
                        column,
                        source,
                    )
                    for place, column in zip(self.positions, self.schema.columns, strict=True)
                ]
            )


def _in_notation(values: pl.Series, notation: Notation, source: str, known: Kind | None = None) -> pl.Series:
    if notation.is_usual:
        return values
    return notation.read(values, source, values.dtype == pl.String, known)


def _warn_of_dates(texts: Mapping[str, pl.Series], source: str) -> None:
    """Warn of dates in text that nobody said how to read: each day would be a category of its own."""
    for each in unread_dates(texts):
        forms = [f"TablePreprocessor(dates={{{each.column!r}: {form!r}}})" for form in each.forms]
        either = "The day or the month may come first. " if len(forms) > 1 else ""
        how = f", or say how they are written: {' or '.join(forms)}" if forms else ""
        warnings.warn(
            f"{source}: column {each.column!r} holds dates in text ({each.example!r}), so that each day is a category "
            f"of its own. {either}Make dates of them first, for example by pandas.to_datetime(..., format=...){how}.",
            AssistLearnWarning,
            stacklevel=3,
        )


def _cleaned(values: pl.Series, marks: Sequence[str]) -> pl.Series:
    return cleaned(values, marks if values.dtype == pl.String else ())


def _codes(wanted: Sequence[str], names: Sequence[str], source: str) -> set[str]:
    """Return the columns whose values are codes."""
    meant: Mapping[str, list[str]] = {each: columns_called(each, names) for each in wanted}
    for each, columns in meant.items():
        if not columns:
            raise ColumnsError(
                f"{source}: there is no column {each!r} (as_category).{did_you_mean(each, names)} The columns are "
                f"{listed(names)}."
            )
    return {name for columns in meant.values() for name in columns}


def _check_dates(columns: Sequence[Column], settings: PreprocessingSettings, source: str) -> None:
    dates = [column.name for column in columns if column.kind is Kind.DATE]
    if dates and settings.dates == "refuse":
        raise ColumnsError(
            f"{source}: column {dates[0]!r} holds dates, and dates='refuse'. Leave it out, or pass 'days'."
        )


@contextmanager
def _parameters_named() -> Iterator[None]:
    """Where an error names keys of an agent's file, add that they are parameters in Python."""
    try:
        yield
    except TableError as error:
        if "preprocessing." not in str(error):
            raise
        raise TableError(f"{error} In Python these are parameters of TablePreprocessor.") from None
