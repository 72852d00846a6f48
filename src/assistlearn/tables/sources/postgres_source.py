"""A table that is the answer of a PostgreSQL database to one SELECT, in a transaction that can only read.

ADBC hands over record batches; libpq finds the password (``PGPASSWORD``, ``~/.pgpass``, service files).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import polars as pl

from assistlearn.agent_files.addresses import shown
from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.errors import AssistLearnError, MissingExtraError, TableError
from assistlearn.extras import install_line
from assistlearn.protocol.bounded import within
from assistlearn.tables.sources.postgres_types import about_types, cast_of, is_settled, order_of, refuse_infinite_dates
from assistlearn.tables.sources.postgres_words import in_words
from assistlearn.tables.sources.sql_names import quoted, refuse_twice

CONNECTING = 10
"""Seconds to wait for a connection, where neither the URL nor the environment sets a limit."""

SORTING = "64MB"
"""How much memory the server may use to sort the rows."""

Result = TypeVar("Result")


class PostgresSource:
    """The answer to one SELECT, in the order of the ids, compared as bytes where they are text.

    Parameters
    ----------
    query : str
        One SELECT.
    url : str
        The database, without a password.
    id_columns : sequence of str
        What the rows are ordered by.
    place : str
        Where the query stands, for messages.
    seconds : float
        How long each of the two questions may take: which columns there are, and their values.
    limits : ReadingLimits
        How large the table may be.
    """

    from_text = False

    def __init__(
        self, query: str, url: str, id_columns: Sequence[str], place: str, seconds: float, limits: ReadingLimits
    ) -> None:
        self._query = query.strip().rstrip(";")
        self._url = url
        self._id_columns = id_columns
        self._place = place
        self._seconds = seconds
        self._limits = limits

    def names(self) -> list[str]:
        """Return the names of the columns that the query answers with."""
        return refuse_twice([name for name, _ in self._types], self._place)

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns with the types they have in the database."""
        types = dict(self._types)
        listed = [cast_of(name, types[name], name in self._id_columns, self._place) for name in columns]
        order = ", ".join(order_of(name, types[name]) for name in self._id_columns)
        frame: pl.DataFrame = self._bounded(
            self._ask, ", ".join(listed), f"order by {order} limit {self._limits.max_rows + 1}", _as_frame
        )
        refuse_infinite_dates(frame, self._place)
        exact = [name for name in self._id_columns if types[name] == "numeric"]
        return frame.with_columns(self._whole(frame[name]) for name in exact)

    @cached_property
    def _types(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = self._bounded(self._ask, "*", "limit 0", _as_types)
        return found

    def _whole(self, ids: pl.Series) -> pl.Series:
        whole = ids.cast(pl.Int64, strict=False)
        wrong = whole.is_null() & ids.is_not_null()
        if wrong.any():
            raise TableError(
                f"{self._place}: the id {ids.filter(wrong)[0]!r} in column {ids.name!r} is no whole number of 64 bits. "
                f"Write ids as text in the query: {quoted(ids.name)}::text"
            )
        return whole

    def _ask(self, columns: str, rest: str, take: Callable[[Any], Result]) -> Result:
        with self._connected() as cursor:
            cursor.execute("set transaction read only")
            cursor.execute(f"set local statement_timeout = {int(self._seconds * 1000)}")
            cursor.execute("set local client_encoding = 'UTF8'")
            cursor.execute(f"set local work_mem = '{SORTING}'")
            cursor.execute(f'select {columns} from ({self._query}\n) as "query" {rest}')  # noqa: S608 own query
            return take(cursor)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        adbc = _adbc()
        with adbc.connect(_with_limit(self._url)) as connection, connection.cursor() as cursor:
            yield cursor

    def _bounded(self, work: Callable[..., Result], *arguments: object) -> Result:
        try:
            return within(self._seconds, work, *arguments)
        except AssistLearnError:
            raise
        except TimeoutError:
            raise TableError(
                f"{self._place}: {shown(self._url)} did not answer within {self._seconds:g} s. Check whether it runs "
                "and can be reached from here. For a query that takes long, raise read_seconds in the agent's file."
            ) from None
        except Exception as error:
            if not type(error).__module__.startswith(("adbc", "polars")):
                raise
            raise in_words(error, shown(self._url), self._place) from None


def _as_frame(cursor: Any) -> pl.DataFrame:
    return pl.DataFrame(cursor.fetch_arrow())


def _as_types(cursor: Any) -> list[tuple[str, str]]:
    """Return each column and PostgreSQL's name of its type. Every enumeration is called ``enum``."""
    fields = list(cursor.fetch_record_batch().schema)
    types = [(field.metadata or {}).get(b"POSTGRESQL:type", b"").decode() for field in fields]
    others = sorted({kind for kind in types if not is_settled(kind)})
    if others:
        cursor.execute(about_types(others))
        known = {kind: name for kind, name in cursor.fetchall() if name == "enum" or kind.startswith("unnamed")}
        types = [known.get(kind, kind) for kind in types]
    return [(field.name, kind) for field, kind in zip(fields, types, strict=True)]


def _with_limit(url: str) -> str:
    """Return the URL with a limit for connecting, where its owner has set none."""
    parts = urlsplit(url)
    if "PGCONNECT_TIMEOUT" in os.environ or "connect_timeout" in dict(parse_qsl(parts.query)):
        return url
    return f"{url}{'&' if parts.query else '?'}connect_timeout={CONNECTING}"


def _adbc() -> Any:
    try:
        import adbc_driver_postgresql.dbapi
        import pyarrow  # noqa: F401 ADBC gives the types of columns through it
    except ImportError as error:
        raise MissingExtraError(f"A table in PostgreSQL needs its driver: {install_line('postgres')}") from error
    return adbc_driver_postgresql.dbapi
