"""Where a table's columns come from, one file for each kind of place. Only the columns asked for are read.

Polars reads the files (``bench/tables.md`` has the measurement that chose it); databases answer queries.
To add a source, write a ``Source``, and name it in ``open_source`` (:mod:`assistlearn.tables.table`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl


class Source(Protocol):
    from_text: bool
    """Whether text may be numbers, booleans or dates, as in a CSV file."""

    def names(self) -> list[str]: ...

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Of a CSV or SQLite file, those not in ``text`` become numbers if all their values are."""
        ...
