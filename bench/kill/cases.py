"""The runs that are disturbed: three agents over the same wines, and what an undisturbed run ends with."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_wine

from assistlearn.initiator.folder import RunFolder
from assistlearn.plan import Plan
from assistlearn.storage import FileDigests

HELPERS = ("lab", "scans")
AGENTS = ("clinic", *HELPERS)

LEARNERS = {
    "clinic": ("sklearn.tree.DecisionTreeClassifier", "max_depth = 2"),
    "lab": ("sklearn.naive_bayes.GaussianNB", ""),
    "scans": ("sklearn.ensemble.RandomForestClassifier", "n_estimators = 3\nmax_depth = 2"),
}
COLUMNS = {"clinic": range(0, 4), "lab": range(4, 8), "scans": range(8, 13)}
PLANS = {
    "ascii": Plan(method="ascii", n_rounds=3, seed=1),
    "soft": Plan(method="soft", n_rounds=3, seed=2, holdout=0.2, patience=2, reward="in-sample"),
    "random": Plan(method="simple", n_rounds=3, seed=3, order="random", overlap="intersection"),
    "auto": Plan(method="ascii", n_rounds=3, seed=4, reward="auto", cv=3, holdout=0.2, patience=2),
    "ensemble": Plan(method="ensemble", n_rounds=3, seed=5, alignment="psi"),
    "labels": Plan(method="soft", n_rounds=2, seed=6, holdout=0.2, models_per_turn=2),
}
LABEL_ONLY = ("labels",)
"""The runs whose initiator has labels alone, and takes no turns."""


def write_agents(folder: Path, label_only: bool = False) -> list[Path]:
    """Write three tables over the same wines, files that describe their agents, and a shared secret."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    (folder / "shared.key").write_text("4f" * 32)
    for name in AGENTS:
        rows = np.arange(len(X)) if name == "clinic" else rng.permutation(len(X))[:-20]
        features = [[f"{X[i, j]:.6g}" for j in COLUMNS[name]] for i in rows]
        lines = [["bottle", *(f"x{j}" for j in COLUMNS[name]), *(["sort"] if name == "clinic" else [])]]
        lines += [
            [f"b-{i:03d}", *values, *([f"sort {y[i]}"] if name == "clinic" else [])]
            for i, values in zip(rows, features, strict=True)
        ]
        (folder / f"{name}.csv").write_text("".join(",".join(line) + "\n" for line in lines))
        kind, parameters = LEARNERS[name]
        learner = f'[learner]\nkind = "{kind}"\n[learner.parameters]\n{parameters}\n'
        if name == "clinic" and label_only:
            learner = "[features]\ninclude = []\n"
        label = 'label = "sort"\n' if name == "clinic" else ""
        (folder / f"{name}.toml").write_text(
            f'name = "{name}"\ntable = "{name}.csv"\nid = "bottle"\n{label}secret = "shared.key"\n{learner}'
        )
    return [folder / f"{name}.toml" for name in AGENTS]


@dataclass(frozen=True)
class Case:
    """A run that has been created and not begun, and what it must end with."""

    name: str
    template: Path
    outcome: dict[str, Any]
    steps: dict[str, int]
    seconds: float

    def copy(self, folder: Path) -> Path:
        """Return a fresh copy of the run, agents and all."""
        shutil.copytree(self.template, folder)
        set_files(folder)
        return folder

    def restore(self, folder: Path) -> None:
        """Start the run again under its name where a failure before its samples were settled has removed it."""
        if not RunFolder(folder / "run").exists:
            shutil.copytree(self.template / "run", folder / "run", dirs_exist_ok=True)
            set_files(folder)


def set_files(folder: Path) -> None:
    path = folder / "run" / "settings.json"
    settings = json.loads(path.read_text())
    settings["files"] = {name: str(folder / f"{name}.toml") for name in AGENTS}
    FileDigests(path.parent).write({path: json.dumps(settings).encode()})
