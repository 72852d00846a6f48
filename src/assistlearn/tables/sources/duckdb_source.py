"""A table that is the answer of DuckDB to one SELECT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from assistlearn.agent_files.table_source import TableQuery
from assistlearn.errors import MissingExtraError, TableError
from assistlearn.extras import install_line
from assistlearn.tables.sources.sql_names import quoted


class DuckdbSource:
    """The answer to one SELECT, ordered by id: a database promises no order of its own."""

    from_text = False

    def __init__(self, table: TableQuery, id_columns: Sequence[str], place: str) -> None:
        self._table = table
        self._id_columns = id_columns
        self._place = place

    def names(self) -> list[str]:
        """Return the names of the columns that the query answers with."""
        return self._ask("*", "limit 0").columns

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns with the types they have in the database."""
        listed, order = (", ".join(quoted(name) for name in names) for names in (columns, self._id_columns))
        return self._ask(listed, f"order by {order}")

    def _ask(self, columns: str, rest: str) -> pl.DataFrame:
        duckdb = _duckdb()
        settings = {"autoinstall_known_extensions": False, "allow_community_extensions": False}
        try:
            with duckdb.connect(
                self._table.database or ":memory:", read_only=self._table.database is not None, config=settings
            ) as connection:
                connection.execute("set file_search_path = ?", [str(self._table.folder.resolve())])
                query = self._one_select(connection.extract_statements(self._table.query), duckdb)
                asked = f"select {columns} from ({query}\n) {rest}"  # noqa: S608 own query
                return pl.DataFrame(_ArrowStream(connection.sql(asked)))
        except duckdb.Error as error:
            raise TableError(f"{self._place}: the query failed: {error} Correct it, or the database.") from error

    def _one_select(self, statements: Sequence[Any], duckdb: Any) -> str:
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise TableError(
                f"{self._place}: the query must be one SELECT, and only that. It is for reading: write anything else "
                "with the database's own tools."
            )
        return str(statements[0].query).strip().rstrip(";")


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
