"""What every kind of place that holds a table can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import polars as pl


class Source(Protocol):
    """A table that can say its columns and hand over some of them.

    Attributes
    ----------
    from_text : bool
        Text may stand for numbers, booleans or dates, as in a CSV file.
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
            The columns of a CSV file that are handed over as they stand there. The others are numbers, where all
            their values are.
        """
        ...
