"""Every tutorial has a card in the gallery, with its title; the documentation's build runs the tutorials themselves."""

import re

import pytest

from tests.documentation import DOCS

FOLDER = DOCS / "tutorials"
TUTORIALS = sorted(page for page in FOLDER.glob("*.md") if page.name != "index.md")
CARD = re.compile(r"\{grid-item-card\} (?P<title>.+)\n(?P<options>(?::.+\n)+)")
CARDS = {
    options["link"]: {**options, "title": found["title"]}
    for found in CARD.finditer((FOLDER / "index.md").read_text(encoding="utf-8"))
    if (options := dict(re.findall(r":([\w-]+): (.+)", found["options"])))
}


def test_the_gallery_has_a_card_for_every_tutorial_and_for_nothing_else():
    assert sorted(CARDS) == [page.stem for page in TUTORIALS]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_card_has_the_title_of_its_page_and_says_to_those_who_cannot_see_what_its_picture_shows(page):
    card = CARDS[page.stem]
    assert f"\n# {card['title']}\n" in page.read_text(encoding="utf-8")
    assert card["img-alt"].endswith(".")
    assert (FOLDER / card["img-top"]).read_bytes().startswith(b"\x89PNG")
