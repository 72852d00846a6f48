"""Agents whose tables grow, in files: a clinic with the labels, a lab, and a shop that may come later."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import make_classification

from assistlearn.agent.loading import holdings_of
from assistlearn.agent.service import AgentService
from assistlearn.agent.store import RunStore, run_folder
from assistlearn.events import Event, RunGoesOn, TurnFinished, read
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.run import KEY_FILE
from assistlearn.plan import Plan
from assistlearn.protocol import MemoryTransport
from assistlearn.protocol.arrays import unpack_bits
from assistlearn.protocol.codec import decode
from assistlearn.reach.created_from import Onward, create_from
from assistlearn.reach.opening import follow, with_own_table
from assistlearn.reach.processes.reach_processes import create_run

COLUMNS = {"clinic": range(4), "lab": range(4, 8), "shop": range(8, 12)}
QUICK: dict[str, Any] = {"models_per_turn": 3, "n_rounds": 1, "holdout": 0.25, "seed": 5, "combine": "sum"}
FILE = """name = "{name}"
table = "{name}.csv"
id = "id"
secret = "secret.txt"
models = "{name}-models"
{label}
[learner]
kind = "sklearn.tree.DecisionTreeClassifier"
[learner.parameters]
max_depth = 2
[allow]
initiators = ["clinic"]
{more}
"""


def problem(n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        260, 12, n_informative=9, n_redundant=0, n_classes=n_classes, class_sep=1.5, shuffle=False, random_state=3
    )
    order = np.random.default_rng(1).permutation(len(X))
    columns = [0, 1, 2, 9, 3, 4, 5, 10, 6, 7, 8, 11]  # every agent has some that tell, and one that does not
    return X[order][:, columns].round(4), y[order]


@dataclass
class Growing:
    """A project folder with the tables and files of all agents."""

    folder: Path
    n_classes: int = 2
    more: Mapping[str, str] = field(default_factory=dict)

    def write(self, people: Sequence[int], labels: Mapping[int, int] | None = None, **columns: range) -> None:
        """Write tables of these people; some may have another label, and an agent other columns."""
        X, y = problem(self.n_classes)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "secret.txt").write_text("0123456789abcdef" * 2)
        key = self.folder / "clinic-models" / KEY_FILE
        if not key.exists():  # so that the same people are held out whenever the tests run
            key.parent.mkdir(exist_ok=True)
            key.write_text("0123456789abcdef" * 4 + "\n")
        for name, own in (COLUMNS | columns).items():
            rows = np.array(people) if name == "clinic" else np.random.default_rng(len(people)).permutation(people)
            table: dict[str, Any] = {"id": [f"p-{row:04d}" for row in rows]} | {f"x{c}": X[rows, c] for c in own}
            if name == "clinic":
                table["ill"] = [f"c{(labels or {}).get(row, y[row])}" for row in rows]
            pl.DataFrame(table).write_csv(self.folder / f"{name}.csv")
            label = 'label = "ill"' if name == "clinic" else ""
            self.file(name).write_text(FILE.format(name=name, label=label, more=self.more.get(name, "")))

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.toml"

    def run(self, name: str) -> RunFolder:
        return RunFolder(self.folder / "runs" / name)

    def begin(self, name: str, agents: Sequence[str] = ("clinic", "lab"), **options: Any) -> RunFolder:
        """Create a run on its own."""
        files = [self.file(agent) for agent in agents]
        return create_run(self.run(name).path, name, files, Plan(**(QUICK | options)))

    def go_on(self, name: str, earlier: str, new: Sequence[str] = (), **onward: Any) -> RunFolder:
        """Create a run that goes on from another."""
        files = [self.file(agent) for agent in new]
        return create_from(self.run(name).path, name, self.run(earlier), Onward(files, **onward))

    def services(self, folder: RunFolder) -> dict[str, AgentService]:
        return {name: AgentService(holdings_of(self.file(name))) for name in folder.settings().helpers}

    def events(self, folder: RunFolder, transport: Any = None) -> Iterator[Event]:
        """Train, in memory, from wherever the run was left; every agent is one that has just been started."""
        if transport is None:
            transport = MemoryTransport({name: each.answer for name, each in self.services(folder).items()})
        yield from follow(with_own_table(folder, transport, training=True)[0])

    def train(self, folder: RunFolder) -> list[Event]:
        return list(self.events(folder))

    def copied(self, to: Path) -> Growing:
        """Return the same, in another folder."""
        shutil.copytree(self.folder, to)
        return Growing(to, self.n_classes, self.more)

    def people(self, folder: RunFolder, aside: bool) -> set[str]:
        """Return the ids of those whom a run trains on, or holds out, as its task says."""
        rows = folder.samples()
        begin = decode(RunStore(run_folder(self.folder / "clinic-models", folder.settings().run)).task())
        held_out = np.zeros(len(rows), bool) if begin.holdout is None else unpack_bits(begin.holdout, len(rows))
        ids = pl.read_csv(self.folder / "clinic.csv")["id"].to_numpy()
        return {*ids[rows[held_out == aside]]}


def changes(folder: RunFolder) -> RunGoesOn:
    """Return what a run says has changed."""
    [said] = [told.event for told in read(folder.events) if isinstance(told.event, RunGoesOn)]
    assert isinstance(said, RunGoesOn)
    return said


def turns(events: Sequence[Event]) -> list[tuple[int, str]]:
    """Return the round and the agent of every turn."""
    found = [(event.round, event.agent) for event in events if isinstance(event, TurnFinished)]
    assert all(before <= after for before, after in pairwise(round for round, _ in found))
    return found
