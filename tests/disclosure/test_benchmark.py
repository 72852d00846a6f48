"""The benchmark of privacy runs from end to end in its small form, and the page in the documentation is its own."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.privacy import run as benchmark
from bench.privacy.measure import NOTHING, WRONG_PEOPLE, fitted
from bench.privacy.report import PAGE, PICTURE, page
from bench.privacy.results import Results
from bench.privacy.tables import TABLES, breast, digits
from bench.privacy.ways import WAYS
from bench.provenance import without_provenance

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("privacy")
    run = [sys.executable, "-m", "bench.privacy.run", "--quick", "--jobs", "1", "--out", folder, "--docs", folder]
    done = subprocess.run(
        run, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_small_form_measures_every_figure_on_seeds_that_are_not_the_benchmarks(folder):
    with (folder / "results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["replication"] for row in rows} == {"0", "1"}
    assert {row["table"] for row in rows} == set(benchmark.QUICK_TABLES)
    figures = {"column", "bits", "test auc", "accuracy", "label", "label, columns alone", "right", "membership"}
    assert {row["figure"] for row in rows} == figures
    guessed = {row["way"] for row in rows if row["figure"] == "column"}
    votes = {f"{way}: votes" for way in benchmark.QUICK_WAYS}
    assert guessed == {*benchmark.QUICK_WAYS, *votes, NOTHING, WRONG_PEOPLE}
    assert all(0.0 <= float(row["value"]) <= 1.0 for row in rows if row["figure"] != "bits")


def test_its_page_has_the_means(folder):
    found = Results(folder / "results.csv")
    text = (folder / PAGE).read_text(encoding="utf-8")
    assert without_provenance(text) == without_provenance(page(found, "*Results"))
    [table] = found.tables
    mean = np.mean(list(found.columns_together(table, "soft, 8 bits", 20).values()))
    assert f" {mean:.3f} ± " in text
    assert (folder / "_static" / PICTURE).read_bytes().startswith(b"\x89PNG")


def test_started_again_it_has_nothing_left_to_do(folder):
    options = benchmark.options_of(["--quick", "--out", str(folder), "--docs", str(folder)])
    assert benchmark.jobs(options) == []
    options.reps = 3
    assert [job.replication for job in benchmark.jobs(options)] == [2]


def test_measured_again_with_the_same_code_the_rows_of_a_way_are_the_same(folder, tmp_path):
    before = (folder / "results.csv").read_text(encoding="utf-8").splitlines()
    again = tmp_path / "results.csv"
    again.write_text("\n".join([before[0], *(line for line in before if line.split(",")[-2] == "0")]) + "\n")
    ways = Results(again).ways
    benchmark.again(again, "ascii", 1)
    found, old = Results(again), Results(folder / "results.csv")
    assert found.ways == ways
    for figure in ("bits", "test auc", "membership"):
        assert found.at("breast cancer", "ascii", figure, 20)[0] == old.at("breast cancer", "ascii", figure, 20)[0]
    column = old.columns("breast cancer")[0]
    guess = [each.at("breast cancer", "ascii", "column", 20, column)[0] for each in (found, old)]
    assert guess[0] == guess[1]


def test_the_page_in_the_documentation_is_that_of_the_results():
    results = ROOT / "bench" / "privacy" / "results.csv"
    text = (ROOT / "docs" / "evidence" / PAGE).read_text(encoding="utf-8")
    assert without_provenance(text) == without_provenance(page(Results(results), "*Results"))


def test_the_documented_results_have_every_table_way_and_control():
    found = Results(ROOT / "bench" / "privacy" / "results.csv")
    assert found.tables == list(TABLES)
    assert found.ways == list(WAYS)
    for table in found.tables:
        assert found.controls(table) == [NOTHING, WRONG_PEOPLE]
        nothing, wrong = (found.columns_together(table, way, 20) for way in (NOTHING, WRONG_PEOPLE))
        gaps = [wrong[seed] - nothing[seed] for seed in nothing]
        assert abs(np.mean(gaps)) < 0.03  # what is about other people says nothing


def test_what_is_overheard_is_what_the_helper_has_told():
    cut = digits(0)
    model = fitted(cut, "label-private, epsilon 1", 0)
    [told] = model.told_
    assert told.said.shape == (len(cut.train), 10)
    np.testing.assert_allclose(told.said.sum(axis=1), 0.0, atol=1e-9)  # votes of score vectors
    assert 0.0 < told.bits <= 4 * 10
    hard = fitted(breast(0), "ascii", 0)
    assert set(np.unique(hard.told_[0].said)) == {-1.0, 1.0}
    assert len(hard.told_) == sum(c.agent == "helper" for c in hard.contributions_)
