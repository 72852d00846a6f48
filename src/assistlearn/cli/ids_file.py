"""Read the file with the ids to predict, in the same way as agents' tables. Errors name the place in the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assistlearn.errors import TableError

if TYPE_CHECKING:
    import polars as pl

    from assistlearn.agent_files.reading_limits import ReadingLimits
    from assistlearn.runs.folder import RunFolder
    from assistlearn.tables.sources.source import Source


def ids_in(file: Path, folder: RunFolder) -> pl.Series:
    """Return the ids in a file; raise an error if an id is missing or occurs twice."""
    from assistlearn.agent_files import load_description
    from assistlearn.alignment import Ids, join_ids

    settings = folder.settings()
    description = load_description(settings.files[settings.initiator])
    names = description.id
    source = _source(file, names, description.reading)
    there = source.names()
    for name in names:
        if name not in there:
            raise TableError(
                f"{file} has no column {name!r}, which holds the ids at {settings.initiator!r}. Its columns are "
                f"{', '.join(map(repr, there))}. Rename the column with the ids to {name!r}, in the first line of the "
                "file."
            )
    frame = source.read(names, names)
    ids = frame[names[0]] if len(names) == 1 else join_ids([frame[name] for name in names], str(file))
    Ids(ids, str(file))
    return ids


def _source(file: Path, names: Sequence[str], limits: ReadingLimits) -> Source:
    from assistlearn.tables.sources.csv_source import CsvSource
    from assistlearn.tables.sources.parquet_source import ParquetFile, ParquetSource
    from assistlearn.tables.sources.raw_csv import CsvFile

    if file.is_dir():
        raise TableError(f"{file} is a folder. Name a file with ids: CSV or Parquet.")
    if not file.is_file():
        raise TableError(f"{file}: there is no such file.")
    if file.suffix.lower() == ".parquet":
        return ParquetSource([ParquetFile(str(file), str(file))], str(file), limits)
    return CsvSource(CsvFile(file, _separator(file, names), str(file)), limits=limits)


def _separator(file: Path, names: Sequence[str]) -> str:
    """Return the separator with which the header has the id columns; a comma if there is none."""
    with file.open("rb") as opened:
        header = opened.readline(2**16).decode(errors="replace").strip("\ufeff\r\n")
    for sign in ",;\t|":
        if set(names) <= {name.strip('"') for name in header.split(sign)}:
            return sign
    return ","
