"""Turn sections into HTML: one section as a fragment, or a whole page that loads nothing from outside."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from assistlearn.pages import colours
from assistlearn.pages.section import Section
from assistlearn.release import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

MARK = "assistlearn report"
"""The beginning of the generator's name in a page. It shows that a page was made by assistlearn."""

_NAMES = {
    "ink": colours.INK,
    "faint": colours.FAINT,
    "lines": colours.LINES,
    "assisted": colours.ASSISTED,
    "alone": colours.ALONE,
}


@dataclass(frozen=True)
class Frame:
    """The texts around the sections of a page.

    Attributes
    ----------
    title : str
        The title of the window.
    kicker : str
        A line above the heading.
    heading : str
        The question that the page answers.
    intro, closing : tuple of str
        Paragraphs at the top and at the bottom.
    """

    title: str
    kicker: str
    heading: str
    intro: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()


def fragment(section: Section) -> str:
    """Return one section, as an element whose id is the section's key."""
    return _environment().get_template("section.html").render(section=section)


def page(frame: Frame, sections: Sequence[Section], template: str = "page.html", **more: Any) -> str:
    """Return a whole page.

    Parameters
    ----------
    frame : Frame
        The texts around the sections.
    sections : sequence of Section
        The sections, in their order.
    template : str
        The name of the template: ``page.html``, or one that extends it.
    **more
        What else the template needs; ``policy`` replaces the policy of a page without scripts.
    """
    style = style_sheet()
    facts = {"style": style, "policy": policy(style), "generator": f"{MARK} {__version__}"} | vars(frame) | more
    return _environment().get_template(template).render(sections=sections, **facts)


@cache
def style_sheet() -> str:
    """Return the style sheet, in one line."""
    made = _environment().get_template("page.css").render(names=_NAMES, pictures=colours.IN_PICTURES)
    return re.sub(r"\s*\n\s*", "", made)


def policy(style: str) -> str:
    """Return the content security policy of a page with this style sheet and nothing else: no script, no request.

    >>> policy("p{}")
    "default-src 'none'; style-src 'sha256-...='; img-src data:; base-uri 'none'; form-action 'none'"
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("assistlearn.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
