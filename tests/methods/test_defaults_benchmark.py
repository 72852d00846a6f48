"""The measurement of the defaults: what it fits is what users get, and the page has its figures."""

from __future__ import annotations

from pathlib import Path

from assistlearn import AssistedClassifier
from bench import defaults
from bench.accuracy.measure import agents_of
from bench.accuracy.problems import PROBLEMS

PAGE = Path(__file__).parents[2] / "bench" / "defaults.md"


def test_the_page_has_the_table_that_the_results_make():
    rows = defaults.read()
    assert {row["problem"] for row in rows} == set(defaults.NAMES)
    assert "\n".join(defaults.table(rows)) in PAGE.read_text(encoding="utf-8")


def test_the_page_has_the_seconds_of_the_benchmark_of_accuracy():
    n_pairs, combined, papers = defaults.seconds_of_all_pairs()
    words = f"For {n_pairs} of them it has both ways from the same time: a fit took {combined:.1f} seconds on average, "
    assert f"{words}and {papers:.2f} with" in PAGE.read_text(encoding="utf-8").replace("\n", " ")


def test_a_fit_is_one_of_an_estimator_without_settings():
    [iris] = [problem for problem in PROBLEMS if problem.name == "iris"]
    cut = iris.cut(0)
    found = defaults.fit(cut, "tree-3", "default", seed=0)
    model = AssistedClassifier(agents_of(cut, "tree-3"), random_state=0).fit(cut.X_train, cut.y_train)
    assert found["accuracy"] == f"{model.score(cut.X_test, cut.y_test):.5f}"
    assert found["rounds"] == model.n_rounds_
    assert float(found["seconds"]) > 0.0
