"""Where an agent's table is: in files, at a URL, or in a database that answers a query."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assistlearn.agent_files.addresses import shown


@dataclass(frozen=True)
class TableFile:
    """A table in a file, or in the Parquet files of a folder.

    Attributes
    ----------
    path : Path
        A file ends in ``.csv``, ``.csv.gz`` or ``.parquet``.
    separator : str
        What stands between the values of a CSV file.
    is_folder : bool
        Whether the owner wrote it with ``/`` at its end.
    """

    path: Path
    separator: str = ","
    is_folder: bool = False

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class TableUrl:
    """A table that a web server or an object store hands over.

    Attributes
    ----------
    url : str
        Holds no secret. Its path ends in ``.csv``, ``.csv.gz``, ``.parquet`` or ``/``.
    separator : str
        What stands between the values of a CSV file.
    """

    url: str
    separator: str = ","

    def __str__(self) -> str:
        return shown(self.url)


@dataclass(frozen=True)
class TableQuery:
    """A table that is a database's answer to a query.

    Attributes
    ----------
    query : str
        One SQL SELECT.
    folder : Path
        Where files that the query names are looked for.
    database : Path, str or None
        A file of DuckDB or SQLite, opened for reading only, or the URL of a PostgreSQL database, without a password.
        None: DuckDB answers, and the query names its files itself.
    """

    query: str
    folder: Path
    database: Path | str | None = None

    def __str__(self) -> str:
        if self.database is None:
            return "query"
        return f"query on {shown(self.database) if isinstance(self.database, str) else self.database}"
