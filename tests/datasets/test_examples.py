"""The examples in the documentation run and give what they show."""

import doctest
import re
from pathlib import Path

import pytest

from assistlearn.datasets.mimic import VARIABLES

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


def test_the_pages_examples_give_what_they_show(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSISTLEARN_DATA", str(data))
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted >= 10
    assert result.failed == 0


def test_the_pages_table_of_items_is_the_one_in_use() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for variable in VARIABLES:
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {variable.name} ")]
        _, _, table, items, plausible, _ = (cell.strip() for cell in line.split("|"))
        assert set(re.findall(r"\d+", re.sub(r"\(.*?\)", "", items))) == set(map(str, variable.items))
        assert table == variable.table.upper()
        assert plausible == f"{variable.low:g} to {variable.high:g}"
