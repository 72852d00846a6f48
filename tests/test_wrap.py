"""The tool that wraps pages changes their lines and nothing else."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from tests.documentation import pages

ROOT = Path(__file__).parent.parent
MARKDOWN = MarkdownIt("commonmark").enable("table").use(front_matter_plugin).use(deflist_plugin).use(dollarmath_plugin)


def _tool():
    spec = spec_from_file_location("wrap", ROOT / "docs" / "wrap.py")
    module = sys.modules["wrap"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = _tool()
LONG = "Organisations that know different things about the same people help one of them to classify better, and more."
GOLDEN = {
    f"{LONG}\nIt goes on.\n": (
        "Organisations that know different things about the same people help one of them to classify better,\n"
        "and more. It goes on.\n"
    ),
    f"- {LONG}\n  It goes on.\n- next\n": (
        "- Organisations that know different things about the same people help one of them to classify\n"
        "  better, and more. It goes on.\n- next\n"
    ),
    f"10. {LONG}\n": (
        "10. Organisations that know different things about the same people help one of them to classify\n"
        "    better, and more.\n"
    ),
    f"> {LONG}\n": (
        "> Organisations that know different things about the same people help one of them to classify\n"
        "> better, and more.\n"
    ),
    f"word\n: {LONG}\n": (
        "word\n: Organisations that know different things about the same people help one of them to classify\n"
        "  better, and more.\n"
    ),
    f":::{{note}}\n:class: of {LONG}\n{LONG}\n:::\n": (
        f":::{{note}}\n:class: of {LONG}\n"
        "Organisations that know different things about the same people help one of them to classify better,\n"
        "and more.\n:::\n"
    ),
    f"{LONG[:60]}  \n{LONG}\n": (
        f"{LONG[:60].rstrip()}  \n"
        "Organisations that know different things about the same people help one of them to classify better,\n"
        "and more.\n"
    ),
}
UNTOUCHED = [
    f"# {LONG}\n",
    f"```sh\n{LONG}\n```\n",
    f"    {LONG}\n",
    f"| {LONG} |\n| --- |\n| {LONG} |\n",
    f"$$\n{LONG}\n$$\n",
    f"<!-- {LONG} -->\n",
    f"---\ntitle: {LONG}\n---\n\ntext\n",
    f"```{{code-cell}} ipython3\n{LONG}\n```\n",
    f"```{{toctree}}\n{LONG}\n```\n",
    f"% {LONG}\n",
    f"`{LONG}`\n",
    f"text\n\n>>> {LONG}\n",
    f"{LONG[:90]}\nshort\n",
]


@pytest.mark.parametrize("old", GOLDEN, ids=range(len(GOLDEN)))
def test_prose_is_filled_where_a_line_is_too_long(old):
    assert tool.wrap(old) == GOLDEN[old]


@pytest.mark.parametrize("page", UNTOUCHED, ids=range(len(UNTOUCHED)))
def test_everything_else_stays_as_it_is(page):
    assert tool.wrap(page) == page


def _rendered(text):
    return re.sub(r"\s+", " ", MARKDOWN.render(text))


SINGLE = """
word a longer-word - + * 1. 12) # ## > | : ~ --- === `a` a_b é … 5 <b> {note} ::: (name)= % +++ ^^^ [^1]: [x]: $$ >>>
\\ \\* _ __ *emphasis* ``` ~~~ https://x.y `x y` $x $ <!-- -->
"""
JOINED = [
    *("`x - y`", "$x - y$", "[a link](page.md)", "[one of more words than a few, and more](page.md)", "| --- |"),
    *("**bold *and* more**", "<!-- no comment -->", "![alt text](p.png)"),
]
WORDS = st.sampled_from([*SINGLE.split(), *JOINED])
LINES = st.builds(" ".join, st.lists(WORDS, min_size=1, max_size=12))
BEGIN = st.sampled_from(["", "", "", "- ", "  ", "1. ", "> ", "# ", ": ", "    ", "   - ", "| ", "```", ":::{note}"])
PAGES = st.lists(st.builds("".join, st.tuples(BEGIN, LINES)) | st.just(""), min_size=1, max_size=12).map("\n".join)


@given(page=PAGES, width=st.integers(10, 60))
def test_a_wrapped_page_says_the_same_and_is_wrapped(page, width):
    wrapped = tool.wrap(page, width)
    assert _rendered(wrapped) == _rendered(page)
    assert tool.wrap(wrapped, width) == wrapped


@pytest.mark.parametrize("page", [ROOT / "README.md", *pages()], ids=lambda page: page.stem)
def test_no_page_says_anything_else_when_wrapped(page):
    old = page.read_text(encoding="utf-8")
    new = tool.wrap(old)
    assert re.sub(r"[\s>]+", " ", new) == re.sub(r"[\s>]+", " ", old)
    assert tool.wrap(new) == new
    lines = new.split("\n")
    prose = [line for each in tool.paragraphs(lines) for line in lines[each.start : each.stop]]
    assert [line for line in prose if tool.too_long(line)] == []
