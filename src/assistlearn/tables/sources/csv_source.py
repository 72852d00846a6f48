"""A table in a CSV file of this machine."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import polars as pl

from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.errors import TableError
from assistlearn.tables.sources.raw_csv import CsvFile, refuse_encoding, refuse_large, refuse_ragged

SAMPLED_ROWS = 10_000
"""How many rows of a CSV file show the types of its columns. If a later value does not fit, the file is read again."""


class CsvSource:
    """A CSV file, plain or compressed with gzip, in UTF-8, with a header."""

    from_text = True

    def __init__(self, table: CsvFile, missing_values: Sequence[str] = (), limits: ReadingLimits | None = None) -> None:
        self._table = table
        self._limits = limits or ReadingLimits()
        self._missing_values = list(missing_values)

    def names(self) -> list[str]:
        """Return the names in the header; refuse a file that is too large."""
        refuse_large(self._table, self._limits)
        return list(self._sampled)

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns, as numbers where possible and as text elsewhere."""
        numbers = [name for name in columns if name not in text and self._sampled[name].is_numeric()]
        last = list(self._sampled)[-1]
        with _readable(self._table):
            frame = self._collect([*columns, *({last} - {*columns})], numbers)
        if frame[last].has_nulls():  # the engine fills short rows with nulls
            refuse_ragged(self._table, len(self._sampled), only_short=True)
        return frame.select(columns)

    def _collect(self, columns: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
        """Read the columns in the quickest of three ways that works: looking for words for missing values is slow."""
        words, types = self._missing_values, self._types(numbers)
        if not self._are_words_among_numbers:
            with suppress(pl.exceptions.ComputeError):  # a later row has such a word
                return _without_words(self._scan(types, []).select(columns).collect(), words)
        try:
            return self._scan(types, words).select(columns).collect()
        except pl.exceptions.ComputeError:  # a later value is no number
            return self._scan(self._types(()), words).select(columns).collect()

    def _types(self, numbers: Sequence[str]) -> dict[str, Any]:
        return {name: pl.Float64 if name in numbers else pl.String for name in self._sampled}

    @cached_property
    def _are_words_among_numbers(self) -> bool:
        """Whether a word for missing values is a number itself, or stands among the first numbers of a column."""
        if any(_is_number(word) for word in self._missing_values):
            return True
        plain = self._scan(None, []).collect_schema()
        return any(plain[name].is_numeric() != dtype.is_numeric() for name, dtype in self._sampled.items())

    @cached_property
    def _sampled(self) -> pl.Schema:
        with _readable(self._table):
            schema = self._scan(None, self._missing_values).collect_schema()
        if not all(name.isprintable() for name in schema):
            refuse_encoding(self._table)
        _check_header(list(schema), self._table)
        return schema

    def _scan(self, types: dict[str, Any] | None, missing_values: list[str]) -> pl.LazyFrame:
        return pl.scan_csv(
            self._table.path,
            separator=self._table.separator,
            schema_overrides=types,
            null_values=missing_values,
            infer_schema_length=SAMPLED_ROWS if types is None else 0,
            glob=False,
        )


def _without_words(frame: pl.DataFrame, words: Sequence[str]) -> pl.DataFrame:
    """Return the frame with null for every text that is a word for a missing value."""
    for name in [name for name, dtype in frame.schema.items() if dtype == pl.String]:
        gone = frame[name].is_in(words)
        if gone.any():
            frame = frame.with_columns(frame[name].set(gone.fill_null(False), None))
    return frame


def _is_number(word: str) -> bool:
    """Return whether a word would be read as a number that is not missing."""
    try:
        return not math.isnan(float(word))
    except ValueError:
        return False


@contextmanager
def _readable(table: CsvFile) -> Iterator[None]:
    """Turn the errors of Polars into errors that name the file."""
    try:
        yield
    except pl.exceptions.NoDataError:
        raise TableError(f"{table} is empty: it has not even a header. Write the table again.") from None
    except (pl.exceptions.PolarsError, OSError) as error:
        if "utf-8" in str(error):
            refuse_encoding(table)
        if "more fields" in str(error):
            header = pl.scan_csv(table.path, separator=table.separator, n_rows=0, glob=False).collect_schema()
            refuse_ragged(table, len(header), only_short=False)
        said = str(error).strip().partition("\n")[0].replace(str(table.path), str(table))
        raise TableError(
            f"{table} cannot be read: {said}. It must be UTF-8 text with a header, and every row must have as many "
            "values as the header, with the separator that the key 'separator' names between them."
        ) from error


def _check_header(names: list[str], table: CsvFile) -> None:
    if "" in names:
        raise TableError(
            f"{table}: column {names.index('') + 1} has no name in the header. Give it one; if it is pandas' index, "
            "write the table without it (index=False)."
        )
    for name in names:
        original = re.sub(r"_duplicated_\d+$", "", name)
        if original != name and original in names:
            raise TableError(f"{table} has more than one column {original!r}. Give each column a name of its own.")
    if len(names) == 1:
        for sign in ";\t|,":
            if sign != table.separator and sign in names[0]:
                raise TableError(
                    f"{table} has one column only, {names[0]!r}. If {sign!r} stands between its values, add to the "
                    f"agent's file: separator = {_toml(sign)}"
                )


def _toml(sign: str) -> str:
    return '"\\t"' if sign == "\t" else f'"{sign}"'
