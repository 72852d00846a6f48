"""The live page at one time, as all watchers are told it."""

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
        Its element.
    content : hashable
        What it was made of.
    changed : int
        The place in the log up to which facts are in it.
    """

    html: str
    content: Hashable
    changed: int

    @cached_property
    def version(self) -> str:
        """A digest, by which the page knows what it shows already."""
        return hashlib.sha256(self.html.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class PageState:
    """The page at one time.

    Attributes
    ----------
    number : int
        Counts the states.
    log : int
        Which log it is of: another one may take its place.
    place : int
        The byte in the log up to which facts are in it.
    standing : HowItStands
        How things stand.
    frame : Frame
        What stands around the sections.
    sections : mapping from str to Drawn
        By key, in their order.
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
        """Return the sections whose versions are not these."""
        return {key: drawn for key, drawn in self.sections.items() if known.get(key) != drawn.version}

    @property
    def versions(self) -> dict[str, str]:
        """The versions of all sections."""
        return {key: drawn.version for key, drawn in self.sections.items()}
