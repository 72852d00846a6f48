"""What can be watched: it takes news from a file that grows, and says in words and sections how it stands."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

Condition: TypeAlias = Literal["waiting", "reading", "running", "resumed", "stopped", "ended", "forgotten"]
"""Not there yet; there, and not read to its end yet; somebody works on it; again; nobody does; and for good; gone."""


@dataclass(frozen=True)
class Standing:
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
class Fragment:
    """A section of the page: an HTML element whose id is its key."""

    key: str
    html: str

    @cached_property
    def version(self) -> str:
        """A digest by which a change is noticed."""
        return hashlib.sha256(self.html.encode()).hexdigest()[:16]


class Watched(Protocol):
    """A run, or an agent. One thread calls all of this."""

    @property
    def title(self) -> str:
        """What the page is called."""
        ...

    @property
    def place(self) -> int:
        """The byte in the log, or ledger, up to which it was read."""
        ...

    @property
    def generation(self) -> int:
        """How often another log has taken its place, so that nothing of the page holds any more."""
        ...

    def take_news(self) -> bool:
        """Read on, a piece at a time; return whether there may be more at once."""
        ...

    def mark(self) -> Hashable:
        """Return what is another as soon as there is something new to be seen."""
        ...

    def standing(self) -> Standing:
        """Return how things stand."""
        ...

    def fragments(self) -> Iterator[Fragment]:
        """Yield the sections in their order; those that are as they were cost nothing."""
        ...
