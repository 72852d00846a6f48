"""A table that is the answer of DuckDB to one SELECT."""

from __future__ import annotations

import re
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any

import polars as pl

from assistlearn.agent_files.addresses import ENDINGS, without_secrets
from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.agent_files.table_source import TableQuery
from assistlearn.errors import MissingExtraError, TableError
from assistlearn.extras import install_line
from assistlearn.tables.sources.sql_names import quoted

ENGINE = 5
"""What share of the memory the engine may take: one in so many. The rest is for its answer."""


class DuckdbSource:
    """The answer to one SELECT, ordered by id: a database promises no order of its own."""

    from_text = False

    def __init__(self, table: TableQuery, id_columns: Sequence[str], place: str, limits: ReadingLimits) -> None:
        self._table = table
        self._id_columns = id_columns
        self._place = place
        self._limits = limits

    def names(self) -> list[str]:
        """Return the names of the columns that the query answers with."""
        return self._ask("*", "limit 0").columns

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns with the types they have in the database."""
        listed, order = (", ".join(quoted(name) for name in names) for names in (columns, self._id_columns))
        return self._ask(listed, f"order by {order}")

    def _ask(self, columns: str, rest: str) -> pl.DataFrame:
        duckdb = _duckdb()
        never = ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions")
        settings = dict.fromkeys(never, False)
        try:
            with duckdb.connect(
                self._table.database or ":memory:", read_only=self._table.database is not None, config=settings
            ) as connection:
                connection.execute("set file_search_path = ?", [str(self._table.folder.resolve())])
                connection.execute("set allowed_paths = ?", [files_named(self._table.query, self._table.folder)])
                connection.execute("set enable_external_access = false")
                connection.execute("set memory_limit = ?", [f"{max(self._limits.max_memory // ENGINE, 100)}MB"])
                connection.execute("set lock_configuration = true")
                query = self._one_select(connection.extract_statements(self._table.query), duckdb)
                inner = f"select * from ({query}\n) limit {self._limits.max_rows + 1}"  # noqa: S608 own query
                asked = f"select {columns} from ({inner}) {rest}"  # noqa: S608 own query
                return pl.DataFrame(_ArrowStream(connection.sql(asked)))
        except duckdb.PermissionException as error:
            raise TableError(
                f"{self._place}: {without_secrets(str(error))}. A query may read its database, and tables whose files "
                f"it names itself in quotes ({', '.join(ENDINGS)}), and nothing else."
            ) from None
        except duckdb.Error as error:
            said = without_secrets(str(error))
            raise TableError(f"{self._place}: the query failed: {said} Correct it, or the database.") from None

    def _one_select(self, statements: Sequence[Any], duckdb: Any) -> str:
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise TableError(
                f"{self._place}: the query must be one SELECT, and only that. It is for reading: write anything else "
                "with the database's own tools."
            )
        return str(statements[0].query).strip().rstrip(";")


def files_named(query: str, folder: Path) -> list[str]:
    """Return the files of tables that a query names in quotes, as it writes them and as the system does.

    >>> files_named("select * from 'a.csv', read_text('/etc/passwd') -- it's 'b.csv'", Path("/lab"))
    ['/lab/a.csv', 'a.csv']
    """
    found = set()
    for literal in _QUOTED.finditer(query):
        name = (literal["text"] or literal["name"] or "").replace("''", "'").replace('""', '"')
        if name.lower().endswith(ENDINGS) and "://" not in name:
            matching = glob(name, root_dir=folder, recursive=True)
            found |= {name, *matching, *(str((folder / each).resolve()) for each in (name, *matching))}
            found |= {str(folder.resolve() / each) for each in (name, *matching)}
    return sorted(found)


_QUOTED = re.compile(r"""--[^\n]*|/\*.*?\*/|'(?P<text>(?:[^']|'')*)'|["](?P<name>(?:[^"]|"")*)["]""", re.DOTALL)
"""A comment, a text, or a name in quotes."""


class _ArrowStream:
    """A relation of DuckDB that shows Polars its stream of rows, and nothing else.

    Polars would try its other attributes too, and then DuckDB complains when the process ends.
    """

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._relation.__arrow_c_stream__(requested_schema)


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError(f"A table from a query needs DuckDB: {install_line('duckdb')}") from error
    return duckdb
