"""A table in one Parquet file, or in several that have the same columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import polars as pl

from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.errors import TableError
from assistlearn.tables.sources.parquet_footer import Footer, FooterError, read_footer, unpacked


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file.

    Attributes
    ----------
    place : str
        Its path, or its URL.
    name : str
        What messages call it.
    partition : mapping from str to str or None
        Columns and values that the names of its folders give for all its rows, as in ``year=2020``.
    """

    place: str
    name: str
    partition: Mapping[str, str | None] = field(default_factory=dict)


def _open_here(place: str) -> BinaryIO:
    return open(place, "rb")


class ParquetSource:
    """The rows of some Parquet files, in the order of the files.

    Parameters
    ----------
    files : sequence of ParquetFile
        At least one.
    name : str
        What messages call the table.
    limits : ReadingLimits
        How large the table may be.
    options : mapping, optional
        The engine's settings for an object store.
    trouble : callable, optional
        Returns our own error for an error of the engine; None where it is not about a store.
    opened : callable, optional
        Opens a file by its place, to look at its footer.
    """

    from_text = False

    def __init__(
        self,
        files: Sequence[ParquetFile],
        name: str,
        limits: ReadingLimits,
        options: dict[str, Any] | None = None,
        trouble: Callable[[BaseException], TableError | None] = lambda error: None,
        opened: Callable[[str], AbstractContextManager[BinaryIO]] = _open_here,
    ) -> None:
        self._files = files
        self._name = name
        self._limits = limits
        self._footers: list[Footer] = []
        self._options = options
        self._trouble = trouble
        self._opened = opened

    def names(self) -> list[str]:
        """Return the names of all columns; refuse files whose columns differ, or that are too large."""
        self._footers = list(map(self._footer, self._files))
        columns_of = max(len(footer.chunks) for footer in self._footers)
        self._limits.check(self._name, sum(footer.n_rows for footer in self._footers), columns_of)
        first, *others = self._files
        with self._readable(first):
            columns = self._scan_one(first).collect_schema()
        for file in others:
            with self._readable(file):
                found = self._scan_one(file).collect_schema()
            _refuse_other_columns(file, found, first, columns)
        return [*columns, *self._partitions(columns)]

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns with the types they have in the files."""
        self._check_memory(columns)
        with self._readable():
            return self._scan().select(columns).collect()

    def _footer(self, file: ParquetFile) -> Footer:
        with self._looked_at(file), self._opened(file.place) as opened:
            return read_footer(opened)

    def _check_memory(self, columns: Sequence[str]) -> None:
        """Refuse columns that unpack to more than is allowed. In a store, only the footer is asked."""
        n_bytes = n_values = 0
        for file, footer in zip(self._files, self._footers, strict=True):
            with self._looked_at(file), self._opened(file.place) as opened:
                found = unpacked(opened if self._options is None else None, footer, columns)
            n_bytes, n_values = n_bytes + found[0], n_values + found[1]
        self._limits.check_memory(self._name, n_bytes, n_values)

    @contextmanager
    def _looked_at(self, file: ParquetFile) -> Iterator[None]:
        try:
            yield
        except FooterError as error:
            raise TableError(f"{file.name} cannot be read: {error}. It must be a whole Parquet file.") from None

    def _scan(self) -> pl.LazyFrame:
        partitions = self._partitions(self._scan_one(self._files[0]).collect_schema())
        if not partitions:
            return self._scan_these([file.place for file in self._files])
        values = {name: _typed([file.partition[name] for file in self._files], name) for name in partitions}
        return pl.concat(
            self._scan_one(file).with_columns(
                pl.lit(known[row], dtype=known.dtype).alias(name) for name, known in values.items()
            )
            for row, file in enumerate(self._files)
        )

    def _partitions(self, columns: Mapping[str, Any]) -> list[str]:
        """Return the columns that only the names of folders give."""
        return [name for name in self._files[0].partition if name not in columns]

    def _scan_one(self, file: ParquetFile) -> pl.LazyFrame:
        return self._scan_these([file.place])

    def _scan_these(self, places: list[str]) -> pl.LazyFrame:
        return pl.scan_parquet(places, glob=False, hive_partitioning=False, storage_options=self._options)

    @contextmanager
    def _readable(self, file: ParquetFile | None = None) -> Iterator[None]:
        """Turn the engine's complaints into errors that name the file."""
        try:
            yield
        except (pl.exceptions.PolarsError, OSError) as error:
            known = self._trouble(error)
            if known is not None:
                raise known from None
            said = str(error).strip().partition("\n")[0]
            where = self._name if file is None else file.name
            raise TableError(f"{where} cannot be read: {said}. It must be a whole Parquet file.") from error


def _refuse_other_columns(file: ParquetFile, found: pl.Schema, first: ParquetFile, columns: pl.Schema) -> None:
    remedy = "All files of a folder must have the same columns: write it again, or take this file out."
    for name in [*columns, *found]:
        if name not in found:
            raise TableError(f"{file.name} has no column {name!r}, which {first.name} has. {remedy}")
        if name not in columns:
            raise TableError(f"{file.name} has a column {name!r}, which {first.name} has not. {remedy}")
        if found[name] != columns[name]:
            raise TableError(
                f"{file.name}: column {name!r} is of type {found[name]}, and of type {columns[name]} in {first.name}. "
                f"{remedy}"
            )
    if list(file.partition) != list(first.partition):
        said = [", ".join(f"{name}=" for name in each.partition) or "nothing" for each in (file, first)]
        raise TableError(
            f"{file.name}: the names of its folders say {said[0]}, and those of {first.name} {said[1]}. {remedy}"
        )


def _typed(values: Sequence[str | None], name: str) -> pl.Series:
    """Return values from the names of folders as whole numbers, dates or text: the first type that fits all.

    >>> _typed(["2020", None], "year").to_list(), _typed(["07", "x"], "code").to_list()
    ([2020, None], ['07', 'x'])
    """
    text = pl.Series(name, values, dtype=pl.String)
    for read in (text.cast(pl.Int64, strict=False), text.str.to_date("%Y-%m-%d", strict=False)):
        if read.null_count() == text.null_count():
            return read
    return text
