"""Which files of a folder are its table: those that end in ``.parquet``, by their paths, in alphabetical order.

Folders below count, too, and names such as ``year=2020`` are columns. Names that begin with ``_`` or ``.``
are for the program that wrote the folder, and do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from assistlearn.errors import MissingTableError
from assistlearn.tables.sources.parquet_source import ParquetFile

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What a folder is called whose rows have no value in the column."""


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
    """Return those of a folder's files that count, in their order.

    >>> counted(["b.parquet", "year=2020/a.parquet", "_SUCCESS", "_old/c.parquet", ".b.parquet", "notes.txt"])
    ['b.parquet', 'year=2020/a.parquet']
    """
    return sorted(
        path
        for path in paths
        if path.lower().endswith(".parquet") and not any(part.startswith(("_", ".")) for part in path.split("/"))
    )


def partition_of(path: str) -> dict[str, str | None]:
    """Return what the names of a file's folders say.

    >>> partition_of("year=2020/town=K%C3%B6ln/a.parquet")
    {'year': '2020', 'town': 'Köln'}
    """
    pairs = [part.partition("=") for part in path.split("/")[:-1]]
    return {unquote(name): None if said == NOTHING else unquote(said) for name, sign, said in pairs if sign and name}
