"""A table in a CSV file of this machine, read by Polars.

Polars fills short rows without a warning, and for other faults it names neither the row nor the encoding. So the bytes
are looked at here, too.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import polars as pl

from assistlearn.errors import TableError
from assistlearn.tables.settings import ReadingLimits

SAMPLED_ROWS = 10_000
"""How many rows of a CSV file show the types of its columns. If a later value does not fit, the file is read again."""

PIECE = 1 << 20
"""Bytes that are looked at together."""

LONG_NAME = 1_000
"""Bytes; most names are shorter."""

_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class CsvSource:
    """A CSV file in UTF-8 with a header; packed by gzip, if its path ends in ``.gz``.

    ``name`` is what messages call it: its path, or the URL that it was copied from.
    """

    from_text = True

    def __init__(
        self, path: Path, separator: str, name: str, limits: ReadingLimits, missing_values: Sequence[str] = ()
    ) -> None:
        self.path = path
        self.separator = separator
        self._name = name
        self._limits = limits
        self._missing_values = list(missing_values)

    def __str__(self) -> str:
        return self._name

    def names(self) -> list[str]:
        """Refuse a file that is too large."""
        refuse_large(self, self._limits)
        return list(self._sampled)

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        numbers = [name for name in columns if name not in text and self._sampled[name].is_numeric()]
        last = list(self._sampled)[-1]
        with _named_errors(self):
            frame = self._collect([*columns, *({last} - {*columns})], numbers)
        if frame[last].has_nulls():  # the engine fills short rows with nulls
            refuse_ragged(self, len(self._sampled), only_short=True)
        return frame.select(columns)

    def _collect(self, columns: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
        """Read the columns in the quickest of three ways that works: looking for words for missing values is slow."""
        words, types = self._missing_values, self._types(numbers)
        if not self._are_words_among_numbers:
            with suppress(pl.exceptions.ComputeError):  # a later row has such a word
                return _without_words(self._scan(types, []).select(columns).collect(), words)
        try:
            return self._scan(types, words).select(columns).collect()
        except pl.exceptions.ComputeError:  # a later value is no number
            return self._scan(self._types(()), words).select(columns).collect()

    def _types(self, numbers: Sequence[str]) -> dict[str, Any]:
        return {name: pl.Float64 if name in numbers else pl.String for name in self._sampled}

    @cached_property
    def _are_words_among_numbers(self) -> bool:
        """Whether a word for missing values is a number itself, or stands among the first numbers of a column."""
        if any(_is_number(word) for word in self._missing_values):
            return True
        plain = self._scan(None, []).collect_schema()
        return any(plain[name].is_numeric() != dtype.is_numeric() for name, dtype in self._sampled.items())

    @cached_property
    def _sampled(self) -> pl.Schema:
        with _named_errors(self):
            schema = self._scan(None, self._missing_values).collect_schema()
        if not all(name.isprintable() for name in schema):
            refuse_encoding(self)
        _check_header(list(schema), self)
        return schema

    def _scan(self, types: dict[str, Any] | None, missing_values: list[str]) -> pl.LazyFrame:
        return pl.scan_csv(
            self.path,
            separator=self.separator,
            schema_overrides=types,
            null_values=missing_values,
            infer_schema_length=SAMPLED_ROWS if types is None else 0,
            glob=False,
        )


def _without_words(frame: pl.DataFrame, words: Sequence[str]) -> pl.DataFrame:
    for name in [name for name, dtype in frame.schema.items() if dtype == pl.String]:
        gone = frame[name].is_in(words)
        if gone.any():
            frame = frame.with_columns(frame[name].set(gone.fill_null(False), None))
    return frame


def _is_number(word: str) -> bool:
    try:
        return not math.isnan(float(word))
    except ValueError:
        return False


@contextmanager
def _named_errors(table: CsvSource) -> Iterator[None]:
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
        message = str(error).strip().partition("\n")[0].replace(str(table.path), str(table))
        raise TableError(
            f"{table} cannot be read: {message}. It must be UTF-8 text with a header, and every row must have as many "
            "values as the header, with the separator that the key 'separator' names between them."
        ) from error


def _check_header(names: list[str], table: CsvSource) -> None:
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
                    f"agent's file: separator = {json.dumps(sign)}"
                )


def refuse_large(table: CsvSource, limits: ReadingLimits) -> None:
    """Unpack the file in pieces: a line is at most as long as all its values together."""
    name = str(table)
    with _unpacked(table) as file:
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


def refuse_encoding(table: CsvSource) -> None:
    """Refuse what is not UTF-8, and lines that end in CR."""
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


def refuse_ragged(table: CsvSource, n_columns: int, *, only_short: bool) -> None:
    """Raise ``TableError`` if a row has more or fewer values than the header.

    If Polars has found no long row, separators are counted line by line, which is fast, and values are read one by one
    only if a line may be too short.
    """
    if only_short:
        separator = table.separator.encode()
        with _opened(table) as file:  # a line with too few separators lacks values, or its row goes on in another line
            if not any(line.count(separator) < n_columns - 1 and line.strip() for line in file):
                return
    with _opened(table) as file:
        reader = csv.reader(codecs.iterdecode(file, "utf-8-sig", errors="replace"), delimiter=table.separator)
        try:
            _refuse_first(reader, table, n_columns)
        except csv.Error as error:
            raise TableError(f"{table}, line {reader.line_num}: {error}. Write the table again as CSV.") from None


def _refuse_first(reader: Any, table: CsvSource, n_columns: int) -> None:
    next(reader, None)
    for row, values in enumerate(reader, start=1):
        if values and len(values) != n_columns:
            raise TableError(
                f"{table}: row {row} (line {reader.line_num}) has {len(values)} "
                f"{'value' if len(values) == 1 else 'values'}, and the header has {n_columns} columns. Write as "
                f"many values in every row. Put a value that contains {table.separator!r} in double quotes."
            )


@contextmanager
def _unpacked(table: CsvSource) -> Iterator[IO[bytes] | gzip.GzipFile]:
    try:
        with _opened(table) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"{table} cannot be read: {error}. It must be a whole file, packed by gzip.") from None


@contextmanager
def _opened(table: CsvSource) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with table.path.open("rb") as file:
        if table.path.suffix.lower() == ".gz":
            with gzip.open(file) as unpacked:
                yield unpacked
        else:
            yield file
