"""The words that people read: of pages, and of the docstrings, comments, help texts and errors in the source."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from tests.documentation import DOCS

WORD = re.compile(
    r"(?<![\w.\\/@$%{<&|-])[^\W\d_]+(?:['\u2019][^\W\d_]+)*(?![\w\\/@(=\[|]|\.\w|[-:]\w*[\d_])"
    r"|(?<=[a-z]-)[a-z]+"  # after a hyphen
)
CODE = re.compile(
    r""":?[\w:-]*:?(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)  # code, or a role
    | ^\s*(?:>>>|\.\.\.\s).*$                            # an example
    | ^\s*\.\.\s+\w+::.*$                                # a directive
    | \S*://\S* | --?[a-z][\w-]* | \S+@\S+               # an address, an option
    | (?<!\w)(?P<quote>['"])[^\s'"]*(?P=quote)                            # a value
    | \$[^$\n]+\$ | <[^<>]*> | ^\s*[\w*, ]+\s:\s.*$      # a formula, a tag, a parameter and its type
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
PLAIN_WORD = re.compile(r"(?:^|\s)[A-Z]?[a-z]+(?=[\s.,:;?!]|$)")
SQL = re.compile(r"\bFROM\b|\bselect\b.*\bfrom\b|\bread_csv\(", re.DOTALL)
HIDDEN = {"code_inline", "math_inline", "math_inline_double", "html_inline", "myst_role", "footnote_ref"}


@cache
def wrapping() -> ModuleType:
    """Return the tool that wraps pages: it knows where their prose is."""
    spec = spec_from_file_location("wrap", DOCS / "wrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["wrap"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def words_of_page(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a Markdown page with their lines, counted from 1."""
    yield from _words_of_lines(text.split("\n"), 1)


def _words_of_lines(lines: list[str], begin: int) -> Iterator[tuple[int, str]]:
    tool = wrapping()
    for token in tool.parser().parse("\n".join(lines)):
        start = begin + (token.map[0] if token.map else 0)
        if token.type == "inline":
            shown = "".join(_shown(child) for child in token.children or [])
            for i, line in enumerate(shown.split("\n")):
                yield from ((start + i, word) for word in words(line))
        elif token.type in {"fence", "colon_fence"}:
            named = tool.DIRECTIVE.match(token.info.strip())
            if named and named[1] in tool.PROSE:
                yield from ((start, word) for word in words(named[2] if named[1] != "figure" else ""))
                body = token.content.split("\n")
                own = tool.options(body)
                yield from _words_of_lines(body[own:], start + 1 + own)


def _shown(token) -> str:
    """Return what a reader sees as prose of an inline token; an image has its text in children."""
    if token.type in HIDDEN:
        return "0"
    if token.type in {"softbreak", "hardbreak"}:
        return "\n"
    return "".join(_shown(child) for child in token.children) if token.children else token.content


def words_of_source(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a module's docstrings, comments and sentences with their lines, counted from 1."""
    for start, said in (*_strings(ast.parse(text)), *_comments(text)):
        for i, line in enumerate(CODE.sub(_blank, said).split("\n")):
            yield from ((start + i, word) for word in words(line))


def words(text: str) -> list[str]:
    """Return the words of a line, without what is no word: numbers, names with underscores, paths."""
    return [found.group().replace("\u2019", "'").removesuffix("'s") for found in WORD.finditer(CODE.sub(_blank, text))]


def _blank(code: re.Match[str]) -> str:
    return "0" + "\n" * code.group().count("\n")


def _strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    inner = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values]
            said = "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            said = node.value
        else:
            continue
        if not SQL.search(said) and len(PLAIN_WORD.findall(said)) >= (3 if said[:1].isupper() else 4):
            yield node.lineno, said


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(?:noqa|type:|fmt:)", token.string):
            yield token.start[0], token.string.lstrip("# ")
