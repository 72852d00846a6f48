"""An example that runs: three agents, each with some columns of a real data set that comes with scikit-learn."""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np

from assistlearn.cli.agent_template import agent_toml, refuse_existing
from assistlearn.storage import write_bytes

PARTS = {"clinic": slice(0, 6), "lab": slice(6, 18), "scans": slice(18, 30)}
LEARNERS = {
    "clinic": ("sklearn.tree.DecisionTreeClassifier", "max_depth = 2"),
    "lab": ("sklearn.linear_model.LogisticRegression", "max_iter = 1000"),
    "scans": ("sklearn.tree.DecisionTreeClassifier", "max_depth = 2"),
}
NEW = 69
"""How many of the clinic's patients have no diagnosis yet: they are the ones to predict."""


def write_example(folder: Path) -> list[Path]:
    """Write three tables and agent files, a shared secret, and ids to predict; return the files.

    The clinic knows the diagnosis of most of its patients. The lab and the scanner know other measurements of most of
    these patients, under the same patient numbers, and have them in another order.
    """
    import polars as pl
    from sklearn.datasets import load_breast_cancer

    paths = [folder / f"{name}.{ending}" for name in PARTS for ending in ("csv", "toml")]
    paths += [folder / "shared.key", folder / "new-patients.csv"]
    refuse_existing(paths)
    folder.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer()
    rng = np.random.default_rng(0)
    patients = np.array([f"P{number:05d}" for number in rng.choice(99_999, len(data.target), replace=False)])
    names = [name.replace(" ", "_") for name in data.feature_names]
    new = rng.choice(len(patients), NEW, replace=False)
    for name, part in PARTS.items():
        rows = np.arange(len(patients)) if name == "clinic" else rng.permutation(len(patients))[:-40]
        table = pl.DataFrame({"patient": patients[rows]} | {names[i]: data.data[rows, i] for i in range(30)[part]})
        if name == "clinic":
            diagnosis = np.where(data.target == 0, "malignant", "benign").astype(object)
            diagnosis[new] = None
            table = table.with_columns(pl.Series("diagnosis", diagnosis.tolist()))
        table.write_csv(folder / f"{name}.csv")
        text = agent_toml(name, "initiator" if name == "clinic" else "helper", f"{name}.csv", *LEARNERS[name])
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    write_bytes(folder / "shared.key", f"{secrets.token_hex(32)}\n".encode())
    pl.DataFrame({"patient": patients[new]}).write_csv(folder / "new-patients.csv")
    return paths
