"""Where an agent's table is: in a file, or in a database that is asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TableFile:
    """A table in a file.

    Attributes
    ----------
    path : Path
        Ends in ``.csv``, ``.csv.gz`` or ``.parquet``.
    separator : str
        What stands between the values of a CSV file.
    """

    path: Path
    separator: str = ","

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class TableQuery:
    """A table that a database is asked for.

    Attributes
    ----------
    query : str
        One SQL SELECT.
    folder : Path
        Files that the query names are looked for here.
    database : Path or None
        A DuckDB file, opened for reading only. None: the query names its files itself.
    """

    query: str
    folder: Path
    database: Path | None = None

    def __str__(self) -> str:
        return f"query on {self.database}" if self.database else "query"
