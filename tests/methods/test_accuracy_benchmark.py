"""The benchmark of accuracy runs from end to end in its small form, counts what is sent, and judges by the numbers."""

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
from bench.accuracy import verdicts
from bench.accuracy.bytes import Counted
from bench.accuracy.page_tables import averages
from bench.accuracy.problems import PROBLEMS
from bench.accuracy.results import Results
from bench.accuracy.to_reach import level_of, prices, reached
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


def test_what_was_measured_before_and_has_not_changed_is_not_measured_again(tmp_path):
    (tmp_path / "results_before.csv").write_text(
        "problem,learner,way,replication,round,accuracy,seconds\n"
        "iris,tree-3,ascii,0,1,0.9,0\niris,tree-3,soft,0,1,0.9,0\n"
        "digits,network,ascii,0,1,0.9,0\nhastie,boosted,ascii,0,1,0.9,0\n"
    )
    options = benchmark.options_of(["--first", "0", "--replications", "2", "--out", str(tmp_path)])
    plans = {(PROBLEMS[job.place].name, job.learner, job.replication): job.plan for job in benchmark.jobs(options)}
    assert "ascii" not in plans["iris", "tree-3", 0]
    assert {"soft", "combined", "single", "GAL"} <= set(plans["iris", "tree-3", 0])
    assert "ascii" in plans["iris", "tree-3", 1]
    assert "ascii" in plans["digits", "network", 0], "networks have more rounds than they had"
    assert "ascii" in plans["hastie", "boosted", 0], "boosted trees have other bins than they had"
    found = Results(tmp_path / "results.csv", tmp_path / "results_before.csv")
    assert found.has("iris", "tree-3", "ascii")
    assert found.has("iris", "tree-3", "soft before")
    assert not found.has("iris", "tree-3", "soft")
    assert not found.has("hastie", "boosted", "ascii")
    before = benchmark.options_of(["--before", "--first", "0", "--replications", "1", "--out", str(tmp_path)])
    wanted = {(PROBLEMS[job.place].name, job.learner): set(job.plan) for job in benchmark.jobs(before)}
    assert ("iris", "tree-3") not in wanted
    assert wanted["iris", "logistic"] == {"soft"}


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


def test_the_price_of_an_accuracy_is_that_of_the_first_round_that_reaches_it():
    assert reached([0.70, 0.85, 0.80, 0.90], [10, 20, 30, 40], 0.80) == 20
    assert reached([0.70, 0.85, 0.80, 0.90], [10, 20, 30, 40], 0.86) == 40
    with pytest.raises(ValueError, match=r"No round reaches 0\.95"):
        reached([0.7, 0.9], [10, 20], 0.95)
    assert level_of([(0.95, 0.5), (0.90, 0.04)]) == pytest.approx(0.88)


Row = tuple[str, str, str, list[float], list[int]]
SENT = [100, 200, 300]


def good(problem: str, learner: str) -> list[Row]:
    """Ways of one pair that make everything well: each a curve of three rounds, and bytes."""
    return [
        (problem, learner, "combined", [0.95, 0.97, 0.98], SENT),
        (problem, learner, "combined: whole run", [0.98], [400]),
        (problem, learner, "ascii", [0.90], []),
        (problem, learner, "single", [0.80], []),
        (problem, learner, "alone, combined", [0.85], []),
        (problem, learner, "GAL", [0.91, 0.93, 0.94], [4_000, 8_000, 12_000]),
    ]


PAIRS = (
    ("letter x 4", "logistic"),
    ("digits x 8", "logistic"),
    ("qsar x 8", "svm"),
    ("blob-10", "tree-3"),
    ("additive", "tree-3"),
    ("additive", "boosted"),
)


def results(folder: Path, rows: list[Row], n: int = 5) -> Results:
    """Write results of ``n`` replications that differ a little, and what was measured before, and read them."""
    with (folder / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(benchmark.FIELDS)
        for problem, learner, way, curve, sent in rows:
            for rep in range(n):
                for t, accuracy in enumerate(curve):
                    noise = 0.002 * (rep - n // 2) * (1 if way == "combined" else -1)
                    told = sent[t] if sent else ""
                    writer.writerow([problem, learner, way, 100 + rep, t + 1, accuracy + noise, 0.1, told])
    with (folder / "results_before.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(benchmark.FIELDS[:-1])
        for problem, learner in sorted({row[:2] for row in rows if row[1] != "-"}):
            writer.writerows([problem, learner, "soft", 100 + rep, 1, 0.94, 0.1] for rep in range(n))
    return Results(folder / "results.csv", folder / "results_before.csv")


def all_good() -> list[Row]:
    pooled: list[Row] = [(table, "-", "pooled boosting", [0.982], []) for table in ("blob-10", "additive")]
    return [row for pair in PAIRS for row in good(*pair)] + pooled


def changed(problem: str, learner: str, way: str, curve: list[float], sent: list[int] | None = None) -> list[Row]:
    rows = all_good()
    (place,) = (i for i, row in enumerate(rows) if row[:3] == (problem, learner, way))
    rows[place] = (problem, learner, way, curve, rows[place][4][: len(curve)] if sent is None else sent)
    return rows


def words(found: Results) -> list[str]:
    return [line.split("**")[1] for line in verdicts.verdicts(found)]


def test_all_is_reached_where_the_numbers_are_good_and_open_where_they_are_few(tmp_path):
    assert set(words(results(tmp_path, all_good()))) == {"reached"}
    few = words(results(tmp_path, all_good(), n=2))
    assert set(few) == {"open, 2 replication(s) so far, which look reached"}


@pytest.mark.parametrize(
    ("worse", "claims"),
    [
        (changed("blob-10", "tree-3", "ascii", [0.99]), ["Nowhere worse than `ascii`"]),
        (changed("additive", "boosted", "single", [0.99]), ["the initiator alone, boosting"]),
        (changed("additive", "tree-3", "alone, combined", [0.99]), ["alone with the recommended"]),
        (changed("blob-10", "tree-3", "GAL", [0.99], [9_000]), ["Nowhere worse than GAL"]),
        (changed("qsar x 8", "svm", "GAL", [0.985], [9_000]), ["QSAR in 8"]),
        (changed("letter x 4", "logistic", "combined", [0.779]), ["letter in 4", "Nowhere", "average"]),
        (changed("digits x 8", "logistic", "combined", [0.9545]), ["digits in 8"]),
        (changed("additive", "boosted", "combined", [0.976]), ["Within 0.005 of pooled"]),
        (changed("blob-10", "tree-3", "GAL", [0.94], [1_900]), ["1/20 of GAL's bytes"]),
        (changed("blob-10", "tree-3", "combined", [0.98, 0.995, 0.98]), ["does not fall"]),
    ],
    ids=["ascii", "single", "alone", "GAL", "qsar", "letter", "digits", "pooled", "bytes", "falls"],
)
def test_a_verdict_turns_where_a_number_is_made_worse(tmp_path, worse, claims):
    lines = verdicts.verdicts(results(tmp_path, worse))
    turned = [line for line in lines if "**not reached**" in line]
    assert turned
    for claim in claims:
        assert any(claim in line for line in turned), claim
    if len(claims) == 1 and claims[0] != "QSAR in 8":
        assert len(turned) == 1, turned


def test_the_mean_gain_is_judged_for_tables_kept_apart_by_themselves(tmp_path):
    rows = [row for row in all_good() if row[0] != "additive"] + [
        ("additive", "tree-3", "combined", [0.95], [100]),
        ("additive", "boosted", "combined", [0.98], [100]),
        ("iris", "tree-3", "combined", [0.92], [100]),
    ]
    lines = [line for line in verdicts.verdicts(results(tmp_path, rows)) if "on average" in line]
    assert [line.split("**")[1] for line in lines] == ["reached", "not reached"]
    assert "+0.0100 ±" in lines[1]


def test_averages_keep_the_tables_apart_that_are_kept_apart(tmp_path):
    found = results(tmp_path, changed("additive", "boosted", "ascii", [0.99]))
    (line,) = (line for line in averages(found).splitlines() if line.startswith("| combined minus ascii"))
    cells = [cell.strip() for cell in line.split("|")[2:5]]
    assert cells[0].startswith("+0.065 ±")
    assert cells[0].endswith("(6: 5 better, 1 worse)")
    assert cells[1] == "+0.080 ± 0.000 (4: 4 better, 0 worse)"
    assert cells[2] == "+0.035 ± 0.045 (2: 1 better, 1 worse)"


def test_whole_runs_are_priced_with_the_round_that_did_not_pay(tmp_path):
    (price,) = (p for p in prices(results(tmp_path, all_good())) if p.problem == "letter x 4")
    assert (price.ours, price.peers, price.whole, price.peers_whole) == (100, 12_000, 400, 12_000)
    assert price.level == pytest.approx(0.94 - 0.5 * 0.002 * 2.5**0.5 / 5**0.5)
