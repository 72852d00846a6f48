"""A table in an object store: Parquet is read in the store, a CSV file is copied to this machine first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import polars as pl

from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.agent_files.table_source import TableUrl
from assistlearn.errors import TableError
from assistlearn.protocol.bounded import within
from assistlearn.tables.sources.parquet_folder import counted, partition_of
from assistlearn.tables.sources.parquet_source import ParquetFile, ParquetSource
from assistlearn.tables.sources.remote_objects import RemoteObject, RemoteObjects, engine_options, require_some
from assistlearn.tables.sources.remote_trouble import told_apart, trouble_with
from assistlearn.tables.sources.web_file import ending_of, refuse_page

Result = TypeVar("Result")


@contextmanager
def object_file(table: TableUrl, place: str, seconds: float, limits: ReadingLimits) -> Iterator[Path]:
    """Copy an object into a temporary file, and yield its path. The file is removed afterwards."""
    with TemporaryDirectory(prefix="assistlearn-") as folder:
        file = Path(folder, "table" + ending_of(table))
        with told_apart(table, place):
            within(seconds, RemoteObjects(table).fetch, file, limits)
        refuse_page(file, table, place)
        yield file


class ObjectParquetSource:
    """Parquet in an object store: one object, or all below a prefix. Objects that change while read are refused."""

    from_text = False

    def __init__(self, table: TableUrl, place: str, seconds: float, limits: ReadingLimits) -> None:
        self._table = table
        self._place = place
        self._seconds = seconds
        self._limits = limits
        self._objects = RemoteObjects(table)
        self._seen = self._bounded(self._look)
        self._parquet = self._source()

    def names(self) -> list[str]:
        """Return the names of all columns."""
        return self._bounded(self._parquet.names)

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns; raise ``TableError`` if the objects have changed in the meantime."""
        try:
            frame = self._bounded(self._parquet.read, columns, text)
        except TableError:
            self._refuse_changed()  # if it was changed, that explains the error
            raise
        self._refuse_changed()
        return frame

    def _look(self) -> list[RemoteObject]:
        found = {each.key: each for each in self._objects.look()}
        if not self._objects.key.endswith("/") and self._objects.key:
            return list(found.values())
        n = len(self._objects.key)
        below = {key[n:]: each for key, each in found.items()}
        return [below[key] for key in counted(below)]

    def _source(self) -> ParquetSource:
        require_some(self._seen, self._table, self._place)
        n = self._objects.key.rfind("/") + 1
        files = [
            ParquetFile(self._objects.url(each.key), self._objects.url(each.key), partition_of(each.key[n:]))
            for each in self._seen
        ]
        trouble = partial(trouble_with, table=self._table, place=self._place)
        return ParquetSource(files, str(self._table), self._limits, engine_options(), trouble, self._objects.opened)

    def _refuse_changed(self) -> None:
        if self._bounded(self._look) != self._seen:
            raise TableError(
                f"{self._place}: the table {self._table} was changed while it was read. Try again. Write tables under "
                "a new name, so that nobody reads half of one."
            )

    def _bounded(self, work: Callable[..., Result], *arguments: object) -> Result:
        with told_apart(self._table, self._place):
            return within(self._seconds, work, *arguments)
