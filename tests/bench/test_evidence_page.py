"""Measurements of tables are put into pages, each between its own marks."""

from __future__ import annotations

import re

import pytest

from bench.evidence_page import END, ROOT, begin, put

PAGES = ROOT / "bench"
WRITERS = {
    "bench/sources": "tables.md",
    "bench/tables.py": "tables.md",
    "bench/table_preprocessing.py": "table_preprocessing.md",
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_measurement_takes_the_place_of_its_own_earlier_one(tmp_path, writer):
    page = tmp_path / "page.md"
    before = (PAGES / WRITERS[writer]).read_text(encoding="utf-8")
    page.write_text(before, encoding="utf-8")
    put(page, writer, "| new |", "python -m bench.something")
    after = page.read_text(encoding="utf-8")
    block = re.escape(begin(writer)) + r".*?" + re.escape(END)
    assert re.sub(block, "", before, flags=re.DOTALL) == re.sub(block, "", after, flags=re.DOTALL)
    said = r"Measured on \d{4}-\d\d-\d\d at commit .+ by `python -m bench.something`\.\n\n\| new \|"
    assert re.search(re.escape(begin(writer)) + r"\n" + said + r"\n" + re.escape(END), after)


def test_a_page_without_marks_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A page\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"has no marks of bench/tables\.py"):
        put(page, "bench/tables.py", "| new |", "python -m bench.tables")
    assert page.read_text(encoding="utf-8") == "# A page\n"
