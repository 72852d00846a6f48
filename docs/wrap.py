"""Wrap the prose of Markdown pages at 100 characters: ``python docs/wrap.py FILE...``.

Only paragraphs are touched, also those in list items, quotations, definitions and directives that hold prose, and only
where one of their lines is too long. Code, tables, headings, formulas, options, comments and front matter stay as they
are. A page says the same before and after: the tokens of both are compared, and a paragraph that would say something
else is left alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

WIDTH = 100
EXTENSIONS = {"attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"}
"""Of MyST. Those that a page does not use do no harm here."""

PROSE = {
    *("admonition", "attention", "caution", "danger", "error", "hint", "important", "note", "seealso", "tip"),
    *("warning", "card", "dropdown", "figure", "grid", "grid-item", "grid-item-card", "tab-item", "tab-set", "topic"),
    *("sidebar", "deprecated", "versionadded", "versionchanged"),
}
"""Directives with prose inside. All others, ``code-cell`` and ``toctree`` say, are left as they are."""

DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*(.*)")
_SEPARATOR = re.compile(r"\s*(?:\^{3,}|\+{3,})\s*")  # between the parts of a card
_OPTION = re.compile(r"\s*:[\w-]+:(\s|$)")
_UNBROKEN = re.compile(
    r"""\\.                              # an escaped character
    | (?:\{[\w:+-]+\})?(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)  # code, or a role
    | (?<!\$)\$(?!\$)[^$\n]+\$           # a formula
    | <!--.*?--> | <[^<>]+>              # a comment, a tag, an address
    | !\[[^]]*\]\([^()\s]*\)            # a picture
    | \[[^][`]{1,30}\]\([^()\s]*\)      # a link of few words
    | \]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+"[^"]*")?\)  # where a link leads, with its title
    | \S""",
    re.VERBOSE | re.DOTALL,
)
_BEGINS_SOMETHING = re.compile(
    r"[-+*](\s|$)|\d+[.)](\s|$)|\#{1,6}(\s|$)|[>|:~%=<$]|--|\+\+|\*\*\*|___|\*\s*\*|_\s*_|`{3}|\^{3}|\[\^|\[[^]]*\]:|\(.*\)=|\{|"
    r"[-=]+$"
)


@dataclass(frozen=True)
class Paragraph:
    """Where a paragraph is in a page, what it says, and what stands before its first and its other lines."""

    start: int
    stop: int
    lines: Sequence[str]
    first: str
    others: str
    token: Token


@cache
def parser() -> MarkdownIt:
    """Return a parser that reads pages as the documentation's does."""
    return create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)


def paragraphs(lines: Sequence[str]) -> Iterator[Paragraph]:
    """Yield the paragraphs of a page, from the top to the bottom, also those inside directives."""
    tokens = parser().parse("\n".join(lines))
    for i, token in enumerate(tokens):
        if token.type == "paragraph_open" and token.map:
            found = _paragraph(lines, tokens[i + 1], *token.map)
            if found is not None:
                yield found
        elif token.type in {"fence", "colon_fence"} and token.map:
            yield from _inside(lines, token, *token.map)


def wrap(text: str, width: int = WIDTH) -> str:
    r"""Return a page with no line of prose longer than a width, unless one word alone is.

    >>> print(wrap("- one two three four\n", 14), end="")
    - one two
      three four
    """
    lines = text.split("\n")
    long = [each for each in paragraphs(lines) if any(too_long(line, width) for line in lines[each.start : each.stop])]
    told = _said(text)
    wrapped = _with(lines, long, width)
    if _said(wrapped) == told:
        return wrapped
    kept: list[Paragraph] = []
    for each in long:
        if _said(_with(lines, [*kept, each], width)) == told:
            kept.append(each)
    return _with(lines, kept, width)


def too_long(line: str, width: int = WIDTH) -> bool:
    """Tell whether a line of prose is longer than a width and could be broken.

    >>> too_long("a `piece of code`", 10), too_long("`piece of code`", 10)
    (True, False)
    """
    prefix = re.match(r"[\s>]*(?:[-+*:]\s+|\d+[.)]\s+)?[\s>]*", line)
    return len(line.rstrip()) > width and len(words(line[prefix.end() if prefix else 0 :])) > 1


def words(text: str) -> list[str]:
    """Return the parts of a text between which a line may be broken: never inside code or a formula.

    What would begin a list, a heading or the like at the beginning of a line stays with the word before it.

    >>> words("see `a b` + [the page](c.md) 1. $x - y$")
    ['see', '`a b` +', '[the page](c.md) 1.', '$x - y$']
    """
    found: list[str] = []
    end = -1
    for part in _UNBROKEN.finditer(text):
        if part.start() == end:
            found[-1] += part.group()
        elif found and _BEGINS_SOMETHING.match(text[part.start() :]) and not _is_formula(part.group()):
            found[-1] += " " + part.group()
        else:
            found.append(part.group())
        end = part.end()
    return [word.replace("\n", " ") for word in found]


def _with(lines: Sequence[str], filled: Sequence[Paragraph], width: int) -> str:
    """Return a page in which some paragraphs are filled anew."""
    new = [*lines]
    for each in reversed(filled):
        new[each.start : each.stop] = _filled(each, width)
    return "\n".join(new)


def _is_formula(part: str) -> bool:
    return part.startswith("$") and part.endswith("$") and len(part) > 2


def _paragraph(lines: Sequence[str], inline: Token, start: int, stop: int) -> Paragraph | None:
    """Return a paragraph, or nothing where its lines are not found as they were read."""
    said = inline.content.split("\n")
    stop = start + len(said)
    own = lines[start:stop]
    if any(">>>" in line or _SEPARATOR.fullmatch(line) for line in own) or not own[0].endswith(said[0]):
        return None
    first = own[0][: len(own[0]) - len(said[0])]
    footnote = re.match(r"\s*\[\^[^]]+\]:\s*$", first)
    others = "    " if footnote else re.sub(r"[^\s>]", " ", first)
    return Paragraph(start, stop, said, first, others, inline)


def _inside(lines: Sequence[str], fence: Token, start: int, stop: int) -> Iterator[Paragraph]:
    """Yield the paragraphs of a directive that holds prose, part by part where it is a card."""
    named = DIRECTIVE.match(fence.info.strip())
    closed = lines[stop - 1].strip(" >")
    if named is None or named[1] not in PROSE or stop - start < 3 or set(closed) != {fence.markup[0]}:
        return
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    inner = range(start + 1 + options(lines[start + 1 : stop - 1]), stop - 1)
    if not all(lines[i].startswith(indent) or not lines[i].strip() for i in inner):
        return
    begin = inner.start
    for end in [*(i for i in inner if _SEPARATOR.fullmatch(lines[i])), inner.stop]:
        for each in paragraphs([line[len(indent) :] for line in lines[begin:end]]):
            where = begin + each.start, begin + each.stop
            yield Paragraph(*where, each.lines, indent + each.first, indent + each.others, each.token)
        begin = end + 1


def options(lines: Sequence[str]) -> int:
    """Return how many lines at the beginning of a directive are options."""
    if lines and lines[0].strip() == "---":
        ends = [i for i, line in enumerate(lines[1:], 2) if line.strip() == "---"]
        return ends[0] if ends else len(lines)
    others = (i for i, line in enumerate(lines) if not _OPTION.match(line))
    return next(others, len(lines))


def _filled(each: Paragraph, width: int) -> list[str]:
    """Return the lines of a paragraph, filled anew between its own line breaks."""
    filled: list[str] = []
    part: list[str] = []
    for i, line in enumerate(each.lines):
        part.append(line)
        ends = "  " if line.endswith("  ") else "\\" if line.endswith("\\") else ""
        if ends or i == len(each.lines) - 1:
            text = "\n".join(part).strip()
            filled += _fill(words(text), len(each.others), width)
            filled[-1] += "  " if ends == "  " and i < len(each.lines) - 1 else ""
            part = []
    return [(each.others if i else each.first) + line for i, line in enumerate(filled)]


def _fill(parts: Sequence[str], indent: int, width: int) -> list[str]:
    lines = [parts[0]]
    for part in parts[1:]:
        if indent + len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += " " + part
        else:
            lines.append(part)
    return lines


def _said(text: str) -> list[object]:
    """Return what a page says, whatever its white space: the kinds of its tokens and their content."""
    return [_token(token) for token in parser().parse(text)]


def _token(token: Token) -> object:
    inner = [_token(child) for child in token.children or []]
    if token.type == "inline":
        return _joined(inner)
    named = DIRECTIVE.match(token.info.strip()) if token.type in {"fence", "colon_fence"} else None
    if named is not None and named[1] in PROSE:
        body = token.content.split("\n")
        own = options(body)
        parts: list[object] = [token.info, *body[:own]]
        begin = own
        for end in [*(i for i in range(own, len(body)) if _SEPARATOR.fullmatch(body[i])), len(body)]:
            parts.append(_said("\n".join(body[begin:end])))
            begin = end + 1
        return parts
    if token.type in {"text", "code_inline", "html_inline", "math_inline"}:
        return token.type, " ".join(token.content.split())
    attrs = sorted((name, " ".join(str(value).split())) for name, value in token.attrs.items())
    return token.type, token.tag, token.content, token.info, token.markup, attrs, inner


def _joined(children: Sequence[object]) -> list[object]:
    """Return inline tokens with texts and line ends between them as one text."""
    joined: list[object] = []
    for child in children:
        kind = child[0] if isinstance(child, tuple) else None
        text = " " if kind == "softbreak" else f" {child[1]} " if kind == "text" and isinstance(child, tuple) else None
        if text is None:
            joined.append(child)
        elif joined and isinstance(joined[-1], str):
            joined[-1] = " ".join((joined[-1] + text).split())
        else:
            joined.append(" ".join(text.split()))
    return joined


def main(paths: Sequence[str]) -> None:
    """Wrap files where they are, and name those that changed."""
    for path in map(Path, paths):
        old = path.read_text(encoding="utf-8")
        new = wrap(old)
        if new != old:
            path.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
