"""Which files of a folder are its table: those that end in ``.parquet``, by their paths, in alphabetical order.

Files in folders below belong to the table, too, and a folder's name such as ``year=2020`` gives a column. Files and
folders whose names begin with ``_`` or ``.`` are for the program that wrote them, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from assistlearn.errors import MissingTableError
from assistlearn.tables.sources.parquet_source import ParquetFile

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""The value in a folder's name, after ``=``, that means a missing value."""


def files_of_folder(folder: Path, place: str) -> list[ParquetFile]:
    """Return the Parquet files of a folder of this machine."""
    below = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    chosen = counted(below)
    if not chosen:
        raise MissingTableError(
            f"{place}: the folder {folder} (table) has no Parquet file: none ends in .parquet. Put some there, or "
            "correct the path, which is relative to the agent's file."
        )
    return [ParquetFile(str(folder / each), str(folder / each), partition_of(each)) for each in chosen]


def counted(paths: Iterable[str]) -> list[str]:
    """Return the files of a folder that belong to its table, in alphabetical order.

    >>> counted(["b.parquet", "year=2020/a.parquet", "_SUCCESS", "_old/c.parquet", ".b.parquet", "notes.txt"])
    ['b.parquet', 'year=2020/a.parquet']
    """
    return sorted(
        path
        for path in paths
        if path.lower().endswith(".parquet") and not any(part.startswith(("_", ".")) for part in path.split("/"))
    )


def partition_of(path: str) -> dict[str, str | None]:
    """Return the columns and values that the names of a file's folders give.

    >>> partition_of("year=2020/town=K%C3%B6ln/a.parquet")
    {'year': '2020', 'town': 'Köln'}
    """
    pairs = [part.partition("=") for part in path.split("/")[:-1]]
    return {unquote(name): None if said == NOTHING else unquote(said) for name, sign, said in pairs if sign and name}
