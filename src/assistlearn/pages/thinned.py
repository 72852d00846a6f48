"""Numbered rows of which only a limited number is kept, so that the page of a long run stays short."""

from __future__ import annotations

from typing import Generic, TypeVar

Row = TypeVar("Row")

MOST = 200
"""The most rounds or looks that are kept for a table of a page, beside the last one."""


class Thinned(Generic[Row]):
    """Keeps every row while there are few; later every second, every fourth and so on, and always the last one.

    Parameters
    ----------
    most : int
        How many rows are kept at the most, beside the last one.

    Examples
    --------
    >>> rows = Thinned(most=4)
    >>> for number in range(1, 10):
    ...     rows[number] = number**2
    >>> rows.items()
    [(1, 1), (5, 25), (9, 81)]
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._step = 1
        self._rows: dict[int, Row] = {}
        self._last: tuple[int, Row] | None = None

    def __setitem__(self, number: int, row: Row) -> None:
        """Add a row, or replace the row with the same number."""
        if self._last is None or number >= self._last[0]:
            self._last = number, row
        if (number - 1) % self._step:
            return
        self._rows[number] = row
        while len(self._rows) > self._most:
            self._step *= 2
            self._rows = {each: kept for each, kept in self._rows.items() if not (each - 1) % self._step}

    def get(self, number: int) -> Row | None:
        """Return a row; None where it is not kept."""
        if self._last is not None and number == self._last[0]:
            return self._last[1]
        return self._rows.get(number)

    def items(self) -> list[tuple[int, Row]]:
        """Return the rows that are kept, with their numbers, in order."""
        found = self._rows if self._last is None else self._rows | {self._last[0]: self._last[1]}
        return sorted(found.items(), key=lambda item: item[0])
