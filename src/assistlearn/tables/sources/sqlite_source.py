"""A table that is the answer of a SQLite file to one SELECT.

SQLite has no dates and no booleans, and a column may hold text beside numbers: text is read like that of a CSV file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import polars as pl

from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.errors import TableError
from assistlearn.tables.sources.sql_names import quoted, refuse_twice

MAGIC = b"SQLite format 3\x00"
ROWS = 50_000
"""Rows that are held as Python objects at a time."""

LOCKED = 10.0
"""Seconds to wait while another process writes to the database."""


def is_sqlite(path: Path) -> bool:
    """Return whether a file is a SQLite database: its first bytes say so."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class SqliteSource:
    """The answer to one SELECT, ordered by id; the file is opened for reading only."""

    from_text = True

    def __init__(
        self, query: str, database: Path, id_columns: Sequence[str], place: str, limits: ReadingLimits
    ) -> None:
        self._query = query.strip().rstrip(";")
        self._database = database
        self._id_columns = id_columns
        self._place = place
        self._limits = limits

    def names(self) -> list[str]:
        """Return the names of the columns that the query answers with."""
        with self._answer("*", "limit 0") as cursor:  # fails unless it is one SELECT
            asked = cursor.execute(self._query)  # alone: inside another SELECT, columns have other names
            return refuse_twice([column[0] for column in asked.description], self._place)

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns, as numbers where all values are numbers."""
        listed, order = (", ".join(map(quoted, names)) for names in (columns, self._id_columns))
        with self._answer("count(*)", "") as cursor:  # rows without end are not sorted
            self._limits.check(self._place, cursor.fetchone()[0])
        with self._answer(listed, f"order by {order}") as cursor:
            pieces = [self._piece(rows, columns) for rows in iter(lambda: cursor.fetchmany(ROWS), [])]
        if not pieces:
            return pl.DataFrame({name: pl.Series([], dtype=pl.String) for name in columns})
        return pl.DataFrame([_joined(name, [piece[name] for piece in pieces], name in text) for name in columns])

    def _piece(self, rows: list[tuple[object, ...]], columns: Sequence[str]) -> dict[str, pl.Series]:
        return {name: self._series(name, values) for name, values in zip(columns, zip(*rows, strict=True), strict=True)}

    def _series(self, name: str, values: Sequence[object]) -> pl.Series:
        kinds = {type(value) for value in values} - {type(None)}
        if bytes in kinds:
            raise TableError(
                f"{self._place}: column {name!r} holds bytes. Turn them into text in the query, or leave it out."
            )
        if str in kinds and len(kinds) > 1:
            values = [None if value is None else str(value) for value in values]
        elif kinds == {int, float}:
            return pl.Series(name, values, dtype=pl.Float64, strict=False)
        return pl.Series(name, values)

    @contextmanager
    def _answer(self, columns: str, rest: str) -> Iterator[sqlite3.Cursor]:
        url = self._database.resolve().as_uri() + "?mode=ro"
        try:
            with closing(sqlite3.connect(url, uri=True, timeout=LOCKED)) as connection:
                inner = f"select * from ({self._query}\n) limit {self._limits.max_rows + 1}"  # noqa: S608 own query
                yield _limited(connection, self._limits).execute(f"select {columns} from ({inner}) {rest}")  # noqa: S608
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            raise TableError(
                f"{self._place}: the query failed: {error}. It must be one SELECT, and only that. Correct it, or the "
                "database."
            ) from error


def _limited(connection: sqlite3.Connection, limits: ReadingLimits) -> sqlite3.Connection:
    """Return a connection that makes no value and no row larger than is allowed."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(limits.max_cell, 1_000_000))
    return connection


def _joined(name: str, pieces: list[pl.Series], as_text: bool) -> pl.Series:
    """Return a column from its pieces: as text where any piece is text."""
    types = {piece.dtype for piece in pieces} - {pl.Null}
    if as_text or pl.String in types:
        return pl.concat([piece.cast(pl.String) for piece in pieces]).rename(name)
    dtype = types.pop() if len(types) == 1 else (pl.Float64 if types else pl.Null)
    return pl.concat([piece.cast(dtype) for piece in pieces]).rename(name)
