"""Where a table's columns come from: a CSV file, a Parquet file, or a query. Only the columns asked for are read.

Polars reads the files (``docs/agent-files.md`` has the measurement that chose it), DuckDB answers the queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol

import polars as pl

from assistlearn.agent_files.agent_file import AgentDescription
from assistlearn.agent_files.table_source import TableFile, TableQuery
from assistlearn.errors import MissingTableError, TableError
from assistlearn.tables.query_source import QuerySource
from assistlearn.tables.raw_csv import refuse_encoding, refuse_ragged

SAMPLED_ROWS = 10_000
"""So many rows of a CSV file are looked at before it is read; a column that turns out different is read again."""


class Source(Protocol):
    """A table that can say its columns and hand over some of them.

    Attributes
    ----------
    from_text : bool
        Text may stand for numbers, booleans or dates, as in a CSV file.
    """

    from_text: bool

    def names(self) -> list[str]:
        """Return the names of all columns."""
        ...

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns.

        Parameters
        ----------
        columns : sequence of str
            What to read.
        text : sequence of str
            The columns of a CSV file that are handed over as they stand there. The others are numbers, where all
            their values are.
        """
        ...


def open_source(description: AgentDescription) -> Source:
    """Return the source of an agent's table, after a look at whether it is there."""
    table, settings = description.table, description.preprocessing
    if isinstance(table, TableQuery):
        if table.database is not None:
            _require_file(table.database, description, "database")
        return QuerySource(table, description.id, description.places("query"))
    _require_file(table.path, description, "table")
    if table.path.name.lower().endswith(".parquet"):
        return ParquetSource(table)
    return CsvSource(table, settings.missing_values)


class CsvSource:
    """A CSV file, plain or compressed with gzip, in UTF-8, with a header."""

    from_text = True

    def __init__(self, table: TableFile, missing_values: Sequence[str] = ()) -> None:
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


class ParquetSource:
    """A Parquet file."""

    from_text = False

    def __init__(self, table: TableFile) -> None:
        self._table = table

    def names(self) -> list[str]:
        """Return the names of all columns."""
        with _readable(self._table):
            return pl.scan_parquet(self._table.path, glob=False).collect_schema().names()

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns with the types they have in the file."""
        with _readable(self._table):
            return pl.scan_parquet(self._table.path, glob=False).select(columns).collect()


@contextmanager
def _readable(table: TableFile) -> Iterator[None]:
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
        said = str(error).strip().partition("\n")[0]
        remedy = "It must be a whole Parquet file." if table.path.suffix == ".parquet" else _CSV_REMEDY
        raise TableError(f"{table} cannot be read: {said}. {remedy}") from error


_CSV_REMEDY = (
    "It must be UTF-8 text with a header and as many values in every row, parted by what the key 'separator' says."
)


def _check_header(names: list[str], table: TableFile) -> None:
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


def _require_file(path: Any, description: AgentDescription, key: str) -> None:
    if path.is_dir():
        raise TableError(f"{description.places(key)}: {path} ({key}) is a folder. Name a file.")
    if not path.is_file():
        raise MissingTableError(
            f"{description.places(key)}: there is no file {path} ({key}). Put it there, or correct the path, which is "
            "relative to the agent's file."
        )
