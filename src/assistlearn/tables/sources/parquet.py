"""A table in one Parquet file, or in several that have the same columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import polars as pl

from assistlearn.errors import MissingTableError, TableError
from assistlearn.tables.settings import ReadingLimits
from assistlearn.tables.sources.reader import apart

MAGIC = b"PAR1"

LARGEST_FOOTER = 64 << 20

DEEPEST = 32
"""How deep columns may be nested; each list takes two levels."""

MOST_PAGES = 1_000_000

HEAD, LARGEST_HEAD = 512, 16 << 20
"""Bytes that are read first for the head of a page, and at the most: it may hold the least and the largest value."""

DELTA_BYTE_ARRAY = 7
"""An encoding by which each text begins like the one before; how long the texts are is only known when all are made."""

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""The value in a folder's name, after ``=``, that means a missing value."""


@dataclass(frozen=True)
class ParquetFile:
    """A Parquet file: its path or URL, and what messages call it.

    ``partition`` are columns and values that the names of its folders give for all its rows, as in ``year=2020``.
    """

    place: str
    name: str
    partition: Mapping[str, str | None] = field(default_factory=dict)


def _open_here(place: str) -> BinaryIO:
    return open(place, "rb")


class ParquetSource:
    """The rows of some Parquet files, at least one, in the order of the files.

    For those in an object store, ``options`` are the engine's settings, ``trouble`` returns our own error for an error
    of the engine (None where it is not about a store), and ``opened`` opens a file by its place, to look at its footer.
    """

    from_text = False

    def __init__(
        self,
        files: Sequence[ParquetFile],
        name: str,
        limits: ReadingLimits,
        seconds: float,
        options: dict[str, Any] | None = None,
        trouble: Callable[[BaseException], TableError | None] = lambda error: None,
        opened: Callable[[str], AbstractContextManager[BinaryIO]] = _open_here,
    ) -> None:
        self._files = files
        self._name = name
        self._limits = limits
        self._seconds = seconds
        self._footers: list[Footer] = []
        self._options = options
        self._trouble = trouble
        self._opened = opened

    def names(self) -> list[str]:
        """Refuse files whose columns differ, or that are too large."""
        self._footers = list(map(self._footer, self._files))
        columns_of = max(len(footer.chunks) for footer in self._footers)
        self._limits.check(self._name, sum(footer.n_rows for footer in self._footers), columns_of)
        columns, other = self._apart(columns_of_files)
        if other is not None:
            place, found = other
            _refuse_other_columns(self._files[place], found, self._files[0], columns)
        for file in self._files[1:]:
            _refuse_other_folders(file, self._files[0])
        return [*columns, *(name for name in self._files[0].partition if name not in columns)]

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        self._check_memory(columns)
        rows: pl.DataFrame = self._apart(rows_of_files, list(columns))
        return rows

    def _apart(self, work: Callable[..., Any], *arguments: Any) -> Any:
        files = [[file.place, dict(file.partition)] for file in self._files]
        try:
            return apart(work, [files, self._options, *arguments], self._name, self._limits, self._seconds)
        except (pl.exceptions.PolarsError, OSError) as error:
            if isinstance(error, TableError):
                raise
            known = self._trouble(error)
            if known is not None:
                raise known from None
            message = str(error).strip().partition("\n")[0]
            raise TableError(f"{self._name} cannot be read: {message}. It must be a whole Parquet file.") from error

    def _footer(self, file: ParquetFile) -> Footer:
        with self._looked_at(file), self._opened(file.place) as opened:
            return read_footer(opened)

    def _check_memory(self, columns: Sequence[str]) -> None:
        """Refuse columns that unpack to too much. In a store, only the footer is asked."""
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


_REMEDY = "All files of a folder must have the same columns: write it again, or take this file out."


def _refuse_other_columns(
    file: ParquetFile, found: dict[str, str], first: ParquetFile, columns: dict[str, str]
) -> None:
    for name in [*columns, *found]:
        if name not in found:
            raise TableError(f"{file.name} has no column {name!r}, which {first.name} has. {_REMEDY}")
        if name not in columns:
            raise TableError(f"{file.name} has a column {name!r}, which {first.name} has not. {_REMEDY}")
        if found[name] != columns[name]:
            raise TableError(
                f"{file.name}: column {name!r} is of type {found[name]}, and of type {columns[name]} in {first.name}. "
                f"{_REMEDY}"
            )


def _refuse_other_folders(file: ParquetFile, first: ParquetFile) -> None:
    if list(file.partition) != list(first.partition):
        named = [", ".join(f"{name}=" for name in each.partition) or "nothing" for each in (file, first)]
        raise TableError(
            f"{file.name}: the names of its folders say {named[0]}, and those of {first.name} {named[1]}. {_REMEDY}"
        )


# In the reader's process: files are pairs of a place and what the names of its folders say.


def columns_of_files(files: Sequence[Any], options: dict[str, Any] | None) -> tuple[Any, Any]:
    """Return the columns of the first file with their types, and the place and columns of the first that differs."""
    columns: dict[str, str] = {}
    for place, (file, _) in enumerate(files):
        found = {name: str(kind) for name, kind in _scan([file], options).collect_schema().items()}
        columns = columns or found
        if found != columns:
            return columns, (place, found)
    return columns, None


def rows_of_files(files: Sequence[Any], options: dict[str, Any] | None, columns: Sequence[str]) -> pl.LazyFrame:
    there = _scan([files[0][0]], options).collect_schema()
    named = [name for name in files[0][1] if name not in there]
    if not named:
        return _scan([file for file, _ in files], options).select(columns)
    values = {name: _typed([partition[name] for _, partition in files], name) for name in named}
    return pl.concat(
        _scan([file], options).with_columns(
            pl.lit(known[row], dtype=known.dtype).alias(name) for name, known in values.items()
        )
        for row, (file, _) in enumerate(files)
    ).select(columns)


def _scan(files: list[str], options: dict[str, Any] | None) -> pl.LazyFrame:
    return pl.scan_parquet(files, glob=False, hive_partitioning=False, storage_options=options)


def _typed(values: Sequence[str | None], name: str) -> pl.Series:
    """Return values from the names of folders as whole numbers, dates or text: the first type that fits all."""
    text = pl.Series(name, values, dtype=pl.String)
    for read in (text.cast(pl.Int64, strict=False), text.str.to_date("%Y-%m-%d", strict=False)):
        if read.null_count() == text.null_count():
            return read
    return text


def files_of_folder(folder: Path, place: str) -> list[ParquetFile]:
    below = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    chosen = table_files(below)
    if not chosen:
        raise MissingTableError(
            f"{place}: the folder {folder} (table) has no Parquet file: none ends in .parquet. Put some there, or "
            "correct the path, which is relative to the agent's file."
        )
    return [ParquetFile(str(folder / each), str(folder / each), partition_of(each)) for each in chosen]


def table_files(paths: Iterable[str]) -> list[str]:
    """Return the files that belong to a folder's table, in alphabetical order: those that end in ``.parquet``.

    Files in folders below belong to it, too. Files and folders whose names begin with ``_`` or ``.`` are for the
    program that wrote them, and are left out.
    """
    return sorted(
        path
        for path in paths
        if path.lower().endswith(".parquet") and not any(part.startswith(("_", ".")) for part in path.split("/"))
    )


def partition_of(path: str) -> dict[str, str | None]:
    """Return the columns and values that the names of a file's folders give."""
    pairs = [part.partition("=") for part in path.split("/")[:-1]]
    return {unquote(name): None if value == NOTHING else unquote(value) for name, sign, value in pairs if sign and name}


# What a Parquet file says of itself is read before an engine reads it: rows, columns, nesting, and what it unpacks to.
# A small file can say that it has a billion rows, or columns nested so deep that an engine goes down with the whole
# process. Engines offer no way to look at a file without trusting it, so its footer is read here. It is written in
# Thrift's compact protocol, of which a few lines are enough. A footer may also lie about its pages, so the head of each
# is read.


class FooterError(ValueError):
    """Words that follow the file's name."""


@dataclass(frozen=True)
class Footer:
    """What a Parquet file says of itself: how many rows, and for each column what is said of its pieces.

    ``chunks`` go by the numbers that the format gives the fields of a piece.
    """

    n_rows: int
    chunks: dict[str, list[dict[int, Any]]]


def read_footer(file: BinaryIO) -> Footer:
    """Raise ``FooterError`` for a file that is none, damaged or nested too deep."""
    with _damaged("its footer is damaged"):
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 8, 0))
        end = bytes(file.read(8))
        length = int.from_bytes(end[:4], "little")
        if end[4:] != MAGIC or length > size - 8:
            raise FooterError("it does not end as a Parquet file does")
        if length > LARGEST_FOOTER:
            raise FooterError(f"its footer has {length:,} bytes")
        file.seek(size - 8 - length)
        fields = _Thrift(bytes(file.read(length))).struct()
        _check_depth(fields[2])
        groups = fields.get(4, [])
        chunks: dict[str, list[dict[int, Any]]] = {}
        for column in (chunk[3] for group in groups for chunk in group[1]):
            chunks.setdefault(column[3][0].decode(), []).append(column)
        return Footer(max(fields[3], sum(max(group[3], 0) for group in groups)), chunks)


def unpacked(file: BinaryIO | None, footer: Footer, columns: Iterable[str]) -> tuple[int, int]:
    """Return how many bytes some columns unpack to, and how many values they have.

    The heads of the pages are read from ``file``, since the footer may lie about them. None: only the footer is asked.
    """
    n_bytes = n_values = n_pages = 0
    with _damaged("its pages are damaged"):
        for column in (chunk for name in columns for chunk in footer.chunks.get(name, ())):
            heads = [] if file is None else list(_heads(file, column))
            n_pages += len(heads)
            if n_pages > MOST_PAGES:
                raise FooterError(f"it has more than {MOST_PAGES:,} pages")
            found = [_of_page(head) for head in heads]
            values = max(0, int(column[5]), sum(each for _, each in found))
            n_bytes += max(0, int(column[6]), sum(each for each, _ in found), *_from_dictionary(heads, values))
            n_values += values
    return n_bytes, n_values


@contextmanager
def _damaged(words: str) -> Iterator[None]:
    """Turn every error that numbers of a crafted file can cause into one of ours."""
    try:
        yield
    except FooterError:
        raise
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise FooterError(words) from error


def _check_depth(schema: list[dict[int, Any]]) -> None:
    """Refuse columns that are nested too deep. The schema lists each column before the columns inside it."""
    open_: list[int] = []
    for element in schema:
        while open_ and open_[-1] == 0:
            open_.pop()
        if open_:
            open_[-1] -= 1
        open_.append(element.get(5, 0))
        if len(open_) > DEEPEST:
            raise FooterError(f"it has columns that are nested more than {DEEPEST} deep")


def _heads(file: BinaryIO, column: dict[int, Any]) -> Iterator[dict[int, Any]]:
    """Yield the heads of a column's pages: each page lies behind its head, and the next head behind it."""
    first = column.get(11) or column[9]
    place = min(first, column[9])
    end = place + column[7]
    while 0 <= place < end:
        head, length = _head(file, place)
        yield head
        if head[3] < 0:
            raise FooterError("its pages are damaged")
        place += length + int(head[3])


def _head(file: BinaryIO, place: int) -> tuple[dict[int, Any], int]:
    long = HEAD
    while True:
        file.seek(place)
        thrift = _Thrift(bytes(file.read(long)))
        try:
            return thrift.struct(), thrift.place
        except IndexError:
            if long >= LARGEST_HEAD:
                raise
            long *= 32


def _of_page(head: dict[int, Any]) -> tuple[int, int]:
    data = head.get(5) or head.get(8) or {}
    if data.get(2 if 5 in head else 4) == DELTA_BYTE_ARRAY:
        raise FooterError("it has texts in the encoding DELTA_BYTE_ARRAY, whose size nobody can know before")
    return max(int(head[2]), 0), max(int(data.get(1, 0)), 0)


def _from_dictionary(heads: Iterable[dict[int, Any]], n_values: int) -> Iterator[int]:
    """Yield how many bytes values have about that all stand in a dictionary: each as many as those there on average."""
    for head in heads:
        if 7 in head:
            yield n_values * max(int(head[2]), 0) // max(int(head[7].get(1, 1)), 1)


class _Thrift:
    """Reads values of Thrift's compact protocol; a structure becomes a dict from the number of a field to its value."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > DEEPEST:
            raise FooterError("its footer is damaged")
        found: dict[int, Any] = {}
        field = 0
        while kind := self._byte():
            field = field + (kind >> 4) if kind >> 4 else self._whole()
            found[field] = self._value(kind & 15, depth + 1)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._whole()
        if kind in (7, 8):
            return self._bytes(8 if kind == 7 else self._varint())
        if kind in (9, 10):
            return self._list(depth)
        if kind == 12:
            return self.struct(depth)
        raise FooterError("its footer is damaged")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        n = head >> 4 if head >> 4 < 15 else self._varint()
        if n > len(self._data) or depth > DEEPEST:  # each takes a byte at least
            raise FooterError("its footer is damaged")
        kind = head & 15
        return [self._byte() == 1 if kind in (1, 2) else self._value(kind, depth + 1) for _ in range(n)]

    def _bytes(self, n: int) -> bytes:
        if self.place + n > len(self._data):
            raise IndexError
        self.place += n
        return self._data[self.place - n : self.place]

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise FooterError("its footer is damaged")

    def _whole(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
