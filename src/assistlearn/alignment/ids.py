"""One rule that turns ids of any column type into text, so that two tables name the same sample the same way.

The rule, in full:

1. A whole number is written in decimal digits, without sign if it is positive and without leading zeros: the integer
   ``17``, the float ``17.0`` and the decimal ``17.00`` are all ``17``.
2. Text is put into Unicode's composed form (NFC), and blanks at both ends are removed. Nothing else changes: case,
   blanks inside, signs and leading zeros can mean something. So ``" 17 "`` is the same id as the integer ``17``, and
   ``"0017"`` is another.
3. A date is written as ``2024-02-29``.
4. An id must be there: null, NaN and blank text are refused. So are fractions, floats so large that their last digits
   are lost (beyond ``2**53``; in single precision beyond ``2**24``), booleans, dates with a time of day, bytes, and
   everything else.
5. After this, every id of a table is different from every other.

An id's bytes are the UTF-8 form of this text.
"""

from __future__ import annotations

import datetime
import decimal
import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.errors import IdsError

BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What rule 2 calls a blank: Unicode's white space, and the byte order mark that some files begin with."""

LARGEST_FLOAT = {8: 2**53, 4: 2**24, 2: 2**11}
"""By the bytes of a float: beyond it, neighbouring whole numbers are the same float."""

SHOWN = 3
"""How many offending ids an error message shows."""


class Ids:
    """The ids of one table: normalised, complete, all different, in the table's order.

    Parameters
    ----------
    values : polars Series, numpy array, pandas Series or sequence
        One id for each sample, of any type that the rule accepts.
    owner : str, default="This table"
        How error messages call the table, for example ``"Agent 'lab', column 'patient'"``.

    Attributes
    ----------
    texts : polars Series of str
        The normalised ids.

    Examples
    --------
    >>> ids = Ids([17.0, 18.0])
    >>> ids.texts.to_list()
    ['17', '18']
    >>> len(Ids([" 17", "0017"]))
    2
    >>> Ids(["a", "b", "a "], owner="Agent 'lab'")
    Traceback (most recent call last):
        ...
    assistlearn.errors.IdsError: Agent 'lab': 1 id occurs more than once (first: 'a' in rows 0 and 2). Keep one row ...
    """

    def __init__(self, values: Any, owner: str = "This table") -> None:
        self.owner = owner
        self.texts = normalise(values, owner)
        _refuse_duplicates(self.texts, owner)

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<{len(self)} ids of {self.owner}>"  # never the ids themselves: a repr ends up in logs

    def take(self, rows: NDArray[np.integer[Any]]) -> pl.Series:
        """Return the texts of these rows, in this order."""
        return self.texts.gather(rows)


def normalise(values: Any, owner: str = "This table") -> pl.Series:
    """Return the ids as text by the rule of this module; duplicates are let through.

    >>> normalise(np.array([3, -4])).to_list()
    ['3', '-4']
    >>> normalise([" p-1", 17, "0017"]).to_list()
    ['p-1', '17', '0017']
    >>> normalise([1, 2.5])
    Traceback (most recent call last):
        ...
    assistlearn.errors.IdsError: This table: row 1 has id 2.5, which is not a whole number. ...
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


def normalise_one(value: Any) -> str | None:
    """Return one id as text, or ``None`` if it is missing: the rule, value by value.

    Raises
    ------
    ValueError
        Says why this value cannot be an id.

    Examples
    --------
    >>> normalise_one(17.0), normalise_one(" 17 "), normalise_one("0017"), normalise_one(datetime.date(2024, 2, 29))
    ('17', '17', '0017', '2024-02-29')
    """
    n_bytes = 8
    if _has_python_twin(value):
        n_bytes = value.itemsize
        value = value.item()
    if isinstance(value, bool):
        raise ValueError("which is a truth value")
    if isinstance(value, str):
        return _normalise_text(value) or None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float | decimal.Decimal):
        return _normalise_number(value, n_bytes)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat()
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:  # pandas' ways to say missing
        return None
    raise ValueError(f"which has type {type(value).__name__}")


def _normalise_text(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip(BLANKS)


def _has_python_twin(value: Any) -> bool:
    """Whether numpy's scalar stays what it is in Python: spans and moments in nanoseconds would become numbers."""
    if isinstance(value, np.datetime64):
        return bool(np.datetime_data(value.dtype)[0] == "D")
    return isinstance(value, np.generic) and value.dtype.kind in "iufbU"


def _normalise_number(number: float | decimal.Decimal, n_bytes: int) -> str | None:
    if math.isnan(number):
        return None
    if math.isinf(number) or number != int(number):
        raise ValueError("which is not a whole number")
    if isinstance(number, float) and abs(number) > LARGEST_FLOAT[n_bytes]:
        raise ValueError(f"which is a float beyond {LARGEST_FLOAT[n_bytes]:,}, so that its last digits are lost")
    return str(int(number))


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
    return texts.str.strip_chars(BLANKS)


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
            f"{owner}: row {row} has id {shown!r}, {reason}.{more} Use whole numbers, text or dates."
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
            f"{owner}: {count:,} of {len(series):,} ids are missing or blank (first in {_rows(rows)}). "
            "Remove these rows or give them ids."
        )


def _refuse_duplicates(texts: pl.Series, owner: str) -> None:
    repeated = texts.is_duplicated()
    if not repeated.any():
        return
    rows = pl.DataFrame({"id": texts, "row": np.arange(len(texts))}).filter(repeated)
    groups = rows.group_by("id", maintain_order=True).agg("row")
    shown = ", ".join(f"{text!r} in {_rows(places)}" for text, places in groups.head(SHOWN).iter_rows())
    count = len(groups)
    what = "1 id occurs" if count == 1 else f"{count:,} ids occur"
    raise IdsError(
        f"{owner}: {what} more than once (first: {shown}). Keep one row for each id. Ids are compared as text without "
        "the blanks around it, so that 17, 17.0 and ' 17' are the same id."
    )


def _rows(rows: Sequence[int]) -> str:
    if len(rows) == 1:
        return f"row {rows[0]}"
    if len(rows) > SHOWN:
        return f"rows {', '.join(map(str, rows[:SHOWN]))}, ..."
    return f"rows {', '.join(map(str, rows[:-1]))} and {rows[-1]}"
