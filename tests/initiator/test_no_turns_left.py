"""An agent whose owner allows no more turns sits the others out; the run goes on, and ends in good order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.file import Allowance
from assistlearn.events import TurnFinished
from tests.initiator.parties import Parties

X, Y = load_wine(return_X_y=True)


def parties(folder: Path) -> Parties:
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=1), [0, 1, 2, 3]),
        ("lab", DecisionTreeClassifier(max_depth=1), [4, 5, 6, 7]),
    ]
    allowances = {"lab": Allowance(("clinic",), max_turns=2)}
    return Parties(folder, agents, X, Y, {"n_rounds": 4, "allowances": allowances}, {})


def test_a_run_goes_on_without_an_agent_that_has_no_turns_left(tmp_path):
    leader = parties(tmp_path).leader()
    turns = [event for event in leader.train() if isinstance(event, TurnFinished) and event.agent == "lab"]
    assert [turn.contribution is not None for turn in turns] == [True, True, False, False]
    assert all("2 turns in one run: 2 are used" in turn.why for turn in turns[2:])
    assert all("max_turns" in turn.why for turn in turns[2:])
    prediction = leader.predict_rows(np.arange(len(X)))
    assert not prediction.absent


def test_it_ends_in_the_same_way_when_it_is_gone_on_with(tmp_path):
    whole = parties(tmp_path / "whole").leader()
    list(whole.train())
    cut = parties(tmp_path / "cut").leader().train()
    for event in cut:
        if isinstance(event, TurnFinished) and event.why:
            break
    cut.close()
    again = parties(tmp_path / "cut").leader()
    list(again.train())
    assert again.folder.result()["contributions"] == whole.folder.result()["contributions"]
