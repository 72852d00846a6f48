"""A data frame that was read from the agents' CSV files gives the model of the command line, to the bit."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.agent.loading import Holdings, holdings_of
from tests.initiator.parties import SECRET, Led, Parties
from tests.papers_settings import PAPERS

N = 120
AGENTS = {
    "clinic": (LogisticRegression(max_iter=500), ["age", "town", "since", "smoker"]),
    "lab": (DecisionTreeClassifier(max_depth=2), ["pulse", "method", "taken"]),
    "scans": (RandomForestClassifier(n_estimators=5, max_depth=3), ["mass", "seen"]),
    "bank": (HistGradientBoostingClassifier(max_iter=3), ["branch", "income"]),
    "shop": (LogisticRegression(max_iter=500), ["spent", "visits"]),
}
"""The learner and the columns of each: a pipeline, codes, dates for a bare learner, text, and numbers alone."""
READERS = {
    "pandas": pd.read_csv,
    "pandas with types of its own": lambda file: pd.read_csv(file, dtype_backend="numpy_nullable"),
    "pandas with Arrow's types": lambda file: pd.read_csv(file, dtype_backend="pyarrow", engine="pyarrow"),
    "polars": pl.read_csv,
    "polars with dates": lambda file: pl.read_csv(file, try_parse_dates=True),
}


def people() -> tuple[dict[str, list[Any]], np.ndarray]:
    """Columns with text, dates, truth values and gaps, and labels that depend on them."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, N)
    signal = labels + rng.normal(size=N)
    days = [f"20{10 + int(abs(value) * 3) % 15:02d}-0{1 + n % 9}-11" for n, value in enumerate(signal)]
    some = lambda values, every: [None if n % every == 0 else value for n, value in enumerate(values)]  # noqa: E731
    return {
        "age": some((40 + 10 * signal).round(1).tolist(), 9),
        "town": some([["Ulm", "Bern", "Graz"][(n + code) % 3] for n, code in enumerate(labels)], 13),
        "since": some(days, 7),
        "smoker": some([["True", "False"][int(value > 0.8)] for value in signal], 11),
        "pulse": some((70 + 5 * signal + rng.normal(size=N)).round(3).tolist(), 8),
        "method": [f"m{int(abs(value) * 20) % 30}" for value in signal],
        "taken": [f"{day}T10:30:00" for day in days],
        "mass": some((signal + rng.normal(size=N)).round(4).tolist(), 10),
        "seen": days,
        "branch": [["north", "south", "east"][int(abs(value) * 2) % 3] for value in signal],
        "income": some((1000 * signal).round().astype(int).tolist(), 6),
        "spent": (signal * rng.random(N)).round(5).tolist(),
        "visits": [int(abs(value) * 4) for value in signal],
    }, labels


@dataclass
class Filed(Parties):
    """Agents whose tables are in CSV files of their own."""

    def holdings(self, name: str) -> Holdings:
        return replace(holdings_of(self.folder / f"{name}.toml"), secret=SECRET)


def write(folder: Path, names: list[str], **options: Any) -> Filed:
    columns, labels = people()
    for name in names:
        learner, own = AGENTS[name]
        order = np.arange(N) if name == names[0] else np.random.default_rng(len(name)).permutation(N)
        frame = pl.DataFrame({"id": [f"p-{n:04d}" for n in range(N)], **{each: columns[each] for each in own}})
        frame[order].write_csv(folder / f"{name}.csv")
        kind, _, said = re.sub(r"\(|\)", " ", repr(learner)).partition(" ")  # Tree(max_depth=2)
        kind = f"{type(learner).__module__.partition('._')[0]}.{kind}"
        (folder / f"{name}.toml").write_text(
            f'name = "{name}"\ntable = "{name}.csv"\nid = "id"\n'
            f'models = "{name}"\nlearner = {{ kind = "{kind}", parameters = {{ {said} }} }}\n'
        )
    agents = [(name, AGENTS[name][0], []) for name in names]
    return Filed(folder, agents, np.zeros((N, 1)), labels, options, {})


def together(folder: Path, names: list[str], read: Any) -> Any:
    """All agents' tables, read from their files by somebody who has them all, and put side by side."""
    frames = [read(folder / f"{name}.csv") for name in names]
    if isinstance(frames[0], pl.DataFrame):
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.join(frame, on="id", how="left", maintain_order="left")
        return whole.drop("id")
    return pd.concat([frame.set_index("id").sort_index() for frame in frames], axis=1)


OPTIONS: dict[str, dict[str, Any]] = {
    "paper": {"method": "ascii", "n_rounds": 1},
    "honest": {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 2, "n_rounds": 1},
    "hold-out": {"method": "soft", "holdout": 0.3, "n_rounds": 1},
}


PAPER = "auto", "paper"


@pytest.fixture(scope="module")
def run(request, tmp_path_factory) -> tuple[Filed, Led, AssistedClassifier]:
    preprocess, settings = request.param
    # Numbers alone go to a linear model as they are in Python, unless one says so; on the command line they are scaled.
    names = list(AGENTS) if preprocess == "always" else list(AGENTS)[:-1]
    made = write(tmp_path_factory.mktemp("files"), names, **OPTIONS[settings])
    leader = made.leader()
    list(leader.train())
    agents = [(name, *AGENTS[name]) for name in names]
    clf = AssistedClassifier(agents, random_state=7, preprocess=preprocess, **(PAPERS | OPTIONS[settings]))
    return made, leader, clf


@pytest.mark.parametrize(
    ("run", "reader"),
    [*((PAPER, reader) for reader in READERS), (("auto", "honest"), "pandas"), (("always", "hold-out"), "polars")],
    indirect=["run"],
)
def test_a_frame_gives_the_model_of_the_command_line_to_the_bit(run, reader):
    made, leader, clf = run
    X = together(made.folder, [name for name, _, _ in made.agents], READERS[reader])
    clf.fit(X, made.labels)
    assert set(clf.kinds_) == {name for name, _, _ in made.agents}
    kept = leader.folder.result()["contributions"]
    assert len(kept) >= 3
    assert [(c["agent"], c["model_weight"]) for c in kept] == [(c.agent, c.model_weight) for c in clf.contributions_]
    prediction = leader.predict_rows(np.arange(N))
    np.testing.assert_array_equal(prediction.scores, sum(clf.agent_scores(X).values()))
    np.testing.assert_array_equal(prediction.probabilities, clf.predict_proba(X))
