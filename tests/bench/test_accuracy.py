"""The benchmark of accuracy runs from end to end in its small form, and counts what is sent."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn.protocol.ledger import entries_of
from bench.accuracy import run as benchmark
from bench.accuracy.bytes import Counted
from bench.accuracy.ways import RECOMMENDED, SOFT
from tests.initiator.parties import Parties

ROOT = Path(__file__).parents[2]
RUN = [sys.executable, "-m", "bench.accuracy.run", "--quick", "--jobs", "1"]


def measured(folder: Path) -> dict[tuple[str, str, str, int], list[float]]:
    curves: dict[tuple[str, str, str, int], list[float]] = {}
    with (folder / "results.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["problem"], row["learner"], row["way"], int(row["replication"])
            curves.setdefault(key, []).append(float(row["accuracy"]))
            assert int(row["round"]) == len(curves[key]) or row["way"] == "combined: whole run"
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


def test_the_small_form_measures_what_the_page_compares_on_seeds_that_are_not_the_benchmarks(folder):
    curves = measured(folder)
    assert {replication for _, _, _, replication in curves} == {0, 1}
    assert {way.partition(":")[0] for _, _, way, _ in curves} == {"combined", "ascii", "GAL"}
    assert {key[:2] for key in curves} == benchmark.QUICK
    assert all(len(curve) == 10 for (_, _, way, _), curve in curves.items() if way == "GAL")
    assert all(0.6 < curve[-1] <= 1.0 for curve in curves.values())


def test_its_page_shows_the_means_and_judges_nothing_from_two_replications(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    curves = measured(folder)
    line = next(line for line in page.splitlines() if line.startswith("| iris | tree-3 | "))
    for way in ("combined", "ascii", "GAL"):
        mean = sum(curves["iris", "tree-3", way, seed][-1] for seed in (0, 1)) / 2
        assert f"{mean:.3f} ±" in line
    assert "seeds 0 to 1" in " ".join(page.split())
    assert "**reached**" not in page
    assert "**not reached**" not in page
    assert "2 replication(s) so far" in " ".join(page.split())
    assert "| iris | 105 + 45 |" in page, "the problems are described"
    assert (folder / "_static" / "accuracy.png").stat().st_size > 5_000


def test_started_again_it_has_nothing_left_to_do(folder):
    before = (folder / "results.csv").read_bytes()
    assert run(folder) == ""
    assert (folder / "results.csv").read_bytes() == before


@pytest.mark.parametrize("settings", [RECOMMENDED, SOFT, {"method": "ascii"}], ids=["combined", "soft", "ascii"])
def test_bytes_are_those_that_a_run_over_messages_sends_and_receives(tmp_path, settings):
    X, y = load_wine(return_X_y=True)
    X = X[:, :12]
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    learners = DecisionTreeClassifier(max_depth=2), linear, DecisionTreeClassifier(max_depth=1)
    agents = [(f"agent {m}", learner, list(range(4 * m, 4 * m + 4))) for m, learner in enumerate(learners)]
    model = Counted(agents, n_rounds=3, random_state=7, **settings).fit(X, y)
    led = Parties(tmp_path, agents, X, y, settings | {"n_rounds": 3, "seed": 7}, {}).leader()
    list(led.train())
    travelled = [
        entry.bytes
        for entry in entries_of(led.run.ledger.path, "test-run")
        if entry.peer in ("agent 1", "agent 2") and entry.type not in ("open", "opened", "align", "aligned")
    ]
    counted = model.bytes_by_round("test-run")
    assert counted[-1] == sum(travelled)
    assert counted == sorted(counted)
    assert len(counted) - model.n_rounds_ in (0, 1), "one round more than is kept, where the last did not pay"
