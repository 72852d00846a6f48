"""Helpers whose owners ask for proof: honest runs go on in good order, and what was not proved is not kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn.errors import RefusedError
from assistlearn.events import TurnFinished
from tests.initiator.parties import Parties
from tests.initiator.test_too_few_people import Recording, turns_of

X, Y = load_wine(return_X_y=True)
CHANCE = np.random.default_rng(0).normal(size=(len(X), 3))


def parties(folder: Path, **options: Any) -> Parties:
    """An initiator, a helper whose columns tell much, and one whose columns are chance."""
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=1), [0, 1, 2, 3]),
        ("lab", DecisionTreeClassifier(max_depth=2), [6, 9, 12]),
        ("dice", DecisionTreeClassifier(max_depth=2), [13, 14, 15]),
    ]
    settings = {"n_rounds": 5, "reward": "out-of-fold", "proof": True} | options
    return Parties(folder, agents, np.hstack([X, CHANCE]), Y, settings, {"lab": np.arange(len(X)) % 5 != 0})


def kept(turns: list[TurnFinished], agent: str) -> int:
    return sum(turn.agent == agent and turn.contribution is not None for turn in turns)


@pytest.mark.parametrize("method", ["ascii", "simple", "soft", "ensemble"])
def test_columns_that_tell_something_take_part_and_columns_of_chance_do_not(tmp_path, method):
    made = parties(tmp_path, method=method, holdout=0.2)
    leader = made.leader()
    turns = turns_of(list(leader.train()))
    assert kept(turns, "lab") > 0
    assert kept(turns, "dice") == 0
    predicted = leader.predict_rows(np.arange(len(X))).labels
    assert np.mean(np.array(predicted) == Y) > 0.8


@pytest.mark.parametrize("reward", ["in-sample", "auto"])
def test_a_run_whose_rewards_prove_nothing_is_refused_and_says_what_to_set(tmp_path, reward):
    with pytest.raises(RefusedError, match=r'Agent .lab.: .*Start a run with reward = "out-of-fold"'):
        list(parties(tmp_path, reward=reward).leader().train())


def test_the_initiators_own_agent_needs_no_proof_as_it_tells_nobody(tmp_path):
    made = parties(tmp_path)
    made.agents = [made.agents[2], made.agents[1]]
    with_proof = turns_of(list(made.leader().train()))
    assert with_proof[0].agent == "dice"
    assert with_proof[0].mean_reward > 0.0


@pytest.mark.parametrize("n_turns", [3, 5, 7])
def test_interrupted_anywhere_it_ends_in_the_same_way(tmp_path, n_turns):
    whole = parties(tmp_path / "whole").leader()
    expected = turns_of(list(whole.train()))
    cut = parties(tmp_path / "cut")
    with pytest.raises(KeyboardInterrupt):
        list(cut.leader(Recording(cut, n_turns)).train())
    again = cut.leader()
    assert turns_of(list(again.train())) == expected
    assert again.folder.result()["contributions"] == whole.folder.result()["contributions"]


def test_a_run_that_began_without_proof_does_not_go_on_once_its_owner_asks_for_it(tmp_path):
    before = parties(tmp_path, reward="in-sample", proof=False)
    with pytest.raises(KeyboardInterrupt):
        list(before.leader(Recording(before, 4)).train())
    with pytest.raises(RefusedError, match=r"allow\.proof"):
        list(parties(tmp_path, reward="in-sample").leader().train())
