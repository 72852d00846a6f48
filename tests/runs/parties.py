"""Separate agents made from arrays, for tests: each with its own rows, ids and order, reached in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from assistlearn.runs.leader import Leader
from sklearn.base import clone

from assistlearn.alignment import Ids, Minimum
from assistlearn.protocol import MemoryTransport
from assistlearn.runs.folder import RunFolder, RunSettings
from assistlearn.service.service import AgentService, Holdings

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
        return Holdings(name, clone(estimator), ids, self.X[rows][:, columns], self.folder / name, SECRET)

    def rows_of(self, name: str) -> np.ndarray:
        """The people an agent knows, in its own order: the initiator's as they are, the others' shuffled."""
        if name == self.agents[0][0]:
            return np.arange(len(self.X))
        rows = np.flatnonzero(self.held.get(name, np.ones(len(self.X), dtype=bool)))
        return np.random.default_rng(len(name)).permutation(rows)

    def desks(self) -> dict[str, AgentService]:
        return {name: AgentService(self.holdings(name)) for name, _, _ in self.agents[1:]}

    def leader(self, transport: Any = None) -> Leader:
        initiator = self.agents[0][0]
        folder = RunFolder(self.folder / "run")
        if not folder.exists:
            classes = [int(c) for c in np.unique(self.labels)]
            permutation = self.options.get("permutation", list(range(len(classes))))
            folder.write_settings(self.settings(classes), permutation)
        if transport is None:
            transport = MemoryTransport({name: desk.answer for name, desk in self.desks().items()})
        own = self.holdings(initiator)
        codes = np.unique(self.labels, return_inverse=True)[1]
        minimum = Minimum(1, 0.0)
        return Leader(folder, AgentService(own, ledger=False), transport, own.ids, codes, own.home, SECRET, minimum)

    def settings(self, classes: list[Any]) -> RunSettings:
        options = self.options
        return RunSettings(
            run="test-run",
            initiator=self.agents[0][0],
            agents=[name for name, _, _ in self.agents],
            purpose="a test",
            method=options.get("method", "ascii"),
            order=options.get("order", "chain"),
            n_rounds=options.get("n_rounds", 5),
            weak_agent=options.get("weak_agent", "skip"),
            holdout=options.get("holdout"),
            patience=options.get("patience", 3),
            seed=options.get("seed", 7),
            alignment=options.get("alignment", "hash"),
            overlap=options.get("overlap", "abstain"),
            files={},
            classes=classes,
            fingerprint="",
            **{
                name: options[name]
                for name in ("reward", "score_bits", "loss", "shrinkage", "absent")
                if name in options
            },
        )
