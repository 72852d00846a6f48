"""The files of a network on loopback: tables, agents' files, a task; and a site that reaches the relay elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from assistlearn.agent.limits import LIMITS
from assistlearn.reach.flare.local import LocalNetwork


def lead_through(kit: Path, port: int) -> None:
    """Let a site reach the relay through another port."""
    path = kit / "startup" / "fed_client.json"
    values = json.loads(path.read_text())
    values["servers"][0]["service"]["target"] = f"localhost:{port}"
    path.write_text(json.dumps(values))


def write_agent(
    folder: Path, name: str, n: int, columns: int, classes: int, learner: str, parameters: str = ""
) -> Path:
    """Write an agent's table and file: normal features that tell the class a little; the bank has the labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=n)
    own = np.random.default_rng(sum(name.encode()))
    X = own.normal(size=(n, columns)) + 0.5 * y[:, None] * own.normal(size=columns)
    table = pl.DataFrame({"id": np.arange(n)} | {f"x{i}": X[:, i].astype(np.float32) for i in range(columns)})
    label = ""
    if name == "bank":
        table, label = table.with_columns(pl.Series("y", y)), 'label = "y"\n'
    folder.mkdir(parents=True, exist_ok=True)
    table.write_parquet(folder / f"{name}.parquet")
    (folder / "secret.key").write_text("0123456789abcdef0123456789abcdef")
    lifted = "".join(f'{key} = "none"\n' for key in LIMITS)  # the same home serves run after run
    allow = "" if label else f'[allow]\ninitiators = ["bank"]\n{lifted}'
    (folder / f"{name}.toml").write_text(
        f'name = "{name}"\ntable = "{name}.parquet"\nid = "id"\n{label}secret = "secret.key"\n'
        f'[learner]\nkind = "{learner}"\n[learner.parameters]\n{parameters}\n{allow}'
    )
    return folder / f"{name}.toml"


def write_task(folder: Path, network: LocalNetwork, helpers: tuple[str, ...], rounds: int) -> Path:
    task = folder / "task.toml"
    task.write_text(
        f'site = "{network.kit("bank")}"\nadmin = "{network.kit("admin")}"\nagent = "{folder / "bank.toml"}"\n'
        f"helpers = {json.dumps(list(helpers))}\n[training]\n"
        f'method = "ascii"\nholdout = "none"\nrounds = {rounds}\n'
    )
    return task
