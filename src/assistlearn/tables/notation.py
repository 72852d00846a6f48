"""Dates and decimal numbers in text, in the notation that the owner of a table names. Nothing is guessed.

03/04/2020 means different days to different people, and 1.500 different amounts. So such text is only read where the
settings ``dates`` and ``decimal`` say how. Where they do not, :func:`unread_dates` and :func:`unread_decimals` find the
columns, so that their owner can be told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from assistlearn.agent_files.preparation import DATE_FORM, PreprocessingSettings
from assistlearn.agent_files.suggestion import did_you_mean, listed
from assistlearn.errors import ColumnsError, Problems, TableError
from assistlearn.tables.choosing import columns_called
from assistlearn.tables.misfits import few_values, without_marks
from assistlearn.tables.schema import Kind

_DIGITS = {"dd": r"(?P<d>\d{1,2})", "mm": r"(?P<m>\d{1,2})", "yyyy": r"(?P<y>\d{4})"}

_COMMA = r"^[-+]?(?:\d+(?:,\d*)?|,\d+)(?:[eE][-+]?\d+)?$"
_GROUPED = r"^[-+]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})$"
_POINT = r"^[-+]?\d*\.\d+(?:[eE][-+]?\d+)?$"
_SHORT_YEAR = r"^\d{1,2}([./-])\d{1,2}[./-]\d{2}$"


@dataclass(frozen=True)
class DateForm:
    """How dates are written, such as ``dd.mm.yyyy``; a time of day may follow, ``hh:mm`` or ``hh:mm:ss``.

    >>> DateForm("dd.mm.yyyy").read(pl.Series(["9.2.2020", "31.02.2020", "2020-02-09"])).to_list()
    [datetime.date(2020, 2, 9), None, None]
    >>> DateForm("mm/dd/yyyy hh:mm").read(pl.Series(["02/09/2020 7:30"])).to_list()
    [datetime.datetime(2020, 2, 9, 7, 30)]
    """

    text: str

    @property
    def _time(self) -> str:
        return self.text.partition(" hh")[2]

    @property
    def pattern(self) -> str:
        """The regular expression that finds such dates, also days that no month has."""
        said = re.fullmatch(DATE_FORM, self.text)
        assert said is not None
        parts = [_DIGITS[said[place]] for place in ("first", "second", "third")]
        if not said["sign"]:
            parts = [part.replace("{1,2}", "{2}") for part in parts]
        seconds = {"": "", ":mm": r"[ T](?P<t>\d{1,2}:\d{2})", ":mm:ss": r"[ T](?P<t>\d{1,2}:\d{2}:\d{2})"}[self._time]
        return f"^{re.escape(said['sign']).join(parts)}{seconds}$"

    def read(self, text: pl.Series) -> pl.Series:
        """Return dates, or moments if the form has a time; null for what is not written so, or is no day."""
        like = text.set(~text.str.contains(self.pattern).fill_null(False), None)
        if not self._time:
            return like.str.replace(self.pattern, "${y}-${m}-${d}").str.to_date("%Y-%m-%d", strict=False)
        iso = like.str.replace(self.pattern, "${y}-${m}-${d} ${t}")
        code = "%Y-%m-%d %H" + self._time.replace("mm", "%M").replace("ss", "%S")
        return iso.str.to_datetime(code, time_unit="us", strict=False)


@dataclass(frozen=True)
class Notation:
    """How text is written in a table.

    Attributes
    ----------
    dates : str or mapping from str to str
        One form for all columns of dates; or a form for each column, by name or pattern. Empty: no form is named.
    decimal : {".", ","}
        What stands before the fraction of a number.
    """

    dates: str | Mapping[str, str] = ""
    decimal: str = "."

    @classmethod
    def of(cls, settings: PreprocessingSettings) -> Notation:
        """Return the notation that settings name."""
        return cls("" if settings.dates in ("days", "refuse") else settings.dates, settings.decimal)

    @property
    def is_usual(self) -> bool:
        """Whether there is nothing to do: dates are ISO dates, and numbers have a point."""
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
        """Return the columns for which the setting ``dates`` names a form."""
        if isinstance(self.dates, str):
            return []
        return [name for each in self.dates for name in columns_called(each, names)]

    def read(self, values: pl.Series, source: str, from_text: bool, known: Kind | None = None) -> pl.Series:
        """Return a column with its dates and numbers read, where the notation says so; any other column as it is.

        Parameters
        ----------
        values : Series
            Cleaned: missing values are null.
        source : str
            Where the table is.
        from_text : bool
            Whether whole numbers in text are numbers, as in a CSV file.
        known : Kind, optional
            What the column was in training.
        """
        form = self._form_of(values, known)
        if form is not None:
            return _dates(values, form, source)
        if self.decimal == "," and values.dtype == pl.String and known in (None, Kind.NUMBER):
            return _decimals(values, source, from_text, known is Kind.NUMBER)
        return values

    def _form_of(self, values: pl.Series, known: Kind | None) -> DateForm | None:
        """Return the form in which this column is to be read; None if it holds no dates in text."""
        if known not in (None, Kind.DATE) or values.dtype.is_temporal():
            return None
        if isinstance(self.dates, str):
            form = DateForm(self.dates) if self.dates and values.dtype == pl.String else None
            return form if form and (known is Kind.DATE or _most(values, form.pattern)) else None
        return next((DateForm(form) for each, form in self.dates.items() if columns_called(each, [values.name])), None)


def _dates(values: pl.Series, form: DateForm, source: str) -> pl.Series:
    if not (values.dtype == pl.String or values.dtype.is_integer()):
        raise ColumnsError(
            f"{source}: column {values.name!r} is of type {values.dtype}, and dates says that it is written as "
            f"{form.text}. Take it out there."
        )
    text = without_marks(values.cast(pl.String))
    read = form.read(text)
    _refuse(text, read.is_null() & text.is_not_null(), f"is no date of the form {form.text}", "dates", source)
    return read


def _decimals(text: pl.Series, source: str, from_text: bool, is_number: bool) -> pl.Series:
    like = _like(text, _COMMA) | _like(text, _GROUPED)
    pointed = _like(text, _POINT)
    known = without_marks(text)
    n_known = len(known) - known.null_count()
    has_comma = text.str.contains(",", literal=True).fill_null(False)
    is_number = is_number or 2 * int((like | pointed).sum()) > n_known
    if not is_number or not (from_text or (like & has_comma).any()):
        return text
    wrong = known.is_not_null() & ~like
    _refuse(text, wrong, "is no number with a decimal comma", "decimal", source)
    plain = known.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return plain.cast(pl.Float64, strict=False)


def _refuse(text: pl.Series, wrong: pl.Series, what: str, key: str, source: str) -> None:
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
    """Return whether most values of a column are written so; a look at its different values if they are few."""
    few = few_values(text)
    if few is not None and not few.str.contains(pattern).any():
        return False
    known = without_marks(text)
    return 2 * int(_like(known, pattern).sum()) > len(known) - known.null_count()


@dataclass(frozen=True)
class Unread:
    """A column of text that looks like dates, and was not read as such.

    Attributes
    ----------
    column, example : str
        Its name, and its first value that looks like a date.
    forms : tuple of str
        The forms that all such values have; several if days and months cannot be told apart, none if no form fits all.
    """

    column: str
    example: str
    forms: tuple[str, ...]


_CANDIDATES = tuple(
    form + time
    for form in (
        *(f"dd{sign}mm{sign}yyyy" for sign in "./-"),
        *(f"mm{sign}dd{sign}yyyy" for sign in "./-"),
        *(f"yyyy{sign}mm{sign}dd" for sign in "./-"),
    )
    for time in ("", " hh:mm", " hh:mm:ss")
)


def unread_dates(columns: Mapping[str, pl.Series]) -> list[Unread]:
    """Return the columns of text in which most values look like dates.

    >>> unread_dates({"seen": pl.Series(["03/04/2020", None]), "town": pl.Series(["Ulm", "Bern"])})
    [Unread(column='seen', example='03/04/2020', forms=('dd/mm/yyyy', 'mm/dd/yyyy'))]
    >>> unread_dates({"seen": pl.Series(["03/04/2020", "03/14/2020"])})[0].forms
    ('mm/dd/yyyy',)
    >>> unread_dates({"seen": pl.Series(["3.4.20", "14.4.20"])})[0].forms
    ()
    """
    found = []
    for name, text in columns.items():
        if text.dtype != pl.String or not _may_hold(text, r"^\d{1,4}[./-]\d{1,2}[./-]\d{2,4}"):
            continue
        likely = [DateForm(form) for form in _CANDIDATES if _most(text, DateForm(form).pattern)]
        if not likely and not _most(text, _SHORT_YEAR):
            continue
        pattern = likely[0].pattern if likely else _SHORT_YEAR
        like = text.filter(_like(text, pattern))
        fitting = tuple(form.text for form in likely if not form.read(like).has_nulls())
        found.append(Unread(name, like[0], fitting))
    return found


def line_for(unread: Sequence[Unread], named: str | Mapping[str, str] = "") -> str:
    """Return the line of an agent's file that says how these dates are written.

    Where days and months cannot be told apart, it has both forms, and the owner chooses.

    >>> doubtful = Unread("the end", "3/4/2020", ("dd/mm/yyyy", "mm/dd/yyyy"))
    >>> line_for([Unread("born", "31.12.1980", ("dd.mm.yyyy",)), doubtful])
    'dates = { born = "dd.mm.yyyy", "the end" = "dd/mm/yyyy" or "mm/dd/yyyy" }'
    """
    before = {} if isinstance(named, str) else named
    forms = {column: (form,) for column, form in before.items()} | {each.column: each.forms for each in unread}
    said = [f"{_key(column)} = {' or '.join(map(json.dumps, every))}" for column, every in forms.items()]
    return f"dates = {{ {', '.join(said)} }}"


def _key(column: str) -> str:
    """Return a column's name as a key of TOML."""
    return column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else json.dumps(column, ensure_ascii=False)


def unread_decimals(columns: Mapping[str, pl.Series]) -> dict[str, str]:
    """Return the columns of text in which most values are numbers with a decimal comma, each with an example.

    >>> unread_decimals({"height": pl.Series(["1,82", "1,75", "2"]), "zip": pl.Series(["89073", "3011"])})
    {'height': '1,82'}
    """
    found = {}
    for name, text in columns.items():
        if text.dtype == pl.String and _may_hold(text, r"^[-+]?\d*,\d+$") and _most(text, _COMMA):
            found[name] = text.filter(_like(text, r"^[-+]?\d*,\d+$"))[0]
    return found


def _may_hold(text: pl.Series, pattern: str) -> bool:
    """Return whether a value is written so, judging by the first ones: most columns are not, and this is quick."""
    return bool(text.drop_nulls().head(1000).str.contains(pattern).any())
