"""The page and the files of a figure hold the numbers of the result."""

import csv
import io
import json
import re

import pytest

from paper.figures import published, read_settings
from paper.page import write, write_page
from tests.paper.made_up import result


@pytest.fixture(scope="module")
def found():
    return result("fig3c", {"Single": 0.75, "ASCII": 0.84, "Oracle": 0.83})


def test_the_table_of_a_figure_has_every_method_and_round(found, tmp_path):
    folder = write(found, tmp_path)
    rows = list(csv.DictReader(io.StringIO((folder / "results.csv").read_text(encoding="utf-8"))))
    assert len(rows) == 3 * 10
    row = next(row for row in rows if row["method"] == "ASCII" and row["round"] == "10")
    assert float(row["mean"]) == pytest.approx(0.84)
    assert float(row["standard_error"]) == pytest.approx(found.standard_error("ASCII")[-1], abs=1e-6)
    assert float(row["published"]) == published("3c")["ASCII"][10] == 0.831


def test_the_json_of_a_figure_has_settings_curves_and_claims(found, tmp_path):
    facts = json.loads((write(found, tmp_path) / "results.json").read_text(encoding="utf-8"))
    assert facts["replications"] == 5
    assert facts["settings"]["learner"]["parameters"] == read_settings("fig3c").learner.parameters
    assert facts["curves"]["Single"]["mean"] == pytest.approx([0.75] * 10)
    assert {each["verdict"] for each in facts["claims"]} <= {"holds", "holds in part", "does not hold"}


def test_the_same_result_gives_the_same_files(found, tmp_path):
    for name in ("results.csv", "results.json", "figure.png", "figure.svg"):
        first, second = ((write(found, tmp_path / each) / name).read_bytes() for each in ("one", "two"))
        assert first == second


def test_the_page_compares_with_the_published_numbers(found, tmp_path):
    write_page([found], tmp_path / "page.md", command="python -m paper fig3c")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "Written by `python -m paper fig3c`, with assistlearn" in page
    assert "| round 1, ours | round 1, published | round 6, ours" in page
    assert re.search(r"\| ASCII \| 0\.840 ± 0\.\d{3} \| 0\.797 \|", page)
    said = "after the last round +0.090, p < 0.001 (corrected p < 0.001)"
    assert f"| ASCII is better than a single agent | **holds** | {said} |" in page
    assert (tmp_path / "_static" / "reproduction" / "fig3c.png").is_file()
