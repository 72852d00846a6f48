"""Turn sections into a page that loads nothing, and write it whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assistlearn.errors import SettingsError
from assistlearn.evaluation.words import listed
from assistlearn.release import __version__
from assistlearn.report import pictures as colours
from assistlearn.report.sections import MAKERS, Section, question, sections_of
from assistlearn.report.view import ONE_PROCESS, View
from assistlearn.storage import write_bytes

if TYPE_CHECKING:
    from jinja2 import Environment


# Turn sections into HTML: one section as a fragment, or a whole page that loads nothing from outside.


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
        loader=PackageLoader("assistlearn.report"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )


# Write pages to disk, whole or not at all. A file that is not a page is not replaced unless the caller says so.


_HEAD = 2_000
"""How many of a page's first bytes are searched for its mark."""


def keep_page(path: Path, html: str, *, force: bool = False) -> int:
    """Write a page and return its size in bytes. An older page is replaced, any other file only with ``force``.

    Parameters
    ----------
    path : path
        The file to write.
    html : str
        The page.
    force : bool
        Whether a file that is not a page of assistlearn is replaced, too.
    """
    if path.is_dir():
        raise SettingsError(f"{path} is a folder. Name a file for the page: --out {path / 'report.html'}")
    if path.exists() and not force and not is_page(path):
        raise SettingsError(
            f"{path} is there already, and is no page of assistlearn. Name another file (--out), or replace it with "
            "--force."
        )
    content = html.encode()
    write_bytes(path, content)
    return len(content)


def is_page(path: Path) -> bool:
    """Return whether a file exists and is a page of assistlearn."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return f'content="{MARK}'.encode() in file.read(_HEAD)


# The page of a run: the question and the answer first, then everything that it rests on.


_STATES = {"going on": "training goes on", "stopped": "not finished", "finished": "finished"}


def run_page(view: View) -> str:
    """Return the page of a run as one HTML document, without a script."""
    return page(frame_of(view), sections_of(view))


def fragments(view: View) -> dict[str, str]:
    """Return the HTML of every section by its key, so that each can be replaced alone; empty sections are hidden."""
    made = ((key, make(view)) for key, make in MAKERS.items())
    return {key: f'<section id="{key}" hidden></section>\n' if each is None else fragment(each) for key, each in made}


def frame_of(view: View) -> Frame:
    """Return the texts around the sections."""
    subject = view.subject
    kind = "Pilot" if subject.is_pilot else "Run" if subject.run else "Agents in one process"
    named = f"{kind} {subject.run}" if subject.run else kind
    day = "" if view.began is None else f", {view.began:%Y-%m-%d}"
    return Frame(
        title=f"{subject.run or subject.initiator}: does help make it better?",
        kicker=f"{named}{day}: {_STATES[view.state]}",
        heading=question(view),
        intro=_intro(view),
        closing=_closing(view),
    )


def without_class_names(view: View) -> View:
    """Return a view in which classes have numbers in place of names."""
    classes = tuple(f"class {number}" for number in range(1, len(view.subject.classes) + 1))
    return replace(view, subject=replace(view.subject, classes=classes))


def _intro(view: View) -> tuple[str, ...]:
    subject = view.subject
    knows = "knows" if len(subject.helpers) == 1 else "know"
    alone = " It has labels, and no columns of its own." if subject.label_only else ""
    who = "helper" if subject.label_only else "agent"
    what = (
        f"{subject.initiator} wants to predict a class.{alone} {listed(subject.helpers)} {knows} other things about "
        f"the same people or things, and helped without showing tables or models: in turns, each {who} fits a model to "
        "its own columns and says where the model is right. Samples that no model was trained on tell whether it was "
        "worth it."
    )
    if subject.reach != ONE_PROCESS:
        return (what,)
    return what, "Here all agents were in one process, as in a study: nothing was sent."


def _closing(view: View) -> tuple[str, ...]:
    return (
        f"This page was made at {view.subject.initiator} by assistlearn. It holds names of agents and classes, "
        "settings and figures; no ids, no values and no names of columns of anybody. It needs nothing from outside and "
        "sends nothing.",
    )
