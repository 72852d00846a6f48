"""What can be watched: it reads news from a file that grows, and makes a top line and sections from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from assistlearn.pages.rendering import Frame

Condition: TypeAlias = Literal["waiting", "reading", "running", "resumed", "stopped", "ended", "gone"]
"""The condition of a run, or of an agent.

``waiting``: nothing happens yet. ``reading``: its file is not read to the end yet. ``running``: somebody works on it.
``resumed``: somebody works on it again. ``stopped``: nobody works on it. ``ended``: it is finished. ``gone``: it was
removed.
"""


@dataclass(frozen=True)
class HowItStands:
    """The line at the top of the page: the condition of what is watched.

    Attributes
    ----------
    condition : str
        In one word, for the script and the style.
    name : str
        In one or two words, for people.
    words : str
        In a sentence or two.
    last : datetime or None
        When the last event happened.
    """

    condition: Condition
    name: str
    words: str
    last: datetime | None = None


@dataclass(frozen=True)
class Draft:
    """A section of the page that can be drawn.

    Attributes
    ----------
    key : str
        The id of its element.
    content : hashable
        What it is made from. While this is the same, the section is not drawn again.
    draw : callable
        Returns the element as HTML.
    is_costly : bool
        Whether it has a picture, which takes a while.
    """

    key: str
    content: Hashable
    draw: Callable[[], str]
    is_costly: bool = False


class Watched(Protocol):
    """A run or an agent that can be watched. Only one thread calls its methods."""

    @property
    def place(self) -> int:
        """The byte in the log, or ledger, up to which it was read."""
        ...

    @property
    def generation(self) -> int:
        """How often another log has taken the place of the one that was read. Then the whole page is drawn anew."""
        ...

    def take_news(self) -> bool:
        """Read the next piece of the log; return whether there may be more at once."""
        ...

    def mark(self) -> Hashable:
        """Return a value that changes as soon as there is something new to show."""
        ...

    def standing(self) -> HowItStands:
        """Return the line at the top of the page."""
        ...

    def frame(self) -> Frame:
        """Return the title, the heading and the paragraphs around the sections. They change with the generation."""
        ...

    def drafts(self) -> list[Draft]:
        """Return the sections in their order. To make drafts costs little; to draw them may cost more."""
        ...
