"""The page in a real browser: what is seen, in light and dark, on a telephone, on paper, by keyboard, by a reader."""

from __future__ import annotations

import re

import pytest

TELEPHONE = {"width": 375, "height": 800}
UNFOLD = "document.querySelectorAll('details').forEach(each => each.open = true)"


@pytest.fixture(scope="module")
def pages(shown, tmp_path_factory):
    """The addresses of pages, by the kind of the run."""
    folder = tmp_path_factory.mktemp("pages")
    for kind in ("trained", "pilot", "stopped", "label-private"):
        (folder / f"{kind}.html").write_text(shown(kind)[1])
    return {path.stem: path.as_uri() for path in folder.glob("*.html")}


@pytest.mark.parametrize("kind", ["trained", "pilot", "stopped", "label-private"])
def test_nothing_is_asked_for_and_a_telephone_scrolls_wide_tables_but_not_the_page(opened, pages, kind):
    seen = opened(pages[kind], viewport=TELEPHONE)
    assert (seen.requests, seen.complaints) == ([pages[kind]], [])
    seen.page.evaluate(UNFOLD)
    assert not seen.wider_than_the_screen
    if kind == "trained":
        wide = "[...document.querySelectorAll('.wide')].some(each => each.scrollWidth > each.clientWidth)"
        assert seen.page.evaluate(wide)


def test_the_question_and_the_answer_are_seen_without_scrolling(opened, pages, shown):
    seen = opened(pages["trained"], viewport={"width": 1000, "height": 700})
    assert seen.page.get_by_role("heading", level=1).inner_text().startswith("Does the help of lab and scans")
    lead = seen.page.locator(".lead").bounding_box()
    assert lead["y"] + lead["height"] < 700
    value = shown("trained")[0].answer.assisted
    assert f"{100 * value:.1f}\N{NO-BREAK SPACE}%" in seen.page.locator(".cards .assisted").inner_text()


@pytest.mark.parametrize(("kind", "scheme"), [("trained", "light"), ("trained", "dark"), ("pilot", "light")])
def test_a_checker_of_accessibility_finds_nothing_serious(opened, pages, kind, scheme):
    seen = opened(pages[kind], color_scheme=scheme, bypass_csp=True)
    seen.page.evaluate(UNFOLD)
    assert seen.findings() == []


def test_pictures_and_text_change_their_colours_on_a_dark_screen_and_not_on_paper(opened, pages):
    def colours(**options):
        page = opened(pages["trained"], **options).page
        ask = "e => [getComputedStyle(e).color, getComputedStyle(e.querySelector('svg text')).fill]"
        return page.locator("#rounds").evaluate(ask), page

    light, _ = colours(color_scheme="light")
    dark, page = colours(color_scheme="dark")
    assert light == ["rgb(29, 39, 51)"] * 2
    assert dark == ["rgb(230, 233, 237)"] * 2
    page.emulate_media(media="print")
    ask = "e => getComputedStyle(e.querySelector('svg text')).fill"
    assert page.locator("#rounds").evaluate(ask) == "rgb(29, 39, 51)"


def test_on_paper_tables_are_unfolded_and_the_page_is_a_few_sheets(opened, pages):
    seen = opened(pages["trained"])
    folded = seen.page.locator("details table").first
    assert not folded.is_visible()
    seen.page.emulate_media(media="print")
    assert folded.bounding_box()["height"] > 50
    pdf = seen.page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 15


def test_a_keyboard_reaches_every_link_and_unfolds_tables(opened, pages):
    page = opened(pages["trained"]).page
    links, folded = page.locator("nav a").count(), page.locator("summary").count()
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.tagName"))
        if reached[-1] == "SUMMARY" and reached.count("SUMMARY") == 1:
            page.keyboard.press("Enter")
            page.wait_for_function("document.activeElement.parentElement.open")
    assert links >= 10
    assert reached.count("A") >= links
    assert reached.count("SUMMARY") >= folded > 0
    page.locator("nav a").last.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**#settings")
    page.wait_for_function("document.querySelector('#settings').getBoundingClientRect().top < innerHeight")


def test_a_script_that_got_into_the_page_would_not_run(opened, tmp_path, shown):
    spoiled = shown("stopped")[1].replace("</main>", "<script>document.title='run'</script></main>")
    (tmp_path / "spoiled.html").write_text(spoiled)
    seen = opened((tmp_path / "spoiled.html").as_uri())
    assert seen.page.title() != "run"
    assert len(seen.complaints) == 1
    assert "Content Security Policy" in seen.complaints[0]
