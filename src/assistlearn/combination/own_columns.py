"""The initiator's own columns as numbers, for trees that look at them beside the agents' scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Floats


@dataclass(frozen=True)
class OwnColumns:
    """Which columns of the initiator's table are numbers.

    Attributes
    ----------
    positions : tuple of int
        Their positions in the table, counted from 0.

    Examples
    --------
    >>> table = np.array([[1.0, np.nan], [2.0, 5.0]])
    >>> OwnColumns.found_in(table)
    OwnColumns(positions=(0, 1))
    >>> OwnColumns((1,)).numbers(table)
    array([[nan],
           [ 5.]])
    """

    positions: tuple[int, ...]

    @classmethod
    def found_in(cls, table: Any) -> OwnColumns:
        """Return the columns of a table that hold numbers or truth values; none of a sparse matrix."""
        return cls(tuple(place for place, column in enumerate(_columns(table)) if _is_number(column)))

    def numbers(self, table: Any) -> Floats:
        """Return these columns of a table as numbers, NaN where one is missing."""
        out = np.empty((table.shape[0], len(self.positions)))
        columns = (column for place, column in enumerate(_columns(table)) if place in self.positions)
        for place, column in enumerate(columns):
            out[:, place] = _as_floats(column)
        return out


def _columns(table: Any) -> Iterator[Any]:
    """Yield the columns of an array or of a data frame of pandas or polars."""
    if hasattr(table, "iloc"):
        yield from (table.iloc[:, place] for place in range(table.shape[1]))
    elif hasattr(table, "get_columns"):
        yield from table.get_columns()
    elif isinstance(table, np.ndarray):
        yield from table.T


def _is_number(column: Any) -> bool:
    if hasattr(column.dtype, "is_numeric"):  # polars
        return bool(column.dtype.is_numeric()) or str(column.dtype) == "Boolean"
    return getattr(column.dtype, "kind", "O") in "biuf"


def _as_floats(column: Any) -> Floats:
    if hasattr(column, "isna"):  # pandas marks missing values in its own way
        out: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return out
    values: NDArray[Any] = column if isinstance(column, np.ndarray) else column.to_numpy()
    return values.astype(np.float64)
