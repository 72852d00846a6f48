"""Runs to make pages of, each made once: by the command line with helpers in processes, and in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn.events import AgentLeft, EventLog, TroubleMet, TurnFinished
from assistlearn.initiator.folder import RunFolder
from assistlearn.report.run import run_page
from assistlearn.report.story import View, view_of
from tests.browser import browser, opened  # noqa: F401
from tests.cli.program import assistlearn
from tests.initiator.parties import Parties
from tests.report.telltale import write_telltale


@pytest.fixture(scope="session")
def agents(tmp_path_factory) -> list[Path]:
    """The files of three agents, the initiator's first."""
    return write_telltale(tmp_path_factory.mktemp("telltale"))


@pytest.fixture(scope="session")
def trained(agents) -> RunFolder:
    """A run with hold-out samples, predictions, and everything that can be said in words in its log."""
    from tests.forked_agents import forked

    folder = agents[0].parent / "run"
    with forked():
        options = ("--run", "first", "--out", folder, "--holdout", "0.4", "--rounds", 4, "--purpose", "numbats")
        said = assistlearn("simulate", *agents, *options, "--method", "ascii")
        assert said.code == 0, said.err
        said = assistlearn("predict", folder, "--out", folder.parent / "votes.csv")
        assert said.code == 0, said.err
    log = EventLog(folder / "events.jsonl")
    log.append(TroubleMet("The id quokka-001 is not in bilby-folder/lab.csv."))
    return RunFolder(folder)


@pytest.fixture(scope="session")
def pilot(agents) -> RunFolder:
    """A pilot to its end."""
    from tests.forked_agents import forked

    folder = agents[0].parent / "pilot"
    with forked():
        said = assistlearn("worth", *agents, "--run", "trial", "--out", folder, "--block", 20)
        assert said.code == 0, said.err
    return RunFolder(folder)


@pytest.fixture(scope="session")
def in_memory(tmp_path_factory) -> Callable[..., RunFolder]:
    """Make a run in memory, with settings, of so many turns at the most."""

    def make(turns: int | None = None, n_samples: int = 120, **settings: Any) -> RunFolder:
        rng = np.random.default_rng(1)
        X = rng.normal(size=(n_samples, 6))
        y = (X.sum(axis=1) + rng.normal(size=n_samples) > 0).astype(int)
        agents = [
            ("clinic", DecisionTreeClassifier(max_depth=1), [0, 1]),
            ("lab", GaussianNB(), [2, 3]),
            ("scans", DecisionTreeClassifier(max_depth=1), [4, 5]),
        ]
        led = Parties(tmp_path_factory.mktemp("memory"), agents, X, y, settings, {}).leader()
        taken = 0
        for event in led.train():
            taken += isinstance(event, TurnFinished)
            if taken == turns:
                break
        return led.folder

    return make


@pytest.fixture(scope="session")
def kinds(in_memory, request) -> Callable[[str], RunFolder]:
    """Return a run of a kind; each is made once, when it is asked for."""
    honest = {"holdout": 0.3, "reward": "auto", "combine": "auto"}
    made: dict[str, Callable[[], RunFolder]] = {
        "trained": lambda: request.getfixturevalue("trained"),
        "pilot": lambda: request.getfixturevalue("pilot"),
        "without hold-out": lambda: in_memory(n_rounds=2),
        "label-private": lambda: in_memory(method="label-private", **honest),
        "learned": lambda: in_memory(n_rounds=2, method="soft", models_per_turn=2, **honest),
        "stopped": lambda: in_memory(turns=4, n_rounds=5, holdout=0.3),
        "left": lambda: _left(in_memory(n_rounds=2, holdout=0.3, metric="log_loss")),
    }
    return cache(lambda kind: made[kind]())


def _left(run: RunFolder) -> RunFolder:
    EventLog(run.events).append(AgentLeft(3, 1, "lab", "quokka-007 has no wombat_label"))
    return run


@pytest.fixture(scope="session")
def shown(kinds) -> Callable[[str], tuple[View, str]]:
    """Return the view and the page of a kind of run; each is made once."""

    @cache
    def show(kind: str) -> tuple[View, str]:
        view = view_of(kinds(kind))
        return view, run_page(view)

    return show
