"""Separate agents made from arrays, for tests: each with its own rows, ids and order, reached in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone

from assistlearn.agent.limits import OwnerLimits
from assistlearn.agent.loading import Holdings
from assistlearn.agent.service import AgentService
from assistlearn.alignment import Ids
from assistlearn.core.people import at
from assistlearn.events import Event, RunForgotten
from assistlearn.initiator.folder import RunFolder, RunSettings
from assistlearn.initiator.opening import forget
from assistlearn.initiator.prediction import Prediction, predict
from assistlearn.initiator.run import OpenRun, OwnTable, open_run
from assistlearn.initiator.training import train
from assistlearn.plan import SETTINGS, Plan
from assistlearn.protocol import MemoryTransport
from tests.papers_settings import PAPERS

SECRET = b"a secret that all agents share"


@dataclass
class Parties:
    """Three agents over one table, and how to lead a run of them."""

    folder: Path
    agents: list[tuple[str, Any, list[int]]]
    X: np.ndarray
    labels: np.ndarray
    options: dict[str, Any]
    held: dict[str, np.ndarray]

    def holdings(self, name: str) -> Holdings:
        _, estimator, columns = next(agent for agent in self.agents if agent[0] == name)
        rows = self.rows_of(name)
        ids = Ids([f"p-{i:04d}" for i in rows], f"Agent {name!r}")
        asked = {"min_effective": self.options.get("min_effective", 0), "proof": self.options.get("proof", False)}
        table = self.X[rows][:, columns]
        learner = None if estimator is None else clone(estimator)  # the initiator's, who may have labels alone
        known = ~np.isnan(table).all(axis=1) if table.shape[1] else np.ones(len(table), dtype=bool)
        asked |= {"known": None if known.all() else known}
        own = Holdings(name, learner, ids, table, self.folder / name, SECRET, **asked)
        allowance = self.options.get("allowances", {}).get(name)
        groups = self.options.get("groups", {}).get(name)
        own = own if groups is None else replace(own, groups=at(groups, rows))
        return own if allowance is None else replace(own, limits=OwnerLimits(name, allowance, len(rows)))

    def rows_of(self, name: str) -> np.ndarray:
        """The people an agent knows, in its own order: the initiator's as they are, the others' shuffled."""
        if name == self.agents[0][0]:
            return np.arange(len(self.X))
        rows = np.flatnonzero(self.held.get(name, np.ones(len(self.X), dtype=bool)))
        return np.random.default_rng(len(name)).permutation(rows)

    def services(self) -> dict[str, AgentService]:
        return {name: AgentService(self.holdings(name)) for name, _, _ in self.agents[1:]}

    def transport(self) -> MemoryTransport:
        """The way to helpers that have just been started."""
        return MemoryTransport({name: service.answer for name, service in self.services().items()})

    def leader(self, transport: Any = None) -> Led:
        initiator = self.agents[0][0]
        folder = RunFolder(self.folder / "run")
        if not folder.exists:
            classes = [int(c) for c in np.unique(self.labels)]
            permutation = self.options.get("permutation", list(range(len(classes))))
            folder.write_settings(self.settings(classes), permutation)
        codes = np.unique(self.labels, return_inverse=True)[1]
        table = OwnTable(
            codes,
            self.options.get("weights"),
            self.options.get("groups", {}).get(initiator),
            max_label_epsilon=self.options.get("max_label_epsilon"),
            told_labels=self.options.get("told_labels", "stay"),
        )
        return Led(
            open_run(folder, self.holdings(initiator), table, self.transport() if transport is None else transport)
        )

    def settings(self, classes: list[Any]) -> RunSettings:
        given = {name: value for name, value in self.options.items() if name in SETTINGS}
        return RunSettings(
            run=self.options.get("run", "test-run"),
            initiator=self.agents[0][0],
            agents=[name for name, _, _ in self.agents],
            classes=classes,
            fingerprint="",
            files={},
            plan=Plan(**(PAPERS | {"purpose": "a test", "n_rounds": 5, "seed": 7} | given)),
            reach="memory",
            label_only=self.agents[0][1] is None,
        )


def filed(made: Parties, label: str = "y") -> list[Path]:
    """Write the agents' tables and files, each with a copy of its learner, and return the files."""
    made.folder.mkdir(parents=True, exist_ok=True)
    (made.folder / "key").write_text(SECRET.decode())
    ids, files = [f"p-{i:04d}" for i in range(len(made.X))], []
    for name, learner, columns in made.agents:
        table = pl.DataFrame({"id": ids} | {f"x{c}": made.X[:, c] for c in columns})
        own = name == made.agents[0][0]
        (table.with_columns(pl.Series(label, made.labels)) if own else table).write_csv(made.folder / f"{name}.csv")
        kind, _, said = re.sub(r"\(|\)", " ", repr(learner)).partition(" ")  # Tree(max_depth=2)
        kind = f"{type(learner).__module__.partition('._')[0]}.{kind}"
        files.append(made.folder / f"{name}.toml")
        files[-1].write_text(
            f'name = "{name}"\ntable = "{name}.csv"\nid = "id"\nsecret = "key"\n'
            + (f'label = "{label}"\n' if own else "")
            + f'learner = {{ kind = "{kind}", parameters = {{ {said} }} }}\n'
        )
    return files


@dataclass
class Led:
    """A run that is open, and what the initiator does with it."""

    run: OpenRun

    @property
    def folder(self) -> RunFolder:
        return self.run.folder

    def train(self) -> Iterator[Event]:
        return train(self.run)

    def predict(self, ids: Ids, rows: np.ndarray) -> Prediction:
        return predict(self.run, ids, rows)

    def predict_rows(self, rows: np.ndarray) -> Prediction:
        """Predict some people of the initiator's own table."""
        return predict(self.run, self.run.ids_at(rows), rows)

    def forget(self) -> RunForgotten:
        return forget(self.run)
