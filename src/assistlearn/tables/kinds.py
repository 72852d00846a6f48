"""Kinds of columns, and the written rule by which a column's values become numbers or categories.

After reading, a feature column holds numbers (float, missing ones null) or categories (text, missing ones null):

========  ==============================================================  ==============================
kind      which columns                                                   what they become
========  ==============================================================  ==============================
number    integers, floats, decimals; text in a CSV file that is numbers  floats
boolean   booleans; text in a CSV file that is ``true`` and ``false``     1 and 0
date      dates, moments, durations; ISO dates in a CSV file              days since 1970-01-01 (UTC)
category  all other text; columns named in ``as_category``                text without blanks around it
========  ==============================================================  ==============================

A column of a CSV file is of a kind only if **every** value is, except for marks of missing values (``-``, ``?``). If
most values are of a kind and some are not, the column is refused, and the error names the first row that does not fit:
see :mod:`assistlearn.tables.misfits`. The kinds are found once, when a table is first read, and kept as a
:class:`~assistlearn.tables.Schema`. Later tables are read as the same kinds. Values that do not fit are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from assistlearn.errors import ColumnsError, TableError
from assistlearn.tables.misfits import few_values, refuse_misfits, refuse_notations, without_marks
from assistlearn.tables.schema import Column, Kind

DAY = 86_400_000_000
"""Microseconds in a day."""

_NONE = pl.Series([], dtype=pl.Boolean)
_EXACT_IN_FLOAT32 = (pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16)
NO_FEATURE = (pl.List, pl.Array, pl.Struct, pl.Binary, pl.Object, pl.Time)
"""Types of columns that are neither numbers nor categories."""


def column_of(values: pl.Series, as_category: bool, from_text: bool, source: str) -> Column:
    """Return the kind of a column from all its values.

    Parameters
    ----------
    values : Series
        As the engine read them.
    as_category : bool
        Whether its owner says that its values are codes.
    from_text : bool
        Whether text that is numbers, booleans or dates is read as such, as in a CSV file.
    source : str
        Where the table is, for error messages.

    Examples
    --------
    >>> column_of(pl.Series("day", ["2020-02-29", None]), False, True, "lab.csv").kind
    <Kind.DATE: 'date'>
    >>> column_of(pl.Series("day", ["2020-02-30", None]), False, True, "lab.csv").kind
    <Kind.CATEGORY: 'category'>
    >>> column_of(pl.Series("age", ["41", "?"]), False, True, "lab.csv").kind
    <Kind.NUMBER: 'number'>
    """
    dtype = values.dtype
    narrow = dtype in _EXACT_IN_FLOAT32
    if isinstance(dtype, NO_FEATURE):
        raise ColumnsError(
            f"{source}: column {values.name!r} is of type {dtype}, which cannot be a feature. Exclude it under "
            "[features], or turn it into numbers or text."
        )
    if as_category:
        return Column(values.name, Kind.CATEGORY)
    if dtype == pl.Boolean:
        return Column(values.name, Kind.BOOLEAN, narrow=True)
    if dtype.is_numeric() or dtype == pl.Null:
        return Column(values.name, Kind.NUMBER, narrow)
    if dtype.is_temporal():
        return Column(values.name, Kind.DATE)
    return _column_of_text(values, source) if from_text else Column(values.name, Kind.CATEGORY)


def convert(values: pl.Series, column: Column, source: str) -> pl.Series:
    """Return the values as a column of this kind, with null for missing ones. Values that do not fit are refused.

    >>> convert(pl.Series("on", [" TRUE", "false", ""]), Column("on", Kind.BOOLEAN), "lab.csv").to_list()
    [1.0, 0.0, None]
    >>> convert(pl.Series("age", ["41", "old"]), Column("age", Kind.NUMBER), "lab.csv")
    Traceback (most recent call last):
        ...
    assistlearn.errors.TableError: lab.csv: column 'age' held numbers when the models were trained, but 1 of 2 rows do
    not fit (first: row 2, 'old'). Correct them, leave them empty or, in a CSV file, list such values under
    preprocessing.missing_values. If the column means something else now, train a new run.
    """
    is_text = values.dtype in (pl.Categorical, pl.Enum, pl.String)
    return of_kind(blank_to_null(values) if is_text else values, column, source)


def of_kind(values: pl.Series, column: Column, source: str) -> pl.Series:
    """Do the same as :func:`convert` for text that is clean: no blanks around it, and null in place of blank text."""
    if isinstance(values.dtype, NO_FEATURE):
        raise TableError(
            f"{source}: column {column.name!r} held {_WANTED[column.kind]} when the models were trained, and is of "
            f"type {values.dtype} now. Change it back, or train a new run."
        )
    if values.dtype == pl.String and column.kind is not Kind.CATEGORY:
        values = without_marks(values)
    read = _READERS[column.kind](values)
    kept = read.cast(column.dtype).rename(column.name)
    lost = read.is_null() & values.is_not_null() if read.null_count() > values.null_count() else _NONE
    if column.narrow and column.kind is Kind.NUMBER:  # a number too large for 32 bits would become an infinite one
        lost = (read.is_null() & values.is_not_null()) | (kept.is_infinite() & read.is_finite()).fill_null(False)
    if lost.any():
        raise _misfit(values, lost, column, source)
    return kept.fill_nan(None) if column.kind is Kind.NUMBER and kept.is_nan().any() else kept


def blank_to_null(values: pl.Series, missing_values: Sequence[str] = ()) -> pl.Series:
    """Return text without blanks around it, and null for blank text and for words that mean missing.

    >>> blank_to_null(pl.Series([" a", "  ", " NA"]), ["NA"]).to_list()
    ['a', None, None]
    """
    text = values.cast(pl.String)
    few = few_values(text)
    if few is not None and not _needs_cleaning(few, missing_values):
        return text
    text = text.str.strip_chars()
    gone = text.is_in(["", *missing_values])
    return text.set(gone.fill_null(True), None) if gone.any() else text


def _needs_cleaning(few: pl.Series, missing_values: Sequence[str]) -> bool:
    stripped = few.str.strip_chars()
    return bool((stripped != few).any() or stripped.is_in(["", *missing_values]).any())


def _column_of_text(values: pl.Series, source: str) -> Column:
    text = blank_to_null(values)
    few = few_values(text)
    known = without_marks(text if few is None else few).drop_nulls()
    if known.is_empty():
        return Column(values.name, Kind.NUMBER if text.null_count() == len(text) else Kind.CATEGORY)
    for kind in (Kind.NUMBER, Kind.BOOLEAN, Kind.DATE):
        # for most columns, the first rows are enough to decide
        if not any(_READERS[kind](some).has_nulls() for some in (known.head(100), known)):
            return Column(values.name, kind, narrow=kind is Kind.BOOLEAN)
    for kind, noun in _NOUNS.items():
        if not _READERS[kind](known).is_not_null().any():
            continue  # no value is of this kind
        marked = without_marks(text)
        wrong = marked.is_not_null() & _READERS[kind](marked).is_null()
        refuse_misfits(marked, wrong, noun, source)
    refuse_notations(text, source)
    return Column(values.name, Kind.CATEGORY)


def _numbers(values: pl.Series) -> pl.Series:
    if values.dtype.is_temporal() or values.dtype == pl.Boolean:
        return pl.Series(values.name, [None] * len(values), dtype=pl.Float64)
    return values.cast(pl.Float64, strict=False)


def _booleans(values: pl.Series) -> pl.Series:
    if values.dtype == pl.String:
        words = values.str.to_lowercase()
        return (words == "true").cast(pl.Float32).set(~words.is_in(["true", "false"]), None)
    as_numbers = values.cast(pl.Float32) if values.dtype == pl.Boolean else _numbers(values)
    return as_numbers.set(~as_numbers.is_in([0.0, 1.0]), None)


def _days(values: pl.Series) -> pl.Series:
    dtype = values.dtype
    if dtype == pl.String:
        return _days_of_text(values)
    if dtype == pl.Date:
        return values.cast(pl.Int32).cast(pl.Float64)
    if isinstance(dtype, pl.Datetime):
        return values.dt.timestamp("us").cast(pl.Float64) / DAY
    if dtype == pl.Duration:
        return values.dt.total_microseconds().cast(pl.Float64) / DAY
    return pl.Series(values.name, [None] * len(values), dtype=pl.Float64)


def _days_of_text(text: pl.Series) -> pl.Series:
    """Return ISO dates and moments in days, others as null: 01/02/2020 means different days to different people."""
    iso = text.set(~text.str.contains(r"^\d{4}-\d{2}-\d{2}([T ]|$)").fill_null(False), None).str.replace(" ", "T")
    days = iso.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
    for form, zone in _MOMENTS:
        if days.null_count() == text.null_count():
            break
        moments = iso.str.to_datetime(form, time_unit="us", time_zone=zone, strict=False)
        days = days.zip_with(days.is_not_null(), _days(moments))
    return days


_MOMENTS = (("%Y-%m-%dT%H:%M:%S%.f", None), ("%Y-%m-%dT%H:%M", None), ("%Y-%m-%dT%H:%M:%S%.f%#z", "UTC"))


def _words(values: pl.Series) -> pl.Series:
    if values.dtype.is_float() and (values.drop_nulls() % 1 == 0).all():
        values = values.cast(pl.Int64, strict=False)  # 3.0 and 3 are one code
    return values.cast(pl.String)


_READERS = {Kind.NUMBER: _numbers, Kind.BOOLEAN: _booleans, Kind.DATE: _days, Kind.CATEGORY: _words}

_NOUNS = {Kind.NUMBER: "number", Kind.BOOLEAN: "truth value", Kind.DATE: "date"}

_WANTED = {Kind.NUMBER: "numbers", Kind.BOOLEAN: "true and false", Kind.DATE: "dates", Kind.CATEGORY: "categories"}


def _misfit(values: pl.Series, lost: pl.Series, column: Column, source: str) -> TableError:
    row = lost.arg_true()[0]
    bits = " of 32 bits" if column.narrow and column.kind is Kind.NUMBER else ""
    return TableError(
        f"{source}: column {column.name!r} held {_WANTED[column.kind]}{bits} when the models were trained, but "
        f"{lost.sum():,} of {len(lost):,} rows do not fit (first: row {row + 1}, {values[row]!r}). Correct them, leave "
        "them empty or, in a CSV file, list such values under preprocessing.missing_values. If the column means "
        "something else now, train a new run."
    )
