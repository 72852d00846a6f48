"""A section of a page: a title, sentences, perhaps a picture, and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_OPEN = 8
"""A table of more rows is folded away until somebody opens it."""


@dataclass(frozen=True)
class PageTable:
    """A table: the first column names the rows.

    Attributes
    ----------
    caption : str
        What it shows.
    columns : tuple of str
        The titles.
    rows : tuple of tuple of str
        The cells.
    words : tuple of int
        The positions of the columns with words, besides the first. All others hold numbers.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether the table is folded away until somebody opens it."""
        return len(self.rows) > LONGEST_OPEN


@dataclass(frozen=True)
class PagePicture:
    """A picture that is drawn when it is needed, and what it shows in words, for readers who cannot see it."""

    label: str
    draw: Callable[[], str]


@dataclass(frozen=True)
class Card:
    """A figure in large letters."""

    title: str
    value: str
    note: str = ""
    kind: str = ""


@dataclass(frozen=True)
class PageList:
    """A list of sentences under a heading."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A part of a page that can be replaced alone; ``key`` is the id of its HTML element."""

    key: str
    title: str
    words: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()
    picture: PagePicture | None = None
    tables: tuple[PageTable, ...] = ()
    lists: tuple[PageList, ...] = field(default=())
