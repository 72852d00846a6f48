"""Turn sections into a page that loads nothing, and write it whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assistlearn.errors import SettingsError
from assistlearn.evaluation.words import listed
from assistlearn.release import __version__
from assistlearn.report import pictures as drawn
from assistlearn.report.sections import Section, question, sections_of
from assistlearn.report.view import ONE_PROCESS, View
from assistlearn.storage import write_bytes

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Frame:
    """The texts around the sections of a page: ``kicker`` stands above the heading, ``intro`` and ``closing`` below."""

    title: str
    kicker: str
    heading: str
    intro: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()


_STATES = {"going on": "training goes on", "stopped": "not finished", "finished": "finished"}


def run_page(view: View) -> str:
    return page(frame_of(view), sections_of(view))


def frame_of(view: View) -> Frame:
    subject = view.subject
    kind = "Pilot" if subject.is_pilot else "Run" if subject.run else "Agents in one process"
    named = f"{kind} {subject.run}" if subject.run else kind
    day = "" if view.began is None else f", {view.began:%Y-%m-%d}"
    return Frame(
        title=f"{subject.run or subject.initiator}: does help make it better?",
        kicker=f"{named}{day}: {_STATES[view.state]}",
        heading=question(view),
        intro=_intro(view),
        closing=(
            f"This page was made at {subject.initiator} by assistlearn. It holds names of agents and classes, settings "
            "and figures; no ids, no values and no names of columns of anybody. It needs nothing from outside and "
            "sends nothing.",
        ),
    )


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


def without_class_names(view: View) -> View:
    classes = tuple(f"class {number}" for number in range(1, len(view.subject.classes) + 1))
    return replace(view, subject=replace(view.subject, classes=classes))


# -- HTML

MARK = "assistlearn report"
"""The beginning of the generator's name in a page. It shows that a page was made by assistlearn."""


def page(frame: Frame, sections: Sequence[Section]) -> str:
    style = style_sheet()
    facts = {"style": style, "policy": policy(style), "generator": f"{MARK} {__version__}"}
    return _environment().get_template("page.html").render(title=frame.title, body=body(frame, sections), **facts)


def body(frame: Frame, sections: Sequence[Section]) -> str:
    return _environment().get_template("body.html").render(sections=sections, **vars(frame))


@cache
def style_sheet() -> str:
    names = {name: getattr(drawn, name.upper()) for name in ("ink", "faint", "lines", "assisted", "alone")}
    made = _environment().get_template("page.css").render(names=names, pictures=drawn.IN_PICTURES)
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


# -- files

_HEAD = 2_000


def keep_page(path: Path, html: str, *, force: bool = False) -> int:
    """Write a page and return its size in bytes. An older page is replaced, any other file only with ``force``."""
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
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return f'content="{MARK}'.encode() in file.read(_HEAD)
