"""What a page is made of, its HTML, which loads nothing, and its file, written whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from assistlearn.errors import SettingsError
from assistlearn.release import __version__
from assistlearn.report import pictures as drawn
from assistlearn.storage import write_bytes

if TYPE_CHECKING:
    from jinja2 import Environment


LONGEST_OPEN = 8
"""A table of more rows is folded away until somebody opens it."""


@dataclass(frozen=True)
class PageTable:
    """A table whose first column names the rows; ``words`` are the places of the other columns that hold no numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = ()

    @property
    def is_long(self) -> bool:
        return len(self.rows) > LONGEST_OPEN


@dataclass(frozen=True)
class PagePicture:
    """A picture of some figures, drawn when it is needed, and what it shows in words, for who cannot see it."""

    label: str
    draw: Callable[..., str]
    figures: tuple[Any, ...] = ()

    def svg(self) -> str:
        return self.draw(*self.figures)


Card: TypeAlias = tuple[str, str, str, str]
"""A figure in large letters: its title, the figure, a note, and its kind (alone, assisted, or empty)."""

PageList: TypeAlias = tuple[str, tuple[str, ...]]
"""A title, and sentences that stand one below the other."""


@dataclass(frozen=True)
class Section:
    """A part of a page; ``key`` is the id of its HTML element, ``html`` what a template of its own has made."""

    key: str
    title: str
    words: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()
    picture: PagePicture | None = None
    tables: tuple[PageTable, ...] = ()
    lists: tuple[PageList, ...] = ()
    html: str = ""


@dataclass(frozen=True)
class Frame:
    """The texts around the sections of a page: ``kicker`` stands above the heading, ``intro`` and ``closing`` below."""

    title: str
    kicker: str
    heading: str
    intro: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()


# -- HTML

MARK = "assistlearn report"
"""The beginning of the generator's name in a page. It shows that a page was made by assistlearn."""


def page(frame: Frame, sections: Sequence[Section]) -> str:
    style = style_sheet()
    facts = {"style": style, "policy": policy(style), "generator": f"{MARK} {__version__}"}
    return templates().get_template("page.html").render(title=frame.title, body=body(frame, sections), **facts)


def body(frame: Frame, sections: Sequence[Section]) -> str:
    return templates().get_template("body.html").render(sections=sections, **vars(frame))


@cache
def style_sheet() -> str:
    names = {name: getattr(drawn, name.upper()) for name in ("ink", "faint", "lines", "assisted", "alone")}
    made = templates().get_template("page.css").render(names=names, pictures=drawn.IN_PICTURES)
    return re.sub(r"\s*\n\s*", "", made)


def policy(style: str) -> str:
    """Return the content security policy of a page with this style sheet and nothing else: no script, no request.

    >>> policy("p{}")
    "default-src 'none'; style-src 'sha256-...='; img-src data:; base-uri 'none'; form-action 'none'"
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


@cache
def templates(*packages: str) -> Environment:
    """Return the templates of reports, after those of other packages. Values that are put into them are escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in (*packages, "assistlearn.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        finalize=_visible,
    )


def _visible(value: Any) -> Any:
    """Return a text with its control characters written out, such as those of a terminal in a label."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
    return value


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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
