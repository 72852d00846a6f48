"""A table that is the answer of a database (SQLite, DuckDB, PostgreSQL) to one SELECT."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from socket import getaddrinfo
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

import polars as pl

from assistlearn.errors import AssistLearnError, ColumnsError, MissingExtraError, MissingTableError, TableError
from assistlearn.extras import install_line
from assistlearn.protocol.codec import within
from assistlearn.tables.settings import (
    ENDINGS,
    ReadingLimits,
    TableQuery,
    database_hosts,
    is_own_address,
    refusal_of_own_host,
    shown,
    without_secrets,
)
from assistlearn.tables.sources.reader import apart

Result = TypeVar("Result")

MAGIC = b"SQLite format 3\x00"

ROWS = 50_000
"""Rows that are held as Python objects at a time."""

LOCKED = 10.0
"""Seconds to wait while another process writes."""

ENGINE = 5
"""What share of the memory the engine may take: one in so many. The rest is for its answer."""

CONNECTING = 10
"""Seconds to wait for a connection, where neither the URL nor the environment sets a limit."""

SORTING = "64MB"
"""How much memory the server may use to sort the rows."""


def is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class SqliteSource:
    """The answer of a SQLite file to one SELECT, ordered by id; the file is opened for reading only.

    SQLite has no dates and no booleans, and a column may hold text beside numbers: text is read like that of a CSV
    file.
    """

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
        with self._answer("*", "limit 0") as cursor:  # fails unless it is one SELECT
            asked = cursor.execute(self._query)  # alone: inside another SELECT, columns have other names
            return refuse_twice([column[0] for column in asked.description], self._place)

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns, as numbers where all values are numbers."""
        listed, order = (", ".join(map(quoted, names)) for names in (columns, self._id_columns))
        with self._answer("count(*)", "") as cursor:  # rows without end are not sorted
            self._limits.check(self._place, cursor.fetchone()[0])
        with self._answer(listed, f"order by {order}") as cursor:
            pieces = [
                {
                    name: self._series(name, values)
                    for name, values in zip(columns, zip(*rows, strict=True), strict=True)
                }
                for rows in iter(lambda: cursor.fetchmany(ROWS), [])
            ]
        if not pieces:
            return pl.DataFrame({name: pl.Series([], dtype=pl.String) for name in columns})
        return pl.DataFrame([_joined(name, [piece[name] for piece in pieces], name in text) for name in columns])

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
                # no value and no row may be larger than is allowed
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(self._limits.max_cell, 1_000_000))
                yield connection.execute(f"select {columns} from ({inner}) {rest}")  # noqa: S608
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            raise TableError(
                f"{self._place}: the query failed: {error}. It must be one SELECT, and only that. Correct it, or the "
                "database."
            ) from error


def _joined(name: str, pieces: list[pl.Series], as_text: bool) -> pl.Series:
    types = {piece.dtype for piece in pieces} - {pl.Null}
    if as_text or pl.String in types:
        return pl.concat([piece.cast(pl.String) for piece in pieces]).rename(name)
    dtype = types.pop() if len(types) == 1 else (pl.Float64 if types else pl.Null)
    return pl.concat([piece.cast(dtype) for piece in pieces]).rename(name)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def refuse_twice(names: list[str], place: str) -> list[str]:
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise TableError(
            f"{place}: the query has more than one column {twice[0]!r}. Give each its own name: ... as another_name"
        )
    return names


class DuckdbSource:
    """The answer of DuckDB to one SELECT, ordered by id: a database promises no order of its own."""

    from_text = False

    def __init__(
        self, table: TableQuery, id_columns: Sequence[str], place: str, seconds: float, limits: ReadingLimits
    ) -> None:
        self._table = table
        self._id_columns = id_columns
        self._place = place
        self._seconds = seconds
        self._limits = limits

    def names(self) -> list[str]:
        found: list[str] = self._apart(columns_of_query, ENGINE, "*", "limit 0")
        return found

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        listed, order = (", ".join(quoted(name) for name in names) for names in (columns, self._id_columns))
        rows: pl.DataFrame = self._apart(rows_of_query, 1, listed, f"order by {order}")
        return rows

    def _apart(self, work: Callable[..., Any], share: int, *arguments: str) -> Any:
        if find_spec("duckdb") is None:
            raise MissingExtraError(f"A table from a query needs DuckDB: {install_line('duckdb')}")
        database = None if self._table.database is None else str(self._table.database)
        asked = [self._table.query, str(self._table.folder), database, self._place]
        rows, megabytes = self._limits.max_rows, self._limits.max_memory // ENGINE
        name = f"{self._place}: the query"
        return apart(work, [*asked, rows, megabytes, *arguments], name, self._limits, self._seconds, share)


# In the reader's process: the answer to a query.


def columns_of_query(*asked: Any) -> list[str]:
    with _answer_of_duckdb(*asked) as relation:
        return list(relation.columns)


def rows_of_query(*asked: Any) -> pl.DataFrame:
    with _answer_of_duckdb(*asked) as relation:
        return pl.DataFrame(relation)


@contextmanager
def _answer_of_duckdb(
    query: str, folder: str, database: str | None, place: str, max_rows: int, megabytes: int, columns: str, rest: str
) -> Iterator[Any]:
    import duckdb

    never = ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions")
    settings: dict[str, Any] = dict.fromkeys(never, False)
    try:
        with duckdb.connect(database or ":memory:", read_only=database is not None, config=settings) as connection:
            connection.execute("set file_search_path = ?", [str(Path(folder).resolve())])
            connection.execute("set allowed_paths = ?", [files_named(query, Path(folder))])
            connection.execute("set enable_external_access = false")
            connection.execute("set memory_limit = ?", [f"{max(megabytes, 100)}MB"])
            connection.execute("set lock_configuration = true")
            statements = connection.extract_statements(query)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise TableError(
                    f"{place}: the query must be one SELECT, and only that. It is for reading: write anything else "
                    "with the database's own tools."
                )
            one = str(statements[0].query).strip().rstrip(";")
            inner = f"select * from ({one}\n) limit {max_rows + 1}"  # noqa: S608 own query
            yield connection.sql(f"select {columns} from ({inner}) {rest}")  # noqa: S608 own query
    except duckdb.PermissionException as error:
        raise TableError(
            f"{place}: {without_secrets(str(error))}. A query may read its database, and tables whose files "
            f"it names itself in quotes ({', '.join(ENDINGS)}), and nothing else."
        ) from None
    except duckdb.Error as error:
        message = without_secrets(str(error))
        raise TableError(f"{place}: the query failed: {message} Correct it, or the database.") from None


_QUOTED = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?P<text>(?:[^']|'')*)'|["](?P<name>(?:[^"]|"")*)["]""", re.DOTALL)


def files_named(query: str, folder: Path) -> list[str]:
    """Return the files of tables that a query names in quotes, as it writes them and as the system does.

    >>> files_named("select * from 'a.csv', read_text('/etc/passwd') -- it's 'b.csv'", Path("/lab"))
    ['/lab/a.csv', 'a.csv']
    """
    found = set()
    for literal in _QUOTED.finditer(query):
        name = (literal["text"] or literal["name"] or "").replace("''", "'").replace('""', '"')
        if name.lower().endswith(ENDINGS) and "://" not in name:
            matching = glob(name, root_dir=folder, recursive=True)
            found |= {name, *matching, *(str((folder / each).resolve()) for each in (name, *matching))}
            found |= {str(folder.resolve() / each) for each in (name, *matching)}
    return sorted(found)


class PostgresSource:
    """The answer of PostgreSQL to one SELECT, in a transaction that can only read, in the order of the ids.

    Ids are compared as bytes where they are text. The URL has no password: ADBC hands over record batches, and libpq
    finds the password (``PGPASSWORD``, ``~/.pgpass``, service files). Each of the two questions, which columns there
    are and their values, may take ``seconds``.
    """

    from_text = False

    def __init__(
        self,
        query: str,
        url: str,
        id_columns: Sequence[str],
        place: str,
        seconds: float,
        limits: ReadingLimits,
        local_server: bool,
    ) -> None:
        self._query = query.strip().rstrip(";")
        self._url = url
        self._id_columns = id_columns
        self._place = place
        self._seconds = seconds
        self._limits = limits
        self._local_server = local_server

    def names(self) -> list[str]:
        return refuse_twice([name for name, _ in self._types], self._place)

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        types = dict(self._types)
        listed = [cast_of(name, types[name], name in self._id_columns, self._place) for name in columns]
        order = ", ".join(order_of(name, types[name]) for name in self._id_columns)
        rest = f"order by {order} limit {self._limits.max_rows + 1}"
        frame: pl.DataFrame = self._bounded(
            self._ask, ", ".join(listed), rest, lambda cursor: pl.DataFrame(cursor.fetch_arrow())
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
        if not self._local_server:
            _refuse_own(self._url, self._place)
        with _adbc().connect(_with_limit(self._url)) as connection, connection.cursor() as cursor:
            cursor.execute("set transaction read only")
            cursor.execute(f"set local statement_timeout = {int(self._seconds * 1000)}")
            cursor.execute("set local client_encoding = 'UTF8'")
            cursor.execute(f"set local work_mem = '{SORTING}'")
            cursor.execute(f'select {columns} from ({self._query}\n) as "query" {rest}')  # noqa: S608 own query
            return take(cursor)

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


def _as_types(cursor: Any) -> list[tuple[str, str]]:
    """Return PostgreSQL's name of each column's type; every enumeration is called ``enum``."""
    fields = list(cursor.fetch_record_batch().schema)
    types = [(field.metadata or {}).get(b"POSTGRESQL:type", b"").decode() for field in fields]
    others = sorted({kind for kind in types if kind not in (*_AS_THEY_ARE, *_CAST, *_ADVICE)})
    if others:
        cursor.execute(about_types(others))
        known = {kind: name for kind, name in cursor.fetchall() if name == "enum" or kind.startswith("unnamed")}
        types = [known.get(kind, kind) for kind in types]
    return [(field.name, kind) for field, kind in zip(fields, types, strict=True)]


def _refuse_own(url: str, place: str) -> None:
    """Refuse a server whose name leads to this machine; the file itself has been looked at before."""
    for host in database_hosts(url):
        with suppress(OSError, UnicodeError):  # there is no such host, which the driver says
            if any(is_own_address(str(each[4][0])) for each in getaddrinfo(host, None)):
                raise TableError(
                    f"{place}: {refusal_of_own_host(f'{host!r}, the server of {shown(url)!r},', 'the database')}"
                )


def _with_limit(url: str) -> str:
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


# Which types of PostgreSQL can be columns of a table, and how they are asked for.

_AS_THEY_ARE = (
    *("bool", "int4", "int8", "float4", "float8", "text", "varchar", "name"),
    *("date", "timestamp", "timestamptz"),
)
_CAST = {"int2": "int4", "numeric": "float8", "uuid": "text", "enum": "text", "bpchar": "text"}
_ADVICE = {
    "json": "{0} ->> 'a field'",
    "jsonb": "{0} ->> 'a field'",
    "interval": "extract(epoch from {0})",
    "time": "extract(epoch from {0})",
    "money": "{0}::numeric",
    "bytea": "encode({0}, 'hex')",
}

_FIRST, _LAST = -719_162, 2_932_896
"""The first day of the year 1 and the last of 9999, counted from 1970: other sources have no dates outside."""


def cast_of(name: str, kind: str, is_id: bool, place: str) -> str:
    """Return the SQL that asks for a column, with a cast where its type needs one.

    >>> cast_of("price", "numeric", False, "lab.toml")
    '"price"::float8 as "price"'
    >>> cast_of("visits", "_int4", False, "lab.toml")
    Traceback (most recent call last):
        ...
    assistlearn.errors.ColumnsError: lab.toml: column 'visits' is of PostgreSQL's type int4[], which cannot be a column
    of a table. Exclude it under [features], or write in the query, for example: "visits"[1] as "visits"
    """
    column = quoted(name)
    if is_id and kind == "numeric":
        return f"trim_scale({column})::text as {column}"
    if kind in _AS_THEY_ARE:
        return column
    if kind in _CAST:
        return f"{column}::{_CAST[kind]} as {column}"
    shown, advice = (f"{kind[1:]}[]", "{0}[1]") if kind.startswith("_") else (kind, _ADVICE.get(kind, "{0}::text"))
    raise ColumnsError(
        f"{place}: column {name!r} is of PostgreSQL's type {shown or 'unknown'}, which cannot be a column of a table. "
        f"Exclude it under [features], or write in the query, for example: {advice.format(column)} as {column}"
    )


def order_of(name: str, kind: str) -> str:
    """Return the SQL that orders rows by a column: text by its bytes, whatever the database's language.

    >>> order_of("patient", "text"), order_of("number", "int4")
    ('"query"."patient"::text collate "C"', '"query"."number"')
    """
    column = f'"query".{quoted(name)}'
    is_text = kind in ("text", "varchar", "name") or _CAST.get(kind) == "text"
    return f'{column}::text collate "C"' if is_text else column


def about_types(kinds: Sequence[str]) -> str:
    """Return a query: which types are enumerations, and the names of those that the driver knows only by number."""
    listed = ", ".join("'" + kind.replace("'", "''") + "'" for kind in kinds)
    return f"""
        select named, case when typtype = 'e' then 'enum' else format_type(oid, null) end
        from (select *, unnest(array[typname::text, 'unnamed<oid:' || oid || '>']) as named from pg_catalog.pg_type) t
        where named in ({listed})"""  # noqa: S608 quoted


def refuse_infinite_dates(frame: pl.DataFrame, place: str) -> None:
    for column in frame.iter_columns():
        if column.dtype == pl.Date:
            days = column.cast(pl.Int32)
        elif isinstance(column.dtype, pl.Datetime):
            days = column.cast(pl.Int64) // 86_400_000_000
        else:
            continue
        wrong = ((days < _FIRST) | (days > _LAST)).fill_null(False)
        if wrong.any():
            raise TableError(
                f"{place}: column {column.name!r} has {wrong.sum():,} dates that are infinite, or not of the years 1 "
                f"to 9999. Leave them empty in the query: nullif({quoted(column.name)}, 'infinity') as "
                f"{quoted(column.name)}"
            )


# Errors of a PostgreSQL server or its driver in our own words, with the remedy.

_PASSWORD = "Put the password into PGPASSWORD in the environment, or into ~/.pgpass (which only you may read)."  # noqa: S105

_SIGNS: tuple[tuple[str, str, str], ...] = (
    ("no password supplied", "it wants a password, and none was found", _PASSWORD),
    ("password authentication failed|pg_hba", "it does not let this user in", f"Name the user in the URL. {_PASSWORD}"),
    ("could not translate host name", "there is no such host", "Correct the URL."),
    ("Connection refused|No such file", "the connection is refused", "Check whether it runs, and on which port."),
    ('database ".*" does not exist', "there is no such database", "Correct the URL."),
    ("timeout expired|timed out", "it cannot be reached in time", "Check the network, or correct the URL."),
    ("SSL|certificate", "the encrypted connection failed", "Check sslmode and sslrootcert in the URL."),
    ("service file|definition of service", "the service is not known", "Check ~/.pg_service.conf or PGSERVICEFILE."),
    ("canceling statement due to statement timeout", "the query took too long",
     "Raise read_seconds in the agent's file, or make the query quicker."),
    ("starting up|shutting down|too many clients|remaining connection slots", "it is busy, or not up yet",
     "Try again in a while."),
    ("permission denied", "the user may not read all of it", "Ask its owner for: grant select on ... to ..."),
    ("read-only transaction|data-modifying statement", "the query would write", "It must be one SELECT."),
    ("server closed the connection|terminating connection|connection not open|SSL SYSCALL|no COPY in progress",
     "the connection broke", "Try again."),
)  # fmt: skip


def in_words(error: Exception, database: str, place: str) -> TableError:
    message = str(error)
    for sign, what, remedy in _SIGNS:
        if re.search(sign, message):
            kind = MissingTableError if what.startswith("there is no") else TableError
            return kind(f"{place}: {database} cannot be read: {what}. {remedy}")
    if "Failed to connect" in message:
        reason = message.partition("failed: ")[2] or message.partition("Failed to connect: ")[2]
        return TableError(f"{place}: {database} cannot be reached: {_line(reason)}. Correct the URL.")
    found = re.search(r"ERROR:\s*(.*)", message)
    reason = found[1] if found else message
    return TableError(
        f"{place}: the query failed: {_line(reason)}. It must be one SELECT, and only that. Correct it, or the "
        "database."
    )


def _line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip(".")
