"""The benchmark of accuracy runs from end to end in its small form."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = [sys.executable, "-m", "bench.accuracy.run", "--quick", "--jobs", "1"]


def measured(folder: Path) -> dict[tuple[str, str, int], list[float]]:
    curves: dict[tuple[str, str, int], list[float]] = {}
    with (folder / "results.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["learner"], row["way"], int(row["replication"])
            curves.setdefault(key, []).append(float(row["accuracy"]))
            assert int(row["round"]) == len(curves[key])
    return curves


def run(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [*RUN, "--out", folder, "--docs", folder, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("accuracy")
    run(folder)
    return folder


def test_the_small_form_measures_what_the_page_compares(folder):
    curves = measured(folder)
    assert {replication for _, _, replication in curves} == {100, 101}
    ways = {way for learner, way, _ in curves if learner == "tree-3"}
    assert {"single", "oracle", "ascii", "simple", "random", "soft", "soft, partial: intersection"} <= ways
    assert {way for learner, way, _ in curves if learner == "-"} == {"pooled boosting", "pooled forest"}
    assert all(0.8 < curve[-1] <= 1.0 for curve in curves.values())


def test_its_page_shows_the_means_and_judges_nothing_from_two_replications(folder):
    page = (folder / "accuracy.md").read_text(encoding="utf-8")
    curves = measured(folder)
    mean = sum(curves["tree-3", "soft", seed][-1] for seed in (100, 101)) / 2
    line = next(line for line in page.splitlines() if line.startswith("| breast cancer | tree-3 | "))
    assert f"{mean:.3f} ±" in line
    assert "seeds 100 to 101" in page
    assert "**reached**" not in page
    assert "2 replication(s) so far" in page
    assert (folder / "_static" / "accuracy.png").stat().st_size > 5_000


def test_started_again_it_has_nothing_left_to_do(folder):
    before = (folder / "results.csv").read_bytes()
    assert run(folder) == ""
    assert (folder / "results.csv").read_bytes() == before
