"""The colours of pages. Each has a light form, for light screens and paper, and a dark form, for dark screens.

Pictures are drawn in the light forms. On a dark screen the style sheet replaces these colours in a picture with the
dark forms, so that a picture needs no style of its own.
"""

from __future__ import annotations

from typing import NamedTuple


class Colour(NamedTuple):
    """One colour, for a light background and for a dark one."""

    light: str
    dark: str


INK = Colour("#1d2733", "#e6e9ed")
FAINT = Colour("#56616d", "#a9b3be")
LINES = Colour("#d5dade", "#3a434d")
GROUND = Colour("#fffffe", "#14191f")
ASSISTED = Colour("#0b66a8", "#63b3f2")
ALONE = Colour("#b8480a", "#ff9d63")
AGENTS = (
    ALONE,
    Colour("#08775a", "#43cfa2"),
    Colour("#8c4799", "#d9a0e6"),
    Colour("#856300", "#e3bc47"),
    Colour("#3f5f8a", "#9cbcea"),
    Colour("#7a4a3a", "#dba995"),
)
"""The initiator's colour, which also means "alone", then the helpers' colours. With more agents these repeat."""

IN_PICTURES = (INK, FAINT, LINES, GROUND, ASSISTED, *AGENTS)


def of_agent(place: int) -> Colour:
    """Return the colour of an agent by its place. The place of the initiator is 0.

    >>> of_agent(1) == of_agent(6)
    True
    """
    return AGENTS[place] if place < len(AGENTS) else AGENTS[1 + (place - 1) % (len(AGENTS) - 1)]
