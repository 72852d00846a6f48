"""The runs: what is trained, by whom, and how. Nothing here may change, or the recording says nothing any more."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

LEARNERS = {
    "trees": [DecisionTreeClassifier(max_depth=depth) for depth in (2, 3, 1)],
    "mixed": [
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        RandomForestClassifier(n_estimators=5, max_depth=3),
    ],
    "resampling": [DecisionTreeClassifier(max_depth=2), KNeighborsClassifier(), GaussianNB()],
    "forests": [RandomForestClassifier(n_estimators=10) for _ in range(3)],
}
DATA = {"wine": load_wine, "breast": load_breast_cancer}

ESTIMATORS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ascii": ("wine", "trees", {"method": "ascii"}),
    "ascii, two classes": ("breast", "trees", {"method": "ascii"}),
    "simple": ("wine", "mixed", {"method": "simple"}),
    "ensemble": ("wine", "resampling", {"method": "ensemble", "holdout": 0.3}),
    "soft": ("wine", "mixed", {"method": "soft"}),
    "soft, exponential, 16 bits": (
        "breast",
        "trees",
        {"method": "soft", "loss": "exponential", "score_bits": 16, "shrinkage": 1.0, "holdout": 0.3, "patience": 2},
    ),
    "soft, 4 bits, auto": ("wine", "trees", {"method": "soft", "score_bits": 4, "reward": "auto", "cv": 3}),
    "soft forests, auto": ("wine", "forests", {"method": "soft", "reward": "auto", "n_rounds": 3}),
    "hard forests, auto": ("breast", "forests", {"reward": "auto", "n_rounds": 3}),
    "out-of-fold": ("wine", "mixed", {"reward": "out-of-fold", "cv": 5}),
    "hold-out": ("breast", "trees", {"holdout": 0.3, "patience": 1}),
    "random": ("wine", "trees", {"order": "random", "method": "simple"}),
    "strongest": ("wine", "trees", {"order": "strongest"}),
    "greedy": ("wine", "trees", {"order": "greedy", "method": "soft"}),
    "greedy, hard": ("wine", "trees", {"order": "greedy"}),
    "weak agent stops": ("wine", "trees", {"weak_agent": "stop", "n_rounds": 30}),
    "abstaining": ("breast", "trees", {"missing_agent": "abstain", "holdout": 0.2}),
    "abstaining, soft": ("breast", "trees", {"missing_agent": "abstain", "method": "soft"}),
    "weighted samples": ("wine", "mixed", {"weights": True}),
    "weighted samples, soft": ("wine", "trees", {"weights": True, "method": "soft"}),
    "label-private": ("wine", "mixed", {"method": "label-private", "holdout": 0.2}),
    "label-private, two classes": ("breast", "trees", {"method": "label-private", "epsilon": 2.0}),
    "combined": (
        "wine",
        "trees",
        {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 4, "n_rounds": 3},
    ),
}

SIMULATIONS: dict[str, list[str]] = {
    "ascii": [],
    "simple, random": ["--method", "simple", "--order", "random"],
    "ensemble, hold-out": ["--method", "ensemble", "--holdout", "0.25"],
    "soft, hold-out": ["--method", "soft", "--holdout", "0.25"],
    "soft, 4 bits, auto": ["--method", "soft", "--score-bits", "4", "--reward", "auto", "--cv", "5"],
    "soft, exponential": ["--method", "soft", "--loss", "exponential", "--shrinkage", "1", "--score-bits", "16"],
    "out-of-fold, strongest": ["--reward", "out-of-fold", "--cv", "3", "--order", "strongest"],
    "intersection, hold-out": ["--overlap", "intersection", "--holdout", "0.25", "--patience", "1"],
    "weak agent stops": ["--weak-agent", "stop"],
    "psi": ["--align", "psi"],
    "combined": ["--method", "soft", "--reward", "auto", "--combine", "auto", "--models-per-turn", "4"],
    "label-private": ["--method", "label-private", "--epsilon", "2", "--reward", "auto", "--rounds", "2"],
    "labels alone": ["--method", "soft", "--reward", "auto", "--models-per-turn", "2", "--rounds", "2"],
    "databases": ["--rounds", "2"],
    "from an earlier run": ["--method", "soft", "--rounds", "2", "--holdout", "0.25"],
}
LATER = {"from an earlier run": ["--rounds", "1", "--metric", "log_loss"]}
"""What is asked of a run that goes on from the first, with more people and one more helper."""
FLARE: dict[str, dict[str, Any]] = {
    "ascii, hold-out": {"holdout": 0.25, "rounds": 3},
    "soft": {"method": "soft", "rounds": 2, "seed": 5},
    "combined": {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 3, "rounds": 2},
}

NAMES = ("clinic", "lab", "scans")
KINDS = {
    "clinic": ("sklearn.tree.DecisionTreeClassifier", "max_depth = 1"),
    "lab": ("sklearn.tree.DecisionTreeClassifier", "max_depth = 2"),
    "scans": ("sklearn.naive_bayes.GaussianNB", ""),
}

OWN_KEY = ("label-private", "from an earlier run")
"""In these runs the initiator has had its key before, by which labels and people are drawn."""

DATABASES = {"lab": "lab.duckdb", "scans": "scans.sqlite"}


def write_agents(folder: Path, case: str = "", n_people: int = 178) -> list[Path]:
    """Write three agents that hold different people in different orders, some of them without a label."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(11)
    X, y = load_wine(return_X_y=True)
    there = np.random.default_rng(2).permutation(len(X)) < n_people
    (folder / "shared.key").write_text("0123456789abcdef0123456789abcdef\n")
    if case in OWN_KEY:
        (folder / "clinic-models").mkdir(exist_ok=True)
        (folder / "clinic-models" / "class-order.key").write_text("0123456789abcdef" * 4 + "\n")
    for place, name in enumerate(NAMES):
        rows = np.arange(len(X)) if name == "clinic" else rng.permutation(len(X))[: len(X) - 13 * place]
        rows = rows[there[rows]]
        columns: dict[str, Any] = {"person": [f"p-{row:03d}" for row in rows]}
        columns |= {f"x{i}": X[rows, 4 * place + i] for i in range(4)}
        if name == "clinic":
            columns["kind"] = [f"kind {y[row]}" if row % 9 else None for row in rows]
        source = _written(pl.DataFrame(columns), folder, name, case)
        lines = [f'name = "{name}"', *source, 'id = "person"', 'secret = "shared.key"']
        lines += ['label = "kind"'] if name == "clinic" else []
        if name == "clinic" and case == "labels alone":
            lines += ["[features]", "include = []"]
        else:
            lines += ["[learner]", f'kind = "{KINDS[name][0]}"', "[learner.parameters]", KINDS[name][1]]
        lines += [] if name == "clinic" else ["[allow]", 'initiators = ["clinic"]']
        (folder / f"{name}.toml").write_text("\n".join(lines) + "\n")
    return [folder / f"{name}.toml" for name in NAMES]


def _written(table: pl.DataFrame, folder: Path, name: str, case: str) -> list[str]:
    """Write an agent's table into a file or a database; return the lines of the agent file that say where it is."""
    place = DATABASES.get(name) if case == "databases" else None
    if place is None:
        table.write_csv(folder / f"{name}.csv")
        return [f'table = "{name}.csv"']
    if place.endswith(".duckdb"):
        with duckdb.connect(folder / place) as database:
            database.register("given", table.to_arrow())
            database.execute("create table t as from given")
    else:
        with contextlib.closing(sqlite3.connect(folder / place)) as connection, connection:
            connection.execute(f"create table t ({', '.join(table.columns)})")
            connection.executemany(f"insert into t values ({', '.join('?' * table.width)})", table.rows())
    return ['query = "select * from t order by person desc"', f'database = "{place}"']
