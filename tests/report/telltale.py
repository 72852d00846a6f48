"""Agents whose ids, values, columns and files have names that would be noticed wherever they turned up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

N_SAMPLES = 160
IDS = [f"quokka-{i:03d}" for i in range(N_SAMPLES)]
LABEL, COLUMN, VALUE, PLACE = "wombat_label", "numbat", 31337.25, "bilby-folder"
TELLTALES = ("quokka", "wombat", "numbat", "31337", "bilby")
"""What no page may hold: of ids, of the label's and other columns' names, of values, of paths."""

CLASSES = ("echidna <b>", "dingo & co")
"""Class names are the initiator's own, and are shown; these would show whether they are escaped."""

STUMP = '{ kind = "sklearn.tree.DecisionTreeClassifier", parameters = { max_depth = 1 } }'


def write_telltale(folder: Path) -> list[Path]:
    """Write a clinic with labels, a lab and a scanner; return their files."""
    home = folder / PLACE
    home.mkdir(parents=True)
    rng = np.random.default_rng(5)
    features = rng.normal(size=(N_SAMPLES, 6))
    truth = features @ [1.0, 1.0, 2.0, 1.0, 1.0, 2.0] + rng.normal(size=N_SAMPLES) > 0
    for place, name in enumerate(("clinic", "lab", "scans")):
        rows = np.arange(N_SAMPLES) if name == "clinic" else rng.permutation(N_SAMPLES)[: N_SAMPLES - 10 * place]
        columns = {"quokka_id": [IDS[row] for row in rows]}
        columns |= {f"{COLUMN}_{place}_{i}": VALUE + features[rows, 2 * place + i] for i in range(2)}
        more = ""
        if name == "clinic":
            columns[LABEL] = [CLASSES[int(each)] for each in truth]
            more = f'label = "{LABEL}"\n'
        pl.DataFrame(columns).write_csv(home / f"{name}.csv")
        lines = f'name = "{name}"\ntable = "{name}.csv"\nid = "quokka_id"\nlearner = {STUMP}\nsecret = "shared.key"\n'
        (home / f"{name}.toml").write_text(lines + more)
    (home / "shared.key").write_text("0123456789abcdef0123456789abcdef\n")
    return [home / f"{name}.toml" for name in ("clinic", "lab", "scans")]
