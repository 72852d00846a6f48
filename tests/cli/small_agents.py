"""Three small agents in files: a clinic with labels, a lab and a scanner, each with its own rows in its own order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from assistlearn.agent.file import load_description
from assistlearn.initiator.run import KEY_FILE

N_SAMPLES, N_NEW = 80, 8
IDS = [f"p-{i:03d}" for i in range(N_SAMPLES)]
NEW = IDS[-N_NEW:]
"""The last ones have no label yet."""

LABEL = 'label = "ill"\n'
SECRET = 'secret = "shared.key"\n'


STUMP = '{ kind = "sklearn.tree.DecisionTreeClassifier", parameters = { max_depth = 1 } }'
"""Weak, so that a run has many rounds."""


def toml(name: str, more: str = SECRET, learner: str = STUMP) -> str:
    return f'name = "{name}"\ntable = "{name}.csv"\nid = "patient"\nlearner = {learner}\n{more}'


def write_agents(folder: Path) -> list[Path]:
    """Write tables, a secret and agent files; return the agent files, the initiator's first."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(3)
    features = rng.normal(size=(N_SAMPLES, 6))
    label = np.where(features @ [1, 1, 2, 1, 1, 2] + rng.normal(size=N_SAMPLES) > 0, "yes", "no").tolist()
    label[-N_NEW:] = [None] * N_NEW
    for place, name in enumerate(("clinic", "lab", "scans")):
        rows = np.arange(N_SAMPLES) if name == "clinic" else rng.permutation(N_SAMPLES)
        columns = {"patient": [IDS[row] for row in rows]}
        columns |= {f"x{i}": features[rows, 2 * place + i] for i in range(2)}
        if name == "clinic":
            columns["ill"] = label
        pl.DataFrame(columns).write_csv(folder / f"{name}.csv")
        (folder / f"{name}.toml").write_text(toml(name, SECRET + (LABEL if name == "clinic" else "")))
    (folder / "shared.key").write_text("0123456789abcdef0123456789abcdef\n")
    return [folder / f"{name}.toml" for name in ("clinic", "lab", "scans")]


def know_the_key(initiator: Path) -> None:
    """Let who is held out, and the order of the classes, be the same in every run of a test."""
    home = load_description(initiator).models
    home.mkdir(parents=True, exist_ok=True)
    (home / KEY_FILE).write_text("0123456789abcdef" * 4 + "\n")


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
