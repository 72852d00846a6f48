"""Kinds of columns: the written rule by which values become numbers, dates or categories, and what is refused.

After cleaning, a feature column holds numbers (float, missing ones null) or categories (text, missing ones null):

========  ==============================================================  ==============================
kind      which columns                                                   what they become
========  ==============================================================  ==============================
number    integers, floats, decimals; text in a CSV file that is numbers  floats
boolean   booleans; text in a CSV file that is ``true`` and ``false``     1 and 0
date      dates, moments, durations; ISO dates in a CSV file              days since 1970-01-01 (UTC)
category  all other text; columns named in ``as_category``                text without blanks around it
========  ==============================================================  ==============================

A column of a CSV file is of a kind only if **every** value is, except for marks of missing values (``-``, ``?``). One
bad cell would otherwise turn a column of numbers into categories, and nobody would notice. So a column of which most
values are of a kind is refused, with the first row that does not fit. The kinds are found once, when a table is first
read, and kept as a :class:`~assistlearn.tables.schema.Schema`. Later tables are read as the same kinds, or refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from assistlearn.errors import ColumnsError, Problems, TableError, did_you_mean, listed
from assistlearn.tables.schema import Column, Kind, columns_called
from assistlearn.tables.settings import DATE_FORM, PreprocessingSettings

MARKS = ("-", "--", ".", "?", "n.a.", "na", "none", "null", "missing", "unknown", "#n/a", "#value!", "#div/0!")
"""Marks of missing values, in upper or lower case, in columns whose other values are numbers, dates or booleans."""

MANY = 20
"""A column with up to this many different values may be categories that look like amounts: ``2nd``, ``3d``."""

DAY = 86_400_000_000
"""In microseconds."""

NO_FEATURE = (pl.List, pl.Array, pl.Struct, pl.Binary, pl.Object, pl.Time)

_NONE = pl.Series([], dtype=pl.Boolean)
_EXACT_IN_FLOAT32 = (pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16)
_MOMENTS = (("%Y-%m-%dT%H:%M:%S%.f", None), ("%Y-%m-%dT%H:%M", None), ("%Y-%m-%dT%H:%M:%S%.f%#z", "UTC"))

_NOTATIONS = {
    "commas": r"^[-+]?\d+(,\d+)+(\.\d+)?$",
    "thousands set apart": r"^[-+]?\d{1,3}([' .]\d{3})+([.,]\d+)?$",
    "a unit": r"^[-+]?\d+([.,]\d+)?\s*[^\W\d_%]{1,6}\d?$|^[-+]?\d+([.,]\d+)?\s*%$|^[-+]?[$€£¥]\s*\d[\d.,]*$",
}

_DIGITS = {"dd": r"(?P<d>\d{1,2})", "mm": r"(?P<m>\d{1,2})", "yyyy": r"(?P<y>\d{4})"}
_COMMA = r"^[-+]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][-+]?\d+)?$"
_GROUPED = r"^[-+]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})$"
_POINT = r"^[-+]?\d*\.\d+(?:[eE][-+]?\d+)?$"
_SHORT_YEAR = r"^\d{1,2}([./-])\d{1,2}[./-]\d{2}$"

_CANDIDATES = tuple(
    form + time
    for form in (
        *(f"dd{sign}mm{sign}yyyy" for sign in "./-"),
        *(f"mm{sign}dd{sign}yyyy" for sign in "./-"),
        *(f"yyyy{sign}mm{sign}dd" for sign in "./-"),
    )
    for time in ("", " hh:mm", " hh:mm:ss")
)


def column_of(values: pl.Series, as_category: bool, from_text: bool, source: str) -> Column:
    """Return the kind of a column from all its values; of text, too, where it comes ``from_text`` such as a CSV file.

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


def cleaned(values: pl.Series, missing_values: Sequence[str] = ()) -> pl.Series:
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


def convert(values: pl.Series, column: Column, source: str) -> pl.Series:
    """Return cleaned values as a column of this kind. Values that do not fit, and infinite numbers, are refused."""
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
    made = kept.fill_nan(None) if column.kind is Kind.NUMBER and kept.is_nan().any() else kept
    if column.kind is Kind.NUMBER and not made.is_finite().all():
        infinite = made.is_infinite()
        raise TableError(
            f"{source}: column {column.name!r} has {infinite.sum():,} infinite values (first: row "
            f"{infinite.arg_true()[0] + 1}). Replace them by finite numbers, or leave them empty."
        )
    return made


def _misfit(values: pl.Series, lost: pl.Series, column: Column, source: str) -> TableError:
    row = lost.arg_true()[0]
    bits = " of 32 bits" if column.narrow and column.kind is Kind.NUMBER else ""
    return TableError(
        f"{source}: column {column.name!r} held {_WANTED[column.kind]}{bits} when the models were trained, but "
        f"{lost.sum():,} of {len(lost):,} rows do not fit (first: row {row + 1}, {values[row]!r}). Correct them, leave "
        "them empty or, in a CSV file, list such values under preprocessing.missing_values. If the column means "
        "something else now, train a new run."
    )


def blank_to_null(values: pl.Series, missing_values: Sequence[str] = ()) -> pl.Series:
    """Return text without blanks around it, and null for blank text and for words that mean missing."""
    text = values.cast(pl.String)
    few = few_values(text)
    if few is not None:
        stripped = few.str.strip_chars()
        if not (stripped != few).any() and not stripped.is_in(["", *missing_values]).any():
            return text
    text = text.str.strip_chars()
    gone = text.is_in(["", *missing_values])
    return text.set(gone.fill_null(True), None) if gone.any() else text


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


def few_values(text: pl.Series) -> pl.Series | None:
    """Return the different values if they are few by the first rows: they are quicker to check than all rows."""
    first = text.head(1000)
    if len(first) == len(text) or 4 * first.n_unique() > len(first):
        return None
    return text.unique()


def without_marks(text: pl.Series) -> pl.Series:
    gone = text.str.strip_chars().str.to_lowercase().is_in(MARKS).fill_null(False)
    return text.set(gone, None) if gone.any() else text


def refuse_misfits(text: pl.Series, wrong: pl.Series, noun: str, source: str) -> None:
    """Raise ``TableError`` if most values of a column are of a kind, and some are ``wrong``."""
    n_known, n_wrong = len(text) - text.null_count(), int(wrong.sum())
    if 2 * n_wrong >= n_known:
        return
    row = wrong.arg_true()[0]
    it, are, first = ("it", f"is not a {noun}", "") if n_wrong == 1 else ("them", f"are not {noun}s", "first: ")
    which = f"{first}{text[row]!r}, row {row + 1}"
    raise TableError(
        f"{source}: column {text.name!r}: {n_wrong:,} of {n_known:,} values {are} ({which}). "
        f"Correct {it}, leave {it} empty or list {it} under preprocessing.missing_values. If these are codes and not "
        "amounts, name the column under preprocessing.as_category."
    )


def refuse_notations(text: pl.Series, source: str) -> None:
    n_known = len(text) - text.null_count()
    few = few_values(text)
    for notation, pattern in _NOTATIONS.items():
        if few is not None and not few.str.contains(pattern).any():
            continue
        like = text.str.contains(pattern).fill_null(False)
        enough = notation == "commas" or text.n_unique() > MANY
        if enough and 2 * int(like.sum()) > n_known:
            row = like.arg_true()[0]
            remedy = " Write"
            if notation == "commas":
                remedy = ' If the comma is a decimal sign, add under [preprocessing]: decimal = ",". Else write'
            raise TableError(
                f"{source}: column {text.name!r} looks like numbers with {notation} ({text[row]!r}, row {row + 1})."
                f"{remedy} plain numbers such as 1234.5. If these are codes and not amounts, name the column "
                "under preprocessing.as_category."
            )


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


def _words(values: pl.Series) -> pl.Series:
    if values.dtype.is_float() and (values.drop_nulls() % 1 == 0).all():
        values = values.cast(pl.Int64, strict=False)  # 3.0 and 3 are one code
    return values.cast(pl.String)


_READERS = {Kind.NUMBER: _numbers, Kind.BOOLEAN: _booleans, Kind.DATE: _days, Kind.CATEGORY: _words}
_NOUNS = {Kind.NUMBER: "number", Kind.BOOLEAN: "truth value", Kind.DATE: "date"}
_WANTED = {Kind.NUMBER: "numbers", Kind.BOOLEAN: "true and false", Kind.DATE: "dates", Kind.CATEGORY: "categories"}

# Dates and decimal numbers in text, in the notation that the owner of a table names. Nothing is guessed: 03/04/2020
# means different days to different people, and 1.500 different amounts. Where the settings ``dates`` and ``decimal`` do
# not say how such text is read, ``unread_dates`` and ``unread_decimals`` find the columns, so that their owner can be
# told.


@dataclass(frozen=True)
class Notation:
    """The settings ``dates``, one form for all columns or one for each name or pattern, and ``decimal``."""

    dates: str | Mapping[str, str] = ""
    decimal: str = "."

    @classmethod
    def of(cls, settings: PreprocessingSettings) -> Notation:
        return cls("" if settings.dates in ("days", "refuse") else settings.dates, settings.decimal)

    @property
    def is_usual(self) -> bool:
        return not self.dates and self.decimal == "."

    def check(self, names: Sequence[str], source: str) -> None:
        """Refuse a form for a column that is not there: a misspelt name would leave the column as text."""
        problems = Problems()
        for each, form in ({} if isinstance(self.dates, str) else self.dates).items():
            if not columns_called(each, names):
                problems.add(
                    ColumnsError(
                        f"{source}: there is no feature {each!r}, for which preprocessing.dates names the form "
                        f"{form!r}.{did_you_mean(each, names)} The features are {listed(names)}."
                    )
                )
        problems.settle()

    def dated(self, names: Sequence[str]) -> list[str]:
        if isinstance(self.dates, str):
            return []
        return [name for each in self.dates for name in columns_called(each, names)]

    def read(self, values: pl.Series, source: str, from_text: bool, known: Kind | None = None) -> pl.Series:
        """Read dates and numbers of a column whose missing values are null; ``known`` is its kind in training."""
        form = self._form_of(values, known)
        if form is not None:
            return _dates(values, form, source)
        if self.decimal == "," and values.dtype == pl.String and known in (None, Kind.NUMBER):
            return _decimals(values, source, from_text, known is Kind.NUMBER)
        return values

    def _form_of(self, values: pl.Series, known: Kind | None) -> str | None:
        if known not in (None, Kind.DATE) or values.dtype.is_temporal():
            return None
        if isinstance(self.dates, str):
            if not self.dates or values.dtype != pl.String:
                return None
            return self.dates if known is Kind.DATE or _most(values, _date_pattern(self.dates)) else None
        return next((form for each, form in self.dates.items() if columns_called(each, [values.name])), None)


def _date_pattern(form: str) -> str:
    """Return the regular expression that finds dates of a form such as ``dd.mm.yyyy``, also days that no month has."""
    match = re.fullmatch(DATE_FORM, form)
    assert match is not None
    parts = [_DIGITS[match[place]] for place in ("first", "second", "third")]
    if not match["sign"]:
        parts = [part.replace("{1,2}", "{2}") for part in parts]
    time = r"[ T](?P<t>\d{1,2}" + r":\d{2}" * form.count(":") + ")" if ":" in form else ""
    return f"^{re.escape(match['sign']).join(parts)}{time}$"


def _read_dates(text: pl.Series, form: str) -> pl.Series:
    """Return dates, or moments if the form has a time; null for what is not written so, or is no day."""
    pattern, time = _date_pattern(form), form.partition(" hh")[2]
    like = text.set(~_like(text, pattern), None)
    if not time:
        return like.str.replace(pattern, "${y}-${m}-${d}").str.to_date("%Y-%m-%d", strict=False)
    iso = like.str.replace(pattern, "${y}-${m}-${d} ${t}")
    code = "%Y-%m-%d %H" + time.replace("mm", "%M").replace("ss", "%S")
    return iso.str.to_datetime(code, time_unit="us", strict=False)


def _dates(values: pl.Series, form: str, source: str) -> pl.Series:
    if not (values.dtype == pl.String or values.dtype.is_integer()):
        raise ColumnsError(
            f"{source}: column {values.name!r} is of type {values.dtype}, and dates says that it is written as "
            f"{form}. Take it out there."
        )
    text = without_marks(values.cast(pl.String))
    read = _read_dates(text, form)
    _refuse_row(text, read.is_null() & text.is_not_null(), f"is no date of the form {form}", "dates", source)
    return read


def _decimals(text: pl.Series, source: str, from_text: bool, is_number: bool) -> pl.Series:
    # 1.500 alone may be one and a half: points set thousands apart only where there are several, or a comma follows
    like = _like(text, _COMMA) | _like(text, _GROUPED)
    pointed = _like(text, _POINT)
    known = without_marks(text)
    n_known = len(known) - known.null_count()
    has_comma = text.str.contains(",", literal=True).fill_null(False)
    is_number = is_number or 2 * int((like | pointed).sum()) > n_known
    if not is_number or not (from_text or (like & has_comma).any()):
        return text
    wrong = known.is_not_null() & ~like
    _refuse_row(text, wrong, "is no number with a decimal comma", "decimal", source)
    plain = known.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return plain.cast(pl.Float64, strict=False)


def _refuse_row(text: pl.Series, wrong: pl.Series, what: str, key: str, source: str) -> None:
    if wrong.any():
        n_wrong, row = int(wrong.sum()), wrong.arg_true()[0]
        it, more = ("it", "") if n_wrong == 1 else ("them", f" and {n_wrong - 1:,} more")
        raise TableError(
            f"{source}: column {text.name!r}, row {row + 1}: {text[row]!r} {what} (preprocessing.{key}){more}. Correct "
            f"{it}, leave {it} empty or list {it} under preprocessing.missing_values."
        )


def _like(text: pl.Series, pattern: str) -> pl.Series:
    return text.str.contains(pattern).fill_null(False)


def _most(text: pl.Series, pattern: str) -> bool:
    few = few_values(text)
    if few is not None and not few.str.contains(pattern).any():
        return False
    known = without_marks(text)
    return 2 * int(_like(known, pattern).sum()) > len(known) - known.null_count()


def _may_hold(text: pl.Series, pattern: str) -> bool:
    """Return whether a value is written so, judging by the first ones: most columns are not, and this is quick."""
    return bool(text.drop_nulls().head(1000).str.contains(pattern).any())


@dataclass(frozen=True)
class Unread:
    """A column of text that looks like dates, and was not read as such.

    ``forms`` are those that all its dates have: several if days and months cannot be told apart, none if no form fits.
    """

    column: str
    example: str
    forms: tuple[str, ...]


def unread_dates(columns: Mapping[str, pl.Series]) -> list[Unread]:
    """Return the columns of text in which most values look like dates.

    >>> unread_dates({"seen": pl.Series(["03/04/2020", None]), "town": pl.Series(["Ulm", "Bern"])})
    [Unread(column='seen', example='03/04/2020', forms=('dd/mm/yyyy', 'mm/dd/yyyy'))]
    """
    found = []
    for name, text in columns.items():
        if text.dtype != pl.String or not _may_hold(text, r"^\d{1,4}[./-]\d{1,2}[./-]\d{2,4}"):
            continue
        likely = [form for form in _CANDIDATES if _most(text, _date_pattern(form))]
        if not likely and not _most(text, _SHORT_YEAR):
            continue
        pattern = _date_pattern(likely[0]) if likely else _SHORT_YEAR
        like = text.filter(_like(text, pattern))
        fitting = tuple(form for form in likely if not _read_dates(like, form).has_nulls())
        found.append(Unread(name, like[0], fitting))
    return found


def unread_decimals(columns: Mapping[str, pl.Series]) -> dict[str, str]:
    found = {}
    for name, text in columns.items():
        if text.dtype == pl.String and _may_hold(text, r"^[-+]?\d*,\d+$") and _most(text, _COMMA):
            found[name] = text.filter(_like(text, r"^[-+]?\d*,\d+$"))[0]
    return found


def line_for(unread: Sequence[Unread], named: str | Mapping[str, str] = "") -> str:
    """Return the file's line on these dates. Where days and months cannot be told apart, it has both forms."""
    before = {} if isinstance(named, str) else named
    forms = {column: (form,) for column, form in before.items()} | {each.column: each.forms for each in unread}
    entries = [f"{_key(column)} = {' or '.join(map(json.dumps, every))}" for column, every in forms.items()]
    return f"dates = {{ {', '.join(entries)} }}"


def _key(column: str) -> str:
    return column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else json.dumps(column, ensure_ascii=False)
