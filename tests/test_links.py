"""Links lead somewhere: inside the repository to what exists, outside it to addresses that somebody has looked at."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it.token import Token

from tests.documentation import DOCS, pages
from tests.prose import wrapping

ROOT = DOCS.parent
PARTS = DOCS / "reference" / "commands" / "examples"
"""Parts of other pages, from which their links lead."""
TEXTS = [*sorted(ROOT.glob("*.md")), *(page for page in pages() if PARTS not in page.parents)]
KNOWN = DOCS / "external-links.txt"
MOST_LEVELS = 3
"""Headings below this have no anchors in the documentation (``myst_heading_anchors``)."""


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a page, those inside its directives, and those inside its lines."""
    tool = wrapping()
    for token in tool.parser().parse(text):
        yield token
        yield from token.children or []
        named = tool.DIRECTIVE.match(token.info.strip()) if token.type in {"fence", "colon_fence"} else None
        if named and named[1] in tool.PROSE:
            body = token.content.split("\n")
            yield from _tokens("\n".join(body[tool.options(body) :]))


def links(text: str) -> Iterator[str]:
    """Yield where the links and pictures of a page lead, also those of cards and figures."""
    for token in _tokens(text):
        if token.type in {"link_open", "image"}:
            yield str(token.attrs.get("href") or token.attrs.get("src") or "")
        elif token.type in {"fence", "colon_fence"}:
            named = wrapping().DIRECTIVE.match(token.info.strip())
            if named and named[1] in {"image", "figure"}:
                yield named[2].strip()
            yield from re.findall(r"^:(?:link|target|img-\w+): *(\S*[/.]\S*)$", token.content, re.MULTILINE)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the names in a page that a link may lead to: of headings, as forges and MyST make them, and set ones."""
    found: list[str] = []
    tokens = [*_tokens(page.read_text(encoding="utf-8"))]
    for i, token in enumerate(tokens):
        if token.type == "heading_open" and (int(token.tag[1]) <= MOST_LEVELS or DOCS not in page.parents):
            shown = "".join(child.content for child in tokens[i + 1].children or [])
            slug = re.sub(r"[^\w\u4e00-\u9fff\- ]", "", shown.strip().lower()).replace(" ", "-")
            n = Counter(found)[slug]
            found += [slug, f"{slug}-{n}"] if n else [slug]
        elif token.type == "myst_target":
            found.append(token.content)
    return frozenset({*found, *re.findall(r'\b(?:id|name)="([^"]+)"', page.read_text(encoding="utf-8"))})


def _broken(page: Path, link: str) -> str | None:
    """What is wrong with a link inside the repository, or nothing."""
    path, _, anchor = unquote(link).partition("#")
    target = page if not path else (ROOT / "docs" / path[1:] if path.startswith("/") else page.parent / path).resolve()
    if "generated" in target.parts:  # written when the documentation is built, which checks it
        return None
    if not target.suffix:  # a card names a page without its ending
        target = next((each for each in (target, target.with_suffix(".md")) if each.exists()), target)
    if ROOT not in target.parents or not target.exists():
        return f"{_name(page)}: {link}: there is no such file in the repository"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return f"{_name(page)}: {link}: no such heading; there are {', '.join(sorted(anchors(target)))}"
    return None


def _is_outside(link: str) -> bool:
    return bool(urlsplit(link).scheme)


@pytest.mark.parametrize("page", TEXTS, ids=_name)
def test_links_inside_the_repository_lead_to_what_exists(page):
    inside = (link for link in links(page.read_text(encoding="utf-8")) if link and not _is_outside(link))
    broken = [wrong for wrong in (_broken(page, link) for link in inside) if wrong]
    if broken:
        pytest.fail("\n".join(broken), pytrace=False)


def _known() -> dict[str, str]:
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    return dict(line.split("  ", 1) for line in lines)


@pytest.mark.parametrize("page", TEXTS, ids=_name)
def test_links_to_the_outside_are_ones_that_were_looked_at(page):
    """Tests have no network. ``make linkcheck`` asks every address, where there is one."""
    outside = [link for link in links(page.read_text(encoding="utf-8")) if _is_outside(link)]
    unknown = [f"{_name(page)}: {link}: not in {KNOWN.name}" for link in outside if link not in _known()]
    if unknown:
        pytest.fail("\n".join(unknown), pytrace=False)


def test_the_known_addresses_are_well_formed_and_say_what_they_are():
    lines = KNOWN.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    for address, what in _known().items():
        parts = urlsplit(address)
        assert re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]+(/[\w./~%?=&#+:@-]*)?", address), address
        assert parts.scheme == "https"
        assert parts.username is None
        assert parts.port is None
        assert what.strip()


def test_links_and_anchors_are_read_as_they_are_shown(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("(set)=\n# A `b`, c!\n\n# A b c\n\n:::{note}\n[x](#a-b-c) ![y](z.png)\n:::\n", encoding="utf-8")
    assert [*links(page.read_text(encoding="utf-8"))] == ["#a-b-c", "z.png"]
    assert anchors(page) == {"set", "a-b-c", "a-b-c-1"}
