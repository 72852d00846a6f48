"""Turn the columns of a data frame or an array into features, as those of a file, and later frames in the same way."""

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
from assistlearn.tables.kinds import NO_FEATURE, Notation, cleaned, column_of, convert, unread_dates, without_values
from assistlearn.tables.schema import Column, Kind, Schema, columns_called
from assistlearn.tables.settings import PreprocessingSettings


@dataclass(frozen=True)
class FrameReader:
    """The kinds of the columns of a frame, found once, by which later frames are read in the same way.

    Columns are found by position (``positions``); the caller checks their names. All fields are plain values, so that a
    reader can be saved. ``narrow`` says of each column whether 32 bits hold all its numbers exactly.

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
        """Return a reader; with ``read_text``, numbers, booleans and dates in text are read as such."""
        marks = tuple(settings.missing_values) if read_text else ()
        raw = frame_columns(X, source)
        codes = _codes(settings.as_category, list(raw), source)
        notation = Notation.of(settings) if read_text else Notation()
        with _parameters_named():
            notation.check(list(raw), source)
            columns = {
                name: _read(values, marks, Notation() if name in codes else notation, source)
                for name, values in raw.items()
            }
            left_out = without_values(columns, source)
            found = [
                column_of(columns[name], name in codes, read_text and raw[name].dtype == pl.String, source)
                for name in raw
                if name not in left_out
            ]
        dates = [column.name for column in found if column.kind is Kind.DATE]
        if dates and settings.dates == "refuse":
            raise ColumnsError(
                f"{source}: column {dates[0]!r} holds dates, and dates='refuse'. Leave it out, or pass 'days'."
            )
        if read_text:
            texts = [column.name for column in found if column.kind is Kind.CATEGORY and column.name not in codes]
            _warn_of_dates({name: columns[name] for name in texts if raw[name].dtype == pl.String}, source)
        return cls(
            names=tuple(column.name for column in found),
            kinds=tuple(str(column.kind) for column in found),
            narrow=tuple(column.narrow for column in found),
            positions=tuple(place for place, name in enumerate(raw) if name not in left_out),
            left_out=left_out,
            missing_values=marks,
            dates=notation.dates,
            decimal=notation.decimal,
        )

    @property
    def schema(self) -> Schema:
        kinds = map(Kind, self.kinds)
        return Schema(tuple(Column(*column) for column in zip(self.names, kinds, self.narrow, strict=True)))

    @property
    def by_name(self) -> dict[str, str]:
        return dict(zip(self.names, self.kinds, strict=True))

    def read(self, X: Any, source: str) -> pl.DataFrame:
        raw = list(frame_columns(X, source).values())
        notation = Notation(self.dates, self.decimal)
        with _parameters_named():
            return pl.DataFrame(
                [
                    convert(_read(raw[place], self.missing_values, notation, source, column.kind), column, source)
                    for place, column in zip(self.positions, self.schema.columns, strict=True)
                ]
            )


def _read(
    values: pl.Series, marks: Sequence[str], notation: Notation, source: str, known: Kind | None = None
) -> pl.Series:
    values = cleaned(values, marks if values.dtype == pl.String else ())
    return values if notation.is_usual else notation.read(values, source, values.dtype == pl.String, known)


def _codes(wanted: Sequence[str], names: Sequence[str], source: str) -> set[str]:
    meant: Mapping[str, list[str]] = {each: columns_called(each, names) for each in wanted}
    for each, columns in meant.items():
        if not columns:
            raise ColumnsError(
                f"{source}: there is no column {each!r} (as_category).{did_you_mean(each, names)} The columns are "
                f"{listed(names)}."
            )
    return {name for columns in meant.values() for name in columns}


def _warn_of_dates(texts: Mapping[str, pl.Series], source: str) -> None:
    """Warn of dates in text: each day would be a category of its own."""
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


@contextmanager
def _parameters_named() -> Iterator[None]:
    try:
        yield
    except TableError as error:
        if "preprocessing." not in str(error):
            raise
        raise TableError(f"{error} In Python these are parameters of TablePreprocessor.") from None


def frame_columns(X: Any, source: str) -> dict[str, pl.Series]:
    """Return the columns of a data frame or an array by name; an array has ``x0``, ``x1``, ..."""
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else [f"x{n}" for n in range(X.shape[1])]
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ColumnsError(f"{source}: {listed(twice)} is the name of more than one column. Give each its own.")
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, place] for place in range(X.shape[1])]
    else:
        columns = list(X.get_columns() if hasattr(X, "get_columns") else X.T)
    return {name: _series(name, column, source) for name, column in zip(names, columns, strict=True)}


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
    known = [_word(value) for value in column.cat.categories.tolist()]
    words = np.array([*known, None], dtype=object)[column.cat.codes.to_numpy()]
    return pl.Series(name, words.tolist(), dtype=pl.String).cast(pl.Categorical)


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

_SORTS = {
    "boolean": (bool, np.bool_),
    "duration": (dt.timedelta, np.timedelta64),  # before numbers: timedelta64 counts as a number, too
    "number": (Real, Decimal),
    "text": (str,),
    "moment": (dt.date, np.datetime64),
}


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


def may_be_features(values: Iterable[Any]) -> bool:
    return all(_is_gap(value) or _sort(value) is not None for value in values)


def _sort(value: Any) -> str | None:
    kind: Any = type(value)
    return _sort_of(kind)


@cache
def _sort_of(kind: Any) -> str | None:
    return next((sort for sort, types in _SORTS.items() if issubclass(kind, types)), None)


def _is_gap(value: Any) -> bool:
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
