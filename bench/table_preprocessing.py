"""Our TablePreprocessor beside skrub's TableVectorizer: accuracy, seconds and columns, on real tables of mixed kinds.

    python -m bench.table_preprocessing [--quick] [--seeds 10] [--write]

The tables are those of the MIMIC-III demo (folder ``mimiciii_demo`` of the data folder, ``ASSISTLEARN_DATA``), with
text, dates, codes and gaps as a hospital has them:

- *laboratory*: is a laboratory value flagged as abnormal? From what was measured, fluid, unit, value and time.
- *outputs*: is it more than the median volume? From what was measured, who measured it, and when.
- *transfers*: does a patient stay on a ward longer than the median? From wards, units and the time of coming.
- *admissions*: does a patient die in hospital? From where and how he or she came, insurance, diagnosis and such.

Both prepare the same rows for the same learner: ``TablePreprocessor.for_learner(learner)``, and what skrub itself puts
before it, ``tabular_pipeline(learner)``. Test samples are of other patients than those that were trained on, 30 % of
them; seeds draw who, and the learner's chance. Nothing was chosen on these splits. Errors are standard errors over the
seeds; those of the difference are of the pairs. Seconds are those of fitting the preparation and preparing all rows.

``--write`` puts the result into table_preprocessing.md beside this file.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skrub
from rich.progress import track
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier

from assistlearn import TablePreprocessor
from assistlearn.core.people import mean_and_error
from bench.evidence_page import ROOT, put

PAGE = ROOT / "bench" / "table_preprocessing.md"
MOST_ROWS = 6_000
LEARNERS: dict[str, Any] = {
    "logistic regression": LogisticRegression(max_iter=2000),
    "tree of depth 6": DecisionTreeClassifier(max_depth=6),
    "random forest": RandomForestClassifier(100),
    "histogram boosting": HistGradientBoostingClassifier(),
}
WAYS: dict[str, Callable[[Any], Pipeline]] = {
    "ours": lambda learner: make_pipeline(TablePreprocessor.for_learner(learner), learner),
    "skrub": skrub.tabular_pipeline,
}


@dataclass(frozen=True)
class Problem:
    """A table, what is to be predicted, and whose rows these are."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    patients: np.ndarray


def problems(folder: Path) -> Iterator[Problem]:
    """Read the tables."""
    read = {file.stem: pd.read_csv(file) for file in folder.glob("*.csv")}
    lab = read["LABEVENTS"].merge(read["D_LABITEMS"][["itemid", "label", "fluid", "category"]], on="itemid")
    lab = lab.sample(MOST_ROWS, random_state=0)
    columns = ["label", "fluid", "category", "charttime", "valuenum", "valueuom"]
    yield Problem("laboratory", lab[columns], lab["flag"].eq("abnormal").to_numpy(), lab["subject_id"].to_numpy())
    out = read["OUTPUTEVENTS"].merge(read["D_ITEMS"][["itemid", "label", "category", "dbsource"]], on="itemid")
    out = out[out["value"].notna()].sample(MOST_ROWS, random_state=0)
    columns = ["label", "category", "dbsource", "charttime", "storetime", "cgid", "stopped"]
    yield Problem(
        "outputs", out[columns], (out["value"] > out["value"].median()).to_numpy(), out["subject_id"].to_numpy()
    )
    moved = read["TRANSFERS"].loc[lambda table: table["los"].notna()]
    columns = ["dbsource", "eventtype", "prev_careunit", "curr_careunit", "prev_wardid", "curr_wardid", "intime"]
    longer = (moved["los"] > moved["los"].median()).to_numpy()
    yield Problem("transfers", moved[columns], longer, moved["subject_id"].to_numpy())
    came = read["ADMISSIONS"].merge(read["PATIENTS"][["subject_id", "gender", "dob"]], on="subject_id")
    columns = ["admittime", "admission_type", "admission_location", "insurance", "language", "religion"]
    columns += ["marital_status", "ethnicity", "edregtime", "diagnosis", "gender", "dob"]
    yield Problem("admissions", came[columns], came["hospital_expire_flag"].to_numpy(), came["subject_id"].to_numpy())


@dataclass
class Measured:
    """What one way gave on one problem with one learner, seed by seed."""

    accuracy: list[float]
    seconds: list[float]
    width: int = 0


def measure(problem: Problem, learner: Any, way: Callable[[Any], Pipeline], n_seeds: int) -> Measured:
    made = Measured([], [])
    for seed in range(n_seeds):
        [(train, test)] = GroupShuffleSplit(1, test_size=0.3, random_state=seed).split(
            problem.X, groups=problem.patients
        )
        seeded = clone(learner).set_params(random_state=seed)
        pipeline = way(seeded)
        start = time.perf_counter()
        rows = pipeline[:-1].fit_transform(problem.X.iloc[train], problem.y[train])
        others = pipeline[:-1].transform(problem.X.iloc[test])
        made.seconds.append(time.perf_counter() - start)
        made.width = rows.shape[1]
        model = pipeline[-1].fit(rows, problem.y[train])
        made.accuracy.append(float(np.mean(model.predict(others) == problem.y[test])))
    return made


def row(problem: Problem, name: str, by_way: dict[str, Measured]) -> str:
    ours, theirs = by_way["ours"], by_way["skrub"]
    better = np.array(ours.accuracy) - np.array(theirs.accuracy)
    most = max(np.mean(problem.y), 1 - np.mean(problem.y))
    cells = [f"{problem.name} ({len(problem.X):,} x {problem.X.shape[1]}; {100 * most:.0f})", name]
    cells += [_with_error(np.array(each.accuracy), "") for each in (ours, theirs)]
    cells += [_with_error(better, "+")]
    cells += [f"{1000 * np.median(ours.seconds):.0f} / {1000 * np.median(theirs.seconds):.0f}"]
    cells += [f"{ours.width} / {theirs.width}"]
    return f"| {' | '.join(cells)} |"


def _with_error(values: np.ndarray, sign: str) -> str:
    mean, error = mean_and_error(values)
    return f"{100 * mean:{sign}.1f} ± {100 * error:.1f}"


def report(n_seeds: int, quick: bool) -> str:
    data = os.environ.get("ASSISTLEARN_DATA")
    if data is None:
        raise SystemExit("Name the folder of the data sets in ASSISTLEARN_DATA.")
    chosen = list(problems(Path(data) / "mimiciii_demo"))[2 if quick else 0 :]
    lines = [
        f"skrub {skrub.__version__}, {n_seeds} seeds.",
        "",
        "| table (rows x columns; % of the commoner class) | learner | ours, % right | skrub, % right | difference "
        "| ms | columns out |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for problem in track(chosen, "preparing tables", transient=True):
        for name, learner in LEARNERS.items():
            by_way = {way: measure(problem, learner, make, n_seeds) for way, make in WAYS.items()}
            lines.append(row(problem, name, by_way))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the two small tables, three seeds")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="put the result into the page")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solver that did not converge, a date that skrub had to guess
        text = report(3 if options.quick else options.seeds, options.quick)
    print(text)
    if options.write:
        put(PAGE, "bench/table_preprocessing.py", text, "python -m bench.table_preprocessing")


if __name__ == "__main__":
    main()
