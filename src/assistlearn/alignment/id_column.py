"""The ids of a whole column as text, by the rule of :mod:`assistlearn.alignment.one_id`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.alignment.one_id import BLANKS, FRACTION, LARGEST_FLOAT, normalise_one
from assistlearn.errors import IdsError

SHOWN = 3
"""How many offending rows an error message shows."""


def normalise(values: Any, owner: str = "This table") -> pl.Series:
    """Return the ids as text, by the rule. Duplicates are not refused here.

    >>> normalise(np.array([3, -4])).to_list()
    ['3', '-4']
    >>> normalise([" p-1", 17, "0017"]).to_list()
    ['p-1', '17', '0017']
    >>> normalise([1, 2.5])
    Traceback (most recent call last):
        ...
    assistlearn.errors.IdsError: This table: row 2 has id 2.5, which is not a whole number. ...
    """
    series = _as_series(values, owner)
    if series is None:
        texts = _one_by_one(values, owner)
    else:
        _refuse_missing(series, owner)
        texts = _by_type(series, owner)
    if len(texts) == 0:
        raise IdsError(f"{owner}: there are no ids. An empty table cannot take part.")
    _refuse_missing(texts, owner)
    return texts.rename("id")


def without_case(ids: pl.Series) -> pl.Series:
    """Return ids in lower case, where they are text; other ids have no case.

    >>> without_case(pl.Series(["A-1", "a-2"])).to_list(), without_case(pl.Series([17])).to_list()
    (['a-1', 'a-2'], [17])
    """
    return ids.str.to_lowercase() if ids.dtype == pl.String else ids


def _as_series(values: Any, owner: str) -> pl.Series | None:
    """Return a Series whose type says what the ids are, or ``None`` where they must be looked at one by one."""
    if isinstance(values, pl.Series):
        series = values
    else:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise IdsError(f"{owner}: ids must be a column of values, not {type(values).__name__}.")
        n_dimensions = getattr(values, "ndim", 1)
        if n_dimensions != 1:
            raise IdsError(f"{owner}: ids must have one dimension, not {n_dimensions}.")
        kind = getattr(getattr(values, "dtype", None), "kind", None)
        if kind not in ("i", "u", "f"):  # objects of Python or pandas: their values decide, not their container
            return None
        series = pl.Series(np.asarray(values))
    return None if series.dtype == pl.Object else series


def _by_type(series: pl.Series, owner: str) -> pl.Series:
    dtype = series.dtype
    if dtype.is_integer():
        return series.cast(pl.String)
    if dtype.is_float():
        return _whole_floats(series, owner)
    if dtype == pl.Decimal:
        return _whole_decimals(series, owner)
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return _stripped(series.cast(pl.String))
    if dtype == pl.Date:
        return series.dt.to_string("%Y-%m-%d")
    if dtype == pl.Null:
        return series.cast(pl.String)
    raise IdsError(
        f"{owner}: ids of type {dtype} are not accepted. Use whole numbers, text or dates; turn others into text first."
    )


def _whole_floats(series: pl.Series, owner: str) -> pl.Series:
    numbers = series.to_numpy()
    with np.errstate(invalid="ignore"):
        bad = (
            ~np.isfinite(numbers)
            | (numbers != np.rint(numbers))
            | (np.abs(numbers) > LARGEST_FLOAT[numbers.dtype.itemsize])
        )
    _refuse_first(numbers, bad, owner)
    return pl.Series(numbers.astype(np.int64)).cast(pl.String)


def _whole_decimals(series: pl.Series, owner: str) -> pl.Series:
    texts = series.cast(pl.String).str.replace(r"\.0*$", "")
    _refuse_first(series, texts.str.contains(".", literal=True).to_numpy(), owner)
    return texts


def _stripped(texts: pl.Series) -> pl.Series:
    foreign = (texts.str.len_bytes() != texts.str.len_chars()).fill_null(value=False)
    if foreign.any():  # only text beyond ASCII has more than one form
        rows = foreign.arg_true()
        composed = [unicodedata.normalize("NFC", text) for text in texts.gather(rows).to_list()]
        texts = texts.scatter(rows, composed)
    return texts.str.strip_chars(BLANKS).str.replace(FRACTION, "$1")


def _refuse_first(values: Any, bad: NDArray[np.bool_], owner: str) -> None:
    if bad.any():
        row = int(bad.argmax())
        _refuse(values[row], row, int(bad.sum()), owner)


def _one_by_one(values: Sequence[Any], owner: str) -> pl.Series:
    texts: list[str | None] = []
    for row, value in enumerate(values):
        try:
            texts.append(normalise_one(value))
        except ValueError:
            _refuse(value, row, 1, owner)
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError as error:
        raise IdsError(f"{owner}: an id is not valid Unicode text ({error.reason}).") from None


def _refuse(value: Any, row: int, count: int, owner: str) -> None:
    try:
        normalise_one(value)
    except ValueError as reason:
        more = f" {count:,} rows have such ids." if count > 1 else ""
        shown = value.item() if isinstance(value, np.generic) else value
        raise IdsError(
            f"{owner}: row {row + 1} has id {shown!r}, {reason}.{more} Use whole numbers, text or dates."
        ) from None


def _refuse_missing(series: pl.Series, owner: str) -> None:
    missing = series.is_null()
    if series.dtype.is_float():
        missing |= series.is_nan().fill_null(value=True)
    if series.dtype == pl.String:
        missing |= (series == "").fill_null(value=True)
    count = int(missing.sum())
    if count:
        rows = missing.arg_true()[:SHOWN].to_list()
        raise IdsError(
            f"{owner}: {count:,} of {len(series):,} ids are missing or blank (first in {name_rows(rows)}). "
            "Remove these rows, or give them ids."
        )


def name_rows(rows: Sequence[int]) -> str:
    """Return how an error message names some rows; the first row is row 1.

    >>> name_rows([3]), name_rows([0, 2]), name_rows([0, 2, 5, 7])
    ('row 4', 'rows 1 and 3', 'rows 1, 3, 6, ...')
    """
    numbers = [str(row + 1) for row in rows]
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    if len(numbers) > SHOWN:
        return f"rows {', '.join(numbers[:SHOWN])}, ..."
    return f"rows {', '.join(numbers[:-1])} and {numbers[-1]}"
