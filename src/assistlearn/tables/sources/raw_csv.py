"""A look at the bytes of a CSV file: its encoding, and rows that have too few or too many values.

Polars fills short rows without a warning. For other faults it names neither the row nor the encoding.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.errors import TableError

PIECE = 1 << 20
"""Bytes of a file that are looked at together."""

LONG_NAME = 1_000
"""Bytes of a column's name, which most are shorter than."""

_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class CsvFile:
    """A CSV file on this machine.

    Attributes
    ----------
    path : Path
        Where its bytes are. If it ends in ``.gz``, they are compressed.
    separator : str
        What stands between its values.
    name : str
        What messages call it: its path, or the URL that it was copied from.
    """

    path: Path
    separator: str
    name: str

    def __str__(self) -> str:
        return self.name


def refuse_large(table: CsvFile, limits: ReadingLimits) -> None:
    """Raise ``TableError`` if a file has more rows, columns or bytes than its owner allows; it is unpacked in pieces.

    A line is at most as long as all its values together. How long each value is, is looked at after reading.
    """
    name = str(table)
    with _readable(table) as file:
        n_columns = file.readline(limits.max_columns * LONG_NAME).count(table.separator.encode()) + 1
        limits.check(name, n_columns=n_columns)
        file.seek(0)
        longest = limits.max_cell * n_columns
        n_bytes, n_lines, line = 0, 0, 0
        while piece := file.read(PIECE):
            n_bytes += len(piece)
            n_lines += piece.count(b"\n")
            end = piece.rfind(b"\n")
            line = line + len(piece) if end < 0 else len(piece) - end - 1
            if line > longest:
                limits.refuse(name, "max_cell", f"a line of more than {longest:,} bytes for {n_columns:,} columns")
            limits.check(name, n_rows=n_lines - 1)
            limits.check_memory(name, n_bytes, (n_lines - 1) * n_columns)


@contextmanager
def _readable(table: CsvFile) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file; where it cannot be unpacked, say so."""
    try:
        with _opened(table) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"{table} cannot be read: {error}. It must be a whole file, packed by gzip.") from None


def refuse_encoding(table: CsvFile) -> None:
    """Raise ``TableError`` if a file is not UTF-8, with the line and the probable encoding; or if lines end in CR."""
    with _opened(table) as file:
        start = file.read(4)
        if start.startswith(_BOMS) or b"\x00" in start:
            raise TableError(f"{table} is written in UTF-16 or UTF-32. Save it as UTF-8.")
        file.seek(0)
        for number, line in enumerate(file):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                likely = "Windows-1252" if 0x80 <= byte <= 0x9F else "Latin-1 or Windows-1252"
                shown = line[max(error.start - 10, 0) : error.end + 10].decode("latin-1").strip()
                raise TableError(
                    f"{table} is not UTF-8: line {number + 1} has the byte 0x{byte:02x} ({shown!r}). It is probably "
                    f"{likely}. Save it as UTF-8, for example by: iconv -f WINDOWS-1252 -t UTF-8"
                ) from None
        file.seek(0)
        start = file.read(2**16)
        if b"\r" in start and b"\n" not in start:
            raise TableError(f"{table} ends its lines as old Macintoshes did (CR). Save it with line feeds (LF).")


def refuse_ragged(table: CsvFile, n_columns: int, *, only_short: bool) -> None:
    """Raise ``TableError`` if a row has more or fewer values than the header.

    Parameters
    ----------
    table : CsvFile
        The file.
    n_columns : int
        How many columns the header has.
    only_short : bool
        Whether Polars has found no long row. Then separators are counted line by line, which is fast, and values are
        read one by one only if a line may be too short.
    """
    if only_short and not _some_short(table, n_columns):
        return
    with _opened(table) as file:
        reader = csv.reader(codecs.iterdecode(file, "utf-8-sig", errors="replace"), delimiter=table.separator)
        try:
            _refuse_first(reader, table, n_columns)
        except csv.Error as error:
            raise TableError(f"{table}, line {reader.line_num}: {error}. Write the table again as CSV.") from None


def _refuse_first(reader: Any, table: CsvFile, n_columns: int) -> None:
    """Refuse the first row that has another number of values than the header."""
    next(reader, None)
    for row, values in enumerate(reader, start=1):
        if values and len(values) != n_columns:
            raise TableError(
                f"{table}: row {row} (line {reader.line_num}) has {len(values)} "
                f"{'value' if len(values) == 1 else 'values'}, and the header has {n_columns} columns. Write as "
                f"many values in every row. Put a value that contains {table.separator!r} in double quotes."
            )


def _some_short(table: CsvFile, n_columns: int) -> bool:
    """Return whether a line has too few separators: it lacks values, or its row goes on in another line."""
    separator = table.separator.encode()
    with _opened(table) as file:
        return any(line.count(separator) < n_columns - 1 and line.strip() for line in file)


@contextmanager
def _opened(table: CsvFile) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with table.path.open("rb") as file:
        if table.path.suffix.lower() == ".gz":
            with gzip.open(file) as unpacked:
                yield unpacked
        else:
            yield file
