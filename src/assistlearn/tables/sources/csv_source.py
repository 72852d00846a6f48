"""A table in a CSV file of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import polars as pl

from assistlearn.errors import TableError
from assistlearn.tables.sources.raw_csv import CsvFile, refuse_encoding, refuse_ragged

SAMPLED_ROWS = 10_000
"""So many rows of a CSV file are looked at before it is read; a column that turns out different is read again."""


class CsvSource:
    """A CSV file, plain or compressed with gzip, in UTF-8, with a header."""

    from_text = True

    def __init__(self, table: CsvFile, missing_values: Sequence[str] = ()) -> None:
        self._table = table
        self._missing_values = list(missing_values)

    def names(self) -> list[str]:
        """Return the names in the header."""
        return list(self._sampled)

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns, as numbers where possible and as text elsewhere."""
        numbers = [name for name in columns if name not in text and self._sampled[name].is_numeric()]
        last = list(self._sampled)[-1]
        with _readable(self._table):
            try:
                frame = self._collect([*columns, *({last} - {*columns})], numbers)
            except pl.exceptions.ComputeError:  # further down, a value is no number
                frame = self._collect([*columns, *({last} - {*columns})], ())
        if frame[last].has_nulls():  # the engine fills short rows up
            refuse_ragged(self._table, len(self._sampled), only_short=True)
        return frame.select(columns)

    def _collect(self, columns: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
        types: dict[str, Any] = {name: pl.Float64 if name in numbers else pl.String for name in self._sampled}
        return self._scan(types).select(columns).collect()

    @cached_property
    def _sampled(self) -> pl.Schema:
        with _readable(self._table):
            schema = self._scan().collect_schema()
        if not all(name.isprintable() for name in schema):
            refuse_encoding(self._table)
        _check_header(list(schema), self._table)
        return schema

    def _scan(self, types: dict[str, Any] | None = None) -> pl.LazyFrame:
        return pl.scan_csv(
            self._table.path,
            separator=self._table.separator,
            schema_overrides=types,
            null_values=self._missing_values,
            infer_schema_length=SAMPLED_ROWS,
            glob=False,
        )


@contextmanager
def _readable(table: CsvFile) -> Iterator[None]:
    """Turn the engine's complaints into errors that name the file."""
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
            f"{table} cannot be read: {said}. It must be UTF-8 text with a header and as many values in every row, "
            "parted by what the key 'separator' says."
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
