"""Open the source of an agent's table: the place that the agent's file names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from assistlearn.agent_files.addresses import WEB, scheme_of
from assistlearn.agent_files.table_source import TableFile, TableQuery, TableUrl
from assistlearn.errors import MissingTableError, TableError
from assistlearn.tables.sources.csv_source import CsvSource
from assistlearn.tables.sources.duckdb_source import DuckdbSource
from assistlearn.tables.sources.object_source import ObjectParquetSource, object_file
from assistlearn.tables.sources.parquet_folder import files_of_folder
from assistlearn.tables.sources.parquet_source import ParquetFile, ParquetSource
from assistlearn.tables.sources.postgres_source import PostgresSource
from assistlearn.tables.sources.raw_csv import CsvFile
from assistlearn.tables.sources.source import Source
from assistlearn.tables.sources.sqlite_source import SqliteSource, is_sqlite
from assistlearn.tables.sources.web_file import web_file
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from assistlearn.agent_files.agent_file import AgentDescription


@contextmanager
def open_source(description: AgentDescription) -> Iterator[Source]:
    """Yield the source of an agent's table; a missing file is an error. Temporary copies are removed afterwards."""
    table = description.table
    with ExitStack() as stack:
        if isinstance(table, TableQuery):
            yield _of_query(table, description)
        elif isinstance(table, TableUrl):
            yield _of_url(table, description, stack)
        else:
            yield _of_file(table, description)


def _of_query(table: TableQuery, description: AgentDescription) -> Source:
    place, database = description.places("query"), table.database
    if isinstance(database, str):
        return PostgresSource(
            table.query, database, description.id, place, description.read_seconds, description.reading
        )
    if database is not None:
        _require_file(database, description, "database")
        if is_sqlite(database):
            return SqliteSource(table.query, database, description.id, place, description.reading)
    return DuckdbSource(table, description.id, place, description.reading)


def _of_url(table: TableUrl, description: AgentDescription, stack: ExitStack) -> Source:
    place, seconds = description.places("table"), description.read_seconds
    path = table.url.partition("?")[0].lower()
    if scheme_of(table.url) in WEB:
        file = stack.enter_context(web_file(table, place, seconds, description.reading, description.local_server))
    elif path.endswith((".parquet", "/")):
        return ObjectParquetSource(table, place, seconds, description.reading)
    else:
        file = stack.enter_context(object_file(table, place, seconds, description.reading))
    return _in_file(file, table.separator, str(table), description)


def _of_file(table: TableFile, description: AgentDescription) -> Source:
    place, name = description.places("table"), table.path.name.lower()
    if table.path.is_dir() and (table.is_folder or name.endswith(".parquet")):
        return ParquetSource(files_of_folder(table.path, place), str(table), description.reading)
    if table.is_folder:
        raise MissingTableError(
            f"{place}: there is no folder {table} (table). Put it there, or correct the path, which is relative to the "
            "agent's file."
        )
    _require_file(table.path, description, "table")
    return _in_file(table.path, table.separator, str(table), description)


def _in_file(path: Path, separator: str, name: str, description: AgentDescription) -> Source:
    if path.suffix.lower() == ".parquet":
        return ParquetSource([ParquetFile(str(path), name)], name, description.reading)
    return CsvSource(CsvFile(path, separator, name), description.preprocessing.missing_values, description.reading)


def _require_file(path: Path, description: AgentDescription, key: str) -> None:
    if path.is_dir():
        raise TableError(f"{description.places(key)}: {path} ({key}) is a folder. Name a file.")
    if not path.is_file():
        raise MissingTableError(
            f"{description.places(key)}: there is no file {path} ({key}). Put it there, or correct the path, which is "
            "relative to the agent's file."
        )
