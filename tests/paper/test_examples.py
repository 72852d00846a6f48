"""The examples in the documentation run and give what they show."""

import doctest
import re
from pathlib import Path

from paper.datasets.mimic import VARIABLES

PAGES = Path(__file__).parents[2] / "paper" / "datasets"
PAGE, MIMIC = PAGES / "README.md", PAGES / "MIMIC.md"


def test_the_pages_examples_give_what_they_show(data, monkeypatch):
    monkeypatch.setenv("ASSISTLEARN_DATA", str(data))
    options = {"module_relative": False, "optionflags": doctest.NORMALIZE_WHITESPACE}
    results = [doctest.testfile(str(page), **options) for page in (PAGE, MIMIC)]
    assert sum(result.attempted for result in results) >= 10
    assert sum(result.failed for result in results) == 0


def test_the_pages_table_of_items_is_the_one_in_use():
    page = MIMIC.read_text(encoding="utf-8")
    for variable in VARIABLES:
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {variable.name} ")]
        _, _, table, items, plausible, _ = (cell.strip() for cell in line.split("|"))
        assert set(re.findall(r"\d+", re.sub(r"\(.*?\)", "", items))) == set(map(str, variable.items))
        assert table == variable.table.upper()
        assert plausible == f"{variable.low:g} to {variable.high:g}"
