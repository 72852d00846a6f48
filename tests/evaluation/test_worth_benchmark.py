"""The benchmark of pilots: its small form runs, it reaches what it had to, and the page says what its rows say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.worth import estimates
from bench.worth.permuted import pilot
from bench.worth.run import FIRST, NEVER, REPLICATIONS, measured, read, shown
from bench.worth.sequences import CASES, looked_at

PAGE = (Path(__file__).parents[2] / "bench" / "worth" / "README.md").read_text(encoding="utf-8")
TITLES = {
    "gain .05": "help puts 7.5 % right and 2.5 % wrong: a gain of .05",
    "gain .02": "6 % and 4 %: a gain of .02",
    "no gain": "5 % and 5 %: nothing to gain",
    "permuted rows": "the helper's rows are permuted",
    "rows in order": "the same helper, rows in order",
}


def rows_of(what: str) -> list[dict[str, str]]:
    return [row for row in read() if row["what"] == what]


def shares(what: str) -> dict[str, float]:
    return {answer: np.mean([row["answer"] == answer for row in rows_of(what)]) for answer in ("yes", "no")}


def alarms(what: str, test: str) -> str:
    return f"{np.mean([row[test] != NEVER for row in rows_of(what)]):.1%}"


@pytest.mark.parametrize("what", TITLES)
def test_the_page_says_what_was_measured(what):
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| {TITLES[what]} |")]
    said = [cell.strip() for cell in line.strip("|").split("|")[1:]]
    rows = rows_of(what)
    found = [f"{share:.1%}" for share in (*shares(what).values(), 1 - sum(shares(what).values()))]
    found.append(f"{np.median([int(row['n_opened']) for row in rows]):.0f}")
    if what in CASES:
        assert said == [*found, alarms(what, "exact")]
    else:
        assert said == [str(len(rows)), *found]


def test_the_page_says_how_often_looking_again_and_again_misleads():
    exact, normal = (alarms("no gain", test).replace("%", " %") for test in ("exact", "normal"))
    assert f"found a difference in {exact} of 1,000 sequences ({normal} with" in " ".join(PAGE.split())


def test_a_helper_whose_rows_are_permuted_is_hardly_ever_found_worth_it():
    rows = rows_of("permuted rows")
    assert {int(row["seed"]) for row in rows} == {*range(FIRST, FIRST + REPLICATIONS)}
    assert shares("permuted rows")["yes"] <= 0.05


def test_a_gain_of_5_points_is_found_within_a_median_of_400_samples_and_nothing_hardly_ever():
    assert {int(row["seed"]) for row in rows_of("gain .05")} == {*range(FIRST, FIRST + REPLICATIONS)}
    assert np.median([int(row["n_opened"]) for row in rows_of("gain .05")]) <= 400
    assert shares("gain .05")["yes"] >= 0.95
    assert sum(shares("no gain").values()) <= 0.05


def test_a_row_can_be_measured_again():
    [row] = [row for row in rows_of("gain .05") if row["seed"] == str(FIRST)]
    assert {name: str(value) for name, value in measured(("gain .05", FIRST)).items()} == row
    assert "gain .05" in shown([row])


def test_drawn_sequences_with_seeds_of_their_own_are_answered_as_promised():
    found = [looked_at(CASES["gain .05"], seed) for seed in range(40)]
    assert np.mean([looked.answer == "yes" for looked in found]) > 0.9
    assert np.median([looked.n_opened for looked in found]) <= 400


@pytest.mark.filterwarnings("ignore")
def test_real_pilots_with_seeds_of_their_own_are_answered_as_promised():
    assert [pilot(seed, permuted=True).answer for seed in range(4)].count("yes") == 0
    assert [pilot(seed, permuted=False).answer for seed in range(4)].count("no") == 0


def test_the_page_says_how_far_off_each_estimate_is():
    rows = estimates.read()
    names = list(dict.fromkeys(row["estimate"] for row in rows))
    section = PAGE.split("## The gain when a pilot has stopped")[1].split("## ")[0]
    table = [line for line in section.splitlines() if line.startswith("| ")][2:]
    said = [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in table]
    figures = estimates.FIELDS[3:]
    for name, line in zip(names, said, strict=True):
        own = [row for row in rows if row["estimate"] == name]
        assert {row["sequences"] for row in own} == {str(estimates.REPLICATIONS)}
        assert line == [f"{np.mean([abs(float(row[figure])) for row in own]):.4f}" for figure in figures]


def test_what_a_pilot_tells_is_nearer_to_the_truth_than_the_mean_and_the_middle_of_the_limits():
    off = {name: np.zeros(3) for name in ("mean", "middle of the limits", "a pilot's")}
    for row in estimates.read():
        if row["estimate"] in off:
            off[row["estimate"]] += np.abs([float(row[figure]) for figure in estimates.FIELDS[3:]])
    told = off.pop("a pilot's")
    for other in off.values():
        assert (told < [0.55, 0.55, 0.97] * other).all()


def test_estimates_can_be_measured_again():
    n, answered, made = estimates.estimates(estimates.CASES["25 % and 15 %"], seed=3)
    assert answered
    assert made["a pilot's"] < made["mean"] == pytest.approx(estimates.CASES["25 % and 15 %"].drawn(3)[:n].mean())
