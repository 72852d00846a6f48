"""Links of pages lead to files that exist, or to addresses that somebody has looked at.

Sphinx checks links between the pages of the documentation, with their headings, whenever it builds them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt

from tests.documentation import DOCS, pages

ROOT = DOCS.parent
OUTSIDE_DOCS = sorted(ROOT.glob("*.md"))
TEXTS = [*OUTSIDE_DOCS, *pages()]
KNOWN = DOCS / "external-links.txt"


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def links(text: str) -> Iterator[str]:
    """Yield where the links and pictures of a text lead, also those inside its directives."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        for part in token.children or []:
            if part.type in {"link_open", "image"}:
                yield str(part.attrs.get("href") or part.attrs.get("src"))
        if token.type == "fence" and token.info.startswith("{"):
            yield from links(token.content)
            yield from re.findall(r"^:(?:link|target): *(\S+)$", token.content, re.MULTILINE)


@pytest.mark.parametrize("page", OUTSIDE_DOCS, ids=_name)
def test_links_inside_the_repository_lead_to_what_exists(page):
    for link in links(page.read_text(encoding="utf-8")):
        path = unquote(link.partition("#")[0])
        assert urlsplit(link).scheme or (page.parent / path).exists(), link


@pytest.mark.parametrize("page", TEXTS, ids=_name)
def test_links_to_the_outside_are_ones_that_were_looked_at(page):
    """Tests have no network. ``make linkcheck`` asks every address, where there is one."""
    outside = {link for link in links(page.read_text(encoding="utf-8")) if urlsplit(link).scheme}
    assert outside <= _known().keys(), f"not in {KNOWN.name}: {sorted(outside - _known().keys())}"


def _known() -> dict[str, str]:
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    return dict(line.split("  ", 1) for line in lines)


def test_the_known_addresses_are_well_formed_and_say_what_they_are():
    for address, what in _known().items():
        assert re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+(/[\w./~%?=&#+:@-]*)?", address), address
        assert what.strip()


def test_links_are_found_in_directives_too():
    text = "[x](#a) ![y](z.png)\n\n```{card}\n:link: page\n\n| [b](c.md) |\n| --- |\n```\n"
    assert [*links(text)] == ["#a", "z.png", "c.md", "page"]
