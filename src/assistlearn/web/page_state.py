"""The live page at one time. It is the same for all watchers."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from assistlearn.pages.rendering import Frame
from assistlearn.web.watched import HowItStands


@dataclass(frozen=True)
class Drawn:
    """A section as it was drawn.

    Attributes
    ----------
    html : str
        The HTML element.
    content : hashable
        What the section was made from.
    changed : int
        How many bytes of the log were read when it was drawn.
    """

    html: str
    content: Hashable
    changed: int

    @cached_property
    def version(self) -> str:
        """A digest, by which the page recognises a section that it shows already."""
        return hashlib.sha256(self.html.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PageState:
    """The page at one time.

    Attributes
    ----------
    number : int
        The number of this state. Every new state has the next number.
    log : int
        The number of the log. It changes when another log takes the place of this one.
    place : int
        How many bytes of the log were read for this state.
    standing : HowItStands
        The line at the top of the page.
    frame : Frame
        The title, the heading and the paragraphs around the sections.
    sections : mapping from str to Drawn
        The sections by key, in their order.
    """

    number: int
    log: int
    place: int
    standing: HowItStands
    frame: Frame
    sections: Mapping[str, Drawn] = field(default_factory=lambda: MappingProxyType({}))

    def since(self, place: int) -> dict[str, Drawn]:
        """Return the sections that may have changed since the page was at a place."""
        return {key: drawn for key, drawn in self.sections.items() if drawn.changed >= place}

    def other_than(self, known: Mapping[str, str]) -> dict[str, Drawn]:
        """Return the sections whose versions differ from the known ones."""
        return {key: drawn for key, drawn in self.sections.items() if known.get(key) != drawn.version}

    @property
    def versions(self) -> dict[str, str]:
        """The versions of all sections."""
        return {key: drawn.version for key, drawn in self.sections.items()}
