"""A table in one Parquet file, or in several that have the same columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from assistlearn.errors import TableError


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


class ParquetSource:
    """The rows of some Parquet files, in the order of the files.

    Parameters
    ----------
    files : sequence of ParquetFile
        At least one.
    name : str
        What messages call the table.
    options : mapping, optional
        The engine's settings for an object store.
    trouble : callable, optional
        Returns our own error for an error of the engine; None where it is not about a store.
    """

    from_text = False

    def __init__(
        self,
        files: Sequence[ParquetFile],
        name: str,
        options: dict[str, Any] | None = None,
        trouble: Callable[[BaseException], TableError | None] = lambda error: None,
    ) -> None:
        self._files = files
        self._name = name
        self._options = options
        self._trouble = trouble

    def names(self) -> list[str]:
        """Return the names of all columns; refuse files whose columns differ."""
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
        with self._readable():
            return self._scan().select(columns).collect()

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
