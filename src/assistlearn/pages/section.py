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
        The columns of words, beside the first; all others are numbers.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether it is folded away."""
        return len(self.rows) > LONGEST_OPEN


@dataclass(frozen=True)
class PagePicture:
    """A drawing, made when it is asked for, and what it shows in words for those who do not see it."""

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
    """A part of a page that can be put in its place alone; ``key`` is the id of its element."""

    key: str
    title: str
    words: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()
    picture: PagePicture | None = None
    tables: tuple[PageTable, ...] = ()
    lists: tuple[PageList, ...] = field(default=())
