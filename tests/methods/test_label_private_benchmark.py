"""The benchmark of the label-private method: its small form runs, and the page says what its rows say."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bench.label_private.measure import PURE_NOISE, one_run
from bench.label_private.problems import PROBLEMS, Table
from bench.label_private.run import ALONE, COMBINED, CONTROL, POOLED, RESULTS, ways

PAGE = (Path(__file__).parents[2] / "bench" / "label_private" / "README.md").read_text()
TITLES = {
    "default credit": "default credit, 2, boosted trees",
    "digits, columns": "digits in 3 strips of columns, forests",
    "digits, columns, boosted": "the same, boosted trees",
    "digits, columns, logistic": "the same, logistic regression",
    "digits, rows": "digits in 3 strips of rows, forests",
    "red wine": "red wine, 2, forests",
    "qsar": "QSAR, 2, forests",
    "breast": "breast cancer, 2, forests",
}


def scores(problem: str, way: str) -> np.ndarray:
    with RESULTS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return np.array([float(row["score"]) for row in rows if row["problem"] == problem and row["way"] == way])


@pytest.mark.parametrize("problem", TITLES)
def test_the_page_says_what_was_measured(problem):
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| {TITLES[problem]} |")]
    said = [cell.strip(" *") for cell in line.strip("|").split("|")[1:]]
    expected = []
    for way in (ALONE, COMBINED, CONTROL, "epsilon 1", "epsilon 2", "epsilon inf", POOLED):
        values = scores(problem, way)
        error = values.std(ddof=1) / len(values) ** 0.5
        expected.append(f"{values.mean():.3f} ± {error:.3f}".replace("0.", "."))
    assert said == expected


@pytest.mark.parametrize("problem", [name for name, each in PROBLEMS.items() if each.targets and name in TITLES])
def test_with_labels_that_are_noise_help_is_worth_next_to_nothing(problem):
    assert abs(scores(problem, CONTROL).mean() - scores(problem, COMBINED).mean()) < 0.015


def test_every_figure_has_its_control_beside_it():
    assert list(ways())[:2] == [COMBINED, CONTROL]
    assert ways()[CONTROL][0] == PURE_NOISE


def test_one_run_is_worth_something():
    """Of the digits three classes, of which there are enough samples, and which need no data folder."""
    X, codes = load_digits(n_class=3, return_X_y=True)
    thirds = tuple(np.array_split(np.arange(64), 3))
    found = one_run(replace(PROBLEMS["digits, columns"], table=lambda: Table(X, codes, thirds)), seed=0, epsilon=2.0)
    assert found.score > 0.95
    assert found.kind in {"offset", "offset alone"}
