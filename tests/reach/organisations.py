"""Four organisations on this machine, with a relay and real certificates; their tables and learners change by test."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assistlearn.reach.flare.local import LocalNetwork
from tests.papers_settings import PAPERS_OF_RUNS

NAMES = ("clinic", "lab", "scans", "shop")
INITIATOR, HELPERS = NAMES[0], NAMES[1:]
STRANGER = "stranger"
"""A member of the network that nobody allows anything: it has a kit, and no site."""

PURPOSE = "a test"
ALLOW = f"""\
[allow]
initiators = ["{INITIATOR}"]
purpose = "{PURPOSE}"
max_runs = "none"
max_ids_a_day = "none"
max_votes_a_day = "none"
"""
"""Many runs of a day's tests share a ledger."""

STUMP = '[learner]\nkind = "sklearn.tree.DecisionTreeClassifier"\n[learner.parameters]\nmax_depth = 1\n'
WIRETAP = Path(__file__).parent / "wiretap"


class Organisations:
    """A running network, and what its organisations have.

    Every job reads an organisation's files anew, so that a test may write others.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.taps = folder / "taps"
        self.files = {name: folder / "agents" / f"{name}.toml" for name in NAMES}
        self.taps.mkdir()
        (folder / "agents").mkdir()
        (folder / "agents" / "shared.key").write_text("a secret that all agents share")
        self.small_tables()
        path = os.pathsep.join(filter(None, (str(WIRETAP), os.environ.get("PYTHONPATH"))))
        command = [
            "env",
            f"PYTHONPATH={path}",
            f"ASSISTLEARN_TAPS={self.taps}",
            sys.executable,
            "-m",
            "assistlearn",
            "site",
            "start",
        ]
        members = self.files | {STRANGER: folder / "agents" / "stranger.toml"}
        self.network = LocalNetwork(folder, members, [*command, "--quiet"])

    def write(
        self, name: str, table: pl.DataFrame, label: str | None = None, learner: str = STUMP, allow: str = ALLOW
    ) -> Path:
        """Write an organisation's table and its file; whoever has labels is the initiator, and allows nothing."""
        table.write_csv(self.folder / "agents" / f"{name}.csv")
        lines = [f'name = "{name}"', f'table = "{name}.csv"', 'id = "id"', 'secret = "shared.key"']
        lines += [] if label is None else [f'label = "{label}"']
        self.files[name].write_text("\n".join([*lines, learner, allow if label is None else ""]))
        return self.files[name]

    def task(self, run: str, helpers: Sequence[str], top: Mapping[str, Any] | None = None, **training: Any) -> Path:
        """Write a task's file."""
        kits = {"site": str(self.network.kit(INITIATOR)), "admin": str(self.network.kit("admin"))}
        values = {"run": run, "purpose": PURPOSE, "agent": str(self.files[INITIATOR]), "helpers": list(helpers)}
        lines = [f"{key} = {json.dumps(value)}" for key, value in (values | kits | dict(top or {})).items()]
        lines += ["[training]", *(f"{key} = {json.dumps(value)}" for key, value in (PAPERS_OF_RUNS | training).items())]
        file = self.folder / f"{run}.toml"
        file.write_text("\n".join(lines) + "\n")
        return file

    def small_tables(self, n_samples: int = 300) -> None:
        """Write a table of two columns for each organisation, and labels that all of them know something of."""
        rng = np.random.default_rng(3)
        features = rng.normal(size=(n_samples, 2 * len(NAMES)))
        ids = [f"patient-{i:05d}" for i in range(n_samples)]
        ill = np.where(features.sum(axis=1) + rng.normal(size=n_samples) > 0, "yes", "no")
        for place, name in enumerate(NAMES):
            table = pl.DataFrame({"id": ids} | {f"x{i}": features[:, 2 * place + i] for i in range(2)})
            if name == INITIATOR:
                self.write(name, table.with_columns(ill=pl.Series(ill)), label="ill")
            else:
                self.write(name, table.sample(fraction=1.0, shuffle=True, seed=place))
