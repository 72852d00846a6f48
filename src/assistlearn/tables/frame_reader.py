"""How the columns of a data frame are read: their kinds are found once, and later frames are read in the same way."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl

from assistlearn.agent_files.preparation import PreprocessingSettings
from assistlearn.agent_files.suggestion import did_you_mean, listed
from assistlearn.errors import AssistLearnWarning, ColumnsError, TableError
from assistlearn.tables.choosing import columns_called
from assistlearn.tables.features import cleaned, feature, without_values
from assistlearn.tables.frame_columns import frame_columns
from assistlearn.tables.kinds import column_of
from assistlearn.tables.notation import Notation, unread_dates
from assistlearn.tables.schema import Column, Kind, Schema


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
