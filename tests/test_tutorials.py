"""Every tutorial is in the gallery, shows something, and is a notebook that the documentation's build can run.

They are run there, not here.
"""

import ast
import re

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from myst_nb.core.read import read_myst_markdown_notebook

from tests.documentation import DOCS

FOLDER = DOCS / "tutorials"
TUTORIALS = sorted(page for page in FOLDER.glob("*.md") if page.name != "index.md")
GALLERY = (FOLDER / "index.md").read_text(encoding="utf-8")
CARD = re.compile(r"\{grid-item-card\} (?P<title>.+)\n(?P<options>(?::.+\n)+)\n(?P<words>.+)\n")
CARDS = {
    options["link"]: {**options, "title": found["title"], "words": found["words"]}
    for found in CARD.finditer(GALLERY)
    if (options := dict(re.findall(r":([\w-]+): (.+)", found["options"])))
}
MOST_BYTES = 40_000
MOST_WORDS = 1_500
PICTURE = re.compile(r"Display\b|plt\.|^```\{(image|figure)\}", re.MULTILINE)
CONSOLE = re.compile(r"^!|^print\(", re.MULTILINE)


def named(page):
    return page.stem


def notebook(page):
    return read_myst_markdown_notebook(page.read_text(encoding="utf-8"))


def code(page):
    return [cell.source for cell in notebook(page).cells if cell.cell_type == "code"]


def test_the_gallery_has_a_card_for_every_tutorial_and_for_nothing_else():
    assert sorted(CARDS) == [page.stem for page in TUTORIALS]


@pytest.mark.parametrize("page", TUTORIALS, ids=named)
def test_a_card_has_the_title_of_its_page_and_one_that_can_see_and_one_that_cannot_know_what_it_is(page):
    card = CARDS[page.stem]
    assert f"\n# {card['title']}\n" in page.read_text(encoding="utf-8")
    assert len(card["words"].split()) >= 5
    assert card["img-alt"].endswith(".")
    assert card["link-type"] == "doc"


@pytest.mark.parametrize("page", TUTORIALS, ids=named)
def test_a_thumbnail_is_there_and_small(page):
    picture = FOLDER / CARDS[page.stem]["img-top"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("page", TUTORIALS, ids=named)
def test_a_tutorial_shows_a_picture_or_what_a_command_prints(page):
    words = page.read_text(encoding="utf-8")
    assert PICTURE.search(words) or any(CONSOLE.search(cell) for cell in code(page))


@pytest.mark.parametrize("page", TUTORIALS, ids=named)
def test_a_tutorial_is_a_notebook_whose_cells_compile(page):
    read = notebook(page)
    assert read.metadata["file_format"] == "mystnb"
    assert read.metadata["kernelspec"]["name"] == "python3"
    assert code(page)
    for cell in code(page):
        ast.parse(TransformerManager().transform_cell(cell))


@pytest.mark.parametrize("page", TUTORIALS, ids=named)
def test_a_tutorial_is_short(page):
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS
