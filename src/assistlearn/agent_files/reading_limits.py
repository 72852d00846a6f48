"""How large an agent's table may be: a small file can be a large table, and is looked at before it is read."""

from __future__ import annotations

from typing import NoReturn

import msgspec

from assistlearn.agent_files.toml_file import Count
from assistlearn.errors import TableError

PER_BYTE = 3
"""Bytes of memory that reading takes for each byte of a table, about: text, columns, and what is made of them."""

PER_VALUE = 16
"""Bytes of memory that reading takes for each value at least."""


class ReadingLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[reading]`` of an agent's file.

    Attributes
    ----------
    max_rows : int
        Rows of the table at the most.
    max_columns : int
        Columns of the table at the most, also those that are not used.
    max_cell : int
        Bytes of one value at the most.
    max_memory : int
        Megabytes of memory that reading the table may take, about.

    Examples
    --------
    >>> ReadingLimits(max_memory=100).memory_needed(n_bytes=50_000_000, n_values=0)
    150000000
    >>> ReadingLimits().memory_needed(n_bytes=2, n_values=1_000_000)
    16000000
    """

    max_rows: Count = 20_000_000
    max_columns: Count = 10_000
    max_cell: Count = 1_000_000
    max_memory: Count = 4_000

    def memory_needed(self, n_bytes: int, n_values: int) -> int:
        """Return about how many bytes of memory a table takes while it is read."""
        return max(PER_BYTE * n_bytes, PER_VALUE * n_values)

    def check(self, name: str, n_rows: int | None = None, n_columns: int | None = None) -> None:
        """Raise ``TableError`` where a table has too many rows or columns."""
        if n_columns is not None and n_columns > self.max_columns:
            self.refuse(name, "max_columns", f"{n_columns:,} columns")
        if n_rows is not None and n_rows > self.max_rows:
            self.refuse(name, "max_rows", f"{n_rows:,} rows")

    def check_memory(self, name: str, n_bytes: int, n_values: int = 0) -> None:
        """Raise ``TableError`` where reading a table would take too much memory."""
        needed = self.memory_needed(n_bytes, n_values)
        if needed > self.max_memory * 1_000_000:
            self.refuse(name, "max_memory", f"so much in it that reading takes about {needed / 1e6:,.0f} megabytes")

    def refuse(self, name: str, key: str, found: str) -> NoReturn:
        """Raise ``TableError`` for something that is too large, with the key that limits it."""
        raise TableError(
            f"{name} is not read: it has {found}, and {key} allows {getattr(self, key):,}. If the table is right, "
            f"raise {key} under [reading] in the agent's file."
        )
