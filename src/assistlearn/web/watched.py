"""What can be watched: it takes news from a file that grows, and says in words and sections how it stands."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from assistlearn.pages.rendering import Frame

Condition: TypeAlias = Literal["waiting", "reading", "running", "resumed", "stopped", "ended", "gone"]
"""Not there yet; there, and not read to its end yet; somebody works on it; again; nobody does; and for good; gone."""


@dataclass(frozen=True)
class HowItStands:
    """How things stand, for the line at the top of the page.

    Attributes
    ----------
    condition : str
        In one word, for the script and the style.
    name : str
        In one or two words, for people.
    words : str
        In a sentence or two.
    last : datetime or None
        When the last fact happened.
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
        What it is made of: where that is the same, so is the section, and is not drawn again.
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
    """A run, or an agent. One thread calls all of this."""

    @property
    def place(self) -> int:
        """The byte in the log, or ledger, up to which it was read."""
        ...

    @property
    def generation(self) -> int:
        """How often something else has taken its place, so that nothing of the page holds any more."""
        ...

    def take_news(self) -> bool:
        """Read on, a piece at a time; return whether there may be more at once."""
        ...

    def mark(self) -> Hashable:
        """Return what is another as soon as there is something new to be seen."""
        ...

    def standing(self) -> HowItStands:
        """Return how things stand."""
        ...

    def frame(self) -> Frame:
        """Return what stands around the sections; it is the same for a whole generation."""
        ...

    def drafts(self) -> list[Draft]:
        """Return the sections in their order. To make drafts costs little; to draw them may cost more."""
        ...
