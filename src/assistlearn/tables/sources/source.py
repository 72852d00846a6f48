"""What every source of a table can do, whatever kind of place it reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import polars as pl


class Source(Protocol):
    """A place with a table: it can name the columns, and read some of them.

    Attributes
    ----------
    from_text : bool
        Whether text may be numbers, booleans or dates, as in a CSV file.
    """

    from_text: bool

    def names(self) -> list[str]:
        """Return the names of all columns."""
        ...

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns.

        Parameters
        ----------
        columns : sequence of str
            What to read.
        text : sequence of str
            The columns that stay text if they come from a CSV or SQLite file. Any other column of such a file becomes
            numbers, if all its values are numbers.
        """
        ...
