"""Query MIMIC's CSV files, compressed or not, with DuckDB in bounded memory."""

from __future__ import annotations

import csv
import gzip
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from assistlearn.datasets.files import check_listed
from assistlearn.errors import CorruptDataError, MissingDataError, MissingExtraError, SettingsError
from assistlearn.extras import install_line

if TYPE_CHECKING:
    import duckdb

GET = (
    "PhysioNet: MIMIC-III Clinical Database 1.4 for those who have been given access, or the open MIMIC-III Clinical "
    "Database Demo 1.4 (pass demo=True)"
)


class Engine:
    """Runs SQL over the tables in a folder of CSV files.

    Parameters
    ----------
    folder : Path
        Where the files are. Their names and headers may be in capital or small letters.
    memory : str
        How much memory DuckDB may use, such as ``"2GB"``. What does not fit goes to ``spill``.
    threads : int or None
        How many threads DuckDB may use; None: one for each core.
    spill : str
        A folder for what does not fit in memory.
    verbose : bool
        Show a progress bar for every table that is read.
    """

    def __init__(self, folder: Path, memory: str, threads: int | None, spill: str, verbose: bool) -> None:
        self._duckdb = _duckdb()
        self._folder = folder
        self._memory = memory
        self._verbose = verbose
        settings: dict[str, Any] = {
            "memory_limit": memory,
            "temp_directory": spill,
            "preserve_insertion_order": False,  # rows need no order here, and keeping it costs memory
        }
        if threads is not None:
            settings["threads"] = threads
        try:
            self._connection: duckdb.DuckDBPyConnection = self._duckdb.connect(":memory:", config=settings)
        except self._duckdb.Error as error:
            raise SettingsError(f"DuckDB does not accept memory={memory!r}, threads={threads!r}: {error}") from error

    def close(self) -> None:
        """Close the connection to DuckDB."""
        self._connection.close()

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Run SQL that reads no file, and return DuckDB's answer."""
        return self._connection.execute(sql, list(parameters))

    def read(self, table: str, columns: Sequence[str], sql: str) -> Any:
        """Run SQL that reads ``{table}``, a CSV file whose columns are all text, and return DuckDB's answer."""
        path = self.find(table)
        check_listed(path, f"Get it again from {GET}.")
        source = _source(path, _header(path, columns))
        try:
            with self._progress(f"Reading {path.name}"):
                return self._connection.execute(sql.replace("{table}", source))
        except self._duckdb.OutOfMemoryException as error:
            reason = str(error).splitlines()[0]
            raise SettingsError(
                f"memory={self._memory!r} is too little to read {path}: {reason}. Allow more, or fewer threads."
            ) from error
        except self._duckdb.Error as error:
            raise CorruptDataError(f"{path} could not be read: {error}\nGet it again from {GET}.") from error

    def find(self, table: str) -> Path:
        """Return a table's file. One that is not compressed is preferred, because several threads can read it."""
        files = {path.name.lower(): path for path in sorted(self._folder.iterdir())}
        for name in (f"{table}.csv", f"{table}.csv.gz"):
            if name in files:
                return files[name]
        raise MissingDataError(
            f"{table.upper()}.csv or {table.upper()}.csv.gz was not found. Looked for it in {self._folder}, in capital "
            f"and small letters. Get it from {GET}, and put it there."
        )

    @contextmanager
    def _progress(self, text: str) -> Iterator[None]:
        """Show how far DuckDB is, from a second thread, while the first one waits for it."""
        if not self._verbose:
            yield
            return
        done = threading.Event()
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True, emoji=False)) as bar:
            task = bar.add_task(text, total=None)

            def watch() -> None:
                while not done.wait(0.2):
                    percent = self._connection.query_progress()
                    if percent >= 0:  # negative: DuckDB cannot tell
                        bar.update(task, total=100, completed=percent)

            watcher = threading.Thread(target=watch, daemon=True)
            watcher.start()
            try:
                yield
                bar.update(task, total=100, completed=100)
            finally:
                done.set()
                watcher.join()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError(f"MIMIC-III needs DuckDB: {install_line('duckdb')}") from error
    return duckdb


def _header(path: Path, wanted: Sequence[str]) -> list[str]:
    """Return the names of a file's columns in small letters, after checking that the wanted ones are there."""
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", newline="") as stream:
            names = [name.strip().lower() for name in next(csv.reader(stream), [])]
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise CorruptDataError(f"{path} could not be read: {error}. Get it again from {GET}.") from error
    missing = [name for name in wanted if name not in names]
    if missing or len(set(names)) < len(names):
        what = f"no column {', '.join(missing)}" if missing else "a column twice"
        raise CorruptDataError(f"{path} has {what}. Its columns are {', '.join(names) or 'none'}.")
    return names


def _source(path: Path, names: Sequence[str]) -> str:
    """Return SQL that reads a CSV file as text.

    The SQL states everything that DuckDB would otherwise guess from the first rows. In CHARTEVENTS, the first quoted
    value comes after the rows that DuckDB looks at.
    """
    types = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({_quoted(str(path))}, columns = {{{types}}}, auto_detect = false, header = true, delim = ',', "
        "quote = '\"', escape = '\"', nullstr = '')"
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
