"""The same files and the same seed give the same run again, to the bit, in real processes, also on a busy machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import load_digits

from assistlearn.initiator.folder import RunFolder
from assistlearn.plan import Plan
from assistlearn.reach.opening import train
from assistlearn.reach.processes.reach_processes import create_run

BUSY = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"

LEARNERS = {
    "clinic": '{ kind = "sklearn.tree.DecisionTreeClassifier", parameters = { max_depth = 3 } }',
    "lab": '{ kind = "sklearn.linear_model.LogisticRegression", parameters = { max_iter = 30, C = 0.01 } }',
}


@contextmanager
def busy() -> Iterator[None]:
    """Keep the processors busy with something else, for a bounded time."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def write_agents(folder: Path) -> list[Path]:
    """Write two agents who know half of each digit; ten classes have 3,628,800 orders."""
    X, y = load_digits(return_X_y=True)
    for name, part in zip(LEARNERS, np.split(X[:400], 2, axis=1), strict=True):
        table = pl.DataFrame({"id": [f"d-{i:04d}" for i in range(400)]} | {f"x{i}": part[:, i] for i in range(32)})
        table = table.with_columns(pl.Series("digit", y[:400])) if name == "clinic" else table
        table.write_csv(folder / f"{name}.csv")
        lines = [f'name = "{name}"', f'table = "{name}.csv"', 'id = "id"', 'secret = "shared.key"']
        lines += ['label = "digit"'] if name == "clinic" else []
        (folder / f"{name}.toml").write_text("\n".join([*lines, f"learner = {LEARNERS[name]}", ""]))
    (folder / "shared.key").write_text("0123456789abcdef0123456789abcdef\n")
    return [folder / f"{name}.toml" for name in LEARNERS]


def trained(folder: Path, run: str, files: list[Path]) -> RunFolder:
    made = create_run(folder / run, run, files, Plan(method="soft", n_rounds=2, holdout=0.2, reward="in-sample"))
    list(train(made))
    return made


def test_two_runs_of_the_same_files_and_seed_are_the_same_to_the_bit(tmp_path):
    files = write_agents(tmp_path)
    first = trained(tmp_path, "run-a", files)
    with busy():
        second = trained(tmp_path, "run-b", files)
    assert first.result()["contributions"] == second.result()["contributions"]
    assert first.n_turns == 4
    for turn in range(1, 5):  # rewards, and answers for the hold-out samples, in the bytes of the messages
        assert first.turn(turn).replace(b"run-a", b"run-b") == second.turn(turn)
