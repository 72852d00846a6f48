"""A helper whose owner asks for people, for proof, or for few turns sits turns out; the run goes on in good order."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.file import Allowance
from assistlearn.core import State
from assistlearn.core.ignorance import effective_size
from assistlearn.errors import RefusedError, RunError
from assistlearn.events import TurnFinished
from assistlearn.protocol import decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits
from tests.initiator.parties import Parties

X, Y = load_wine(return_X_y=True)
CHANCE = np.random.default_rng(0).normal(size=(len(X), 3))
FLOOR, PROOF = {"min_effective": 40}, {"proof": True, "reward": "out-of-fold", "n_rounds": 5}
FEW = {"allowances": {"lab": Allowance(("clinic",), max_turns=2)}, "n_rounds": 4}
"""What their owners ask for: people, proof, and no more than two turns."""
METHODS = ["ascii", "simple", "soft", "ensemble"]


def parties(folder: Path, **options: Any) -> Parties:
    """An initiator, a helper that knows most people, and one that knows all; with proof, its columns are chance."""
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=1), [0, 1, 2, 3]),
        ("lab", DecisionTreeClassifier(max_depth=2), [6, 9, 12] if options.get("proof") else [4, 5, 6, 7]),
        ("scans", DecisionTreeClassifier(max_depth=2), [13, 14, 15] if options.get("proof") else [8, 9, 10, 11, 12]),
    ]
    return Parties(
        folder, agents, np.hstack([X, CHANCE]), Y, {"n_rounds": 6} | options, {"lab": np.arange(len(X)) % 5 != 0}
    )


class Recording:
    """A transport that remembers requests, and breaks after some turns if told so."""

    def __init__(self, made: Parties, n_turns: int = 10**6) -> None:
        self._inner = made.transport()
        self._left = n_turns
        self.asked: list[tuple[str, m.Message, m.Message]] = []

    def ask(self, agent: str, request: bytes) -> bytes:
        message = decode(request)
        if isinstance(message, m.TakeTurn):
            self._left -= 1
            if self._left < 0:
                raise KeyboardInterrupt
        reply = self._inner.ask(agent, request)
        self.asked.append((agent, message, decode(reply)))
        return reply


def turns_of(events: Iterable[Any]) -> list[TurnFinished]:
    return [event for event in events if isinstance(event, TurnFinished)]


def kept(turns: list[TurnFinished], agent: str) -> list[bool]:
    return [turn.contribution is not None for turn in turns if turn.agent == agent]


@pytest.mark.parametrize(
    ("options", "n_turns"), [(FLOOR, 3), (FLOOR, 8), (PROOF, 5), (PROOF, 7), (FEW, 7)], ids=lambda each: str(each)[:9]
)
def test_interrupted_anywhere_it_ends_in_the_same_way(tmp_path, options, n_turns):
    whole = parties(tmp_path / "whole", **options).leader()
    expected = turns_of(whole.train())
    cut = parties(tmp_path / "cut", **options)
    with pytest.raises(KeyboardInterrupt):
        list(cut.leader(Recording(cut, n_turns)).train())
    again = cut.leader()
    assert turns_of(again.train()) == expected
    assert again.folder.result()["contributions"] == whole.folder.result()["contributions"]


# -- too few people


@pytest.mark.parametrize("method", METHODS)
def test_it_sits_out_says_why_and_the_run_ends_in_good_order(tmp_path, method):
    leader = parties(tmp_path, method=method, **FLOOR).leader()
    turns = turns_of(leader.train())
    sat_out = [turn for turn in turns if turn.why]
    assert sat_out
    assert {turn.agent for turn in sat_out} <= {"lab", "scans"}  # the initiator's own agent has no floor
    assert all("people; its owner asks for at least 40 (allow.min_effective)" in turn.why for turn in sat_out)
    assert all(turn.contribution is None for turn in sat_out)
    result = leader.folder.result()
    assert [c["turn"] for c in result["contributions"]] == [t.turn for t in turns if t.contribution is not None]
    assert not leader.predict_rows(np.arange(len(X))).absent


def test_every_model_was_fitted_to_as_many_people_as_its_owner_asks_for(tmp_path):
    made = parties(tmp_path, method="simple", **FLOOR)
    made.held.clear()
    transport = Recording(made)
    leader = made.leader(transport)
    list(leader.train())
    helpers = {reply.turn for _, _, reply in transport.asked if isinstance(reply, m.TurnTaken)}
    assert helpers
    state = State.start(len(Y), 3)
    for number in range(1, leader.folder.n_turns + 1):
        assert number not in helpers or effective_size(state.ignorance()) >= FLOOR["min_effective"]
        reply = decode(leader.folder.turn(number))
        if isinstance(reply, m.TurnTaken) and reply.model_weight > 0.0:
            state.apply(unpack_bits(reply.reward, len(Y)), reply.model_weight)


def test_a_helper_that_has_lost_a_turn_is_told_all_rewards_again_from_the_runs_folder(tmp_path):
    made = parties(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        list(made.leader(Recording(made, 4)).train())
    turns = sorted((tmp_path / "lab" / "runs" / "test-run" / "turns").iterdir())
    assert len(turns) == 2
    shutil.rmtree(turns[-1])
    transport = Recording(made)
    with pytest.raises(RunError, match="has 5 models, but the result is made of 6 of its own: it has lost some"):
        list(made.leader(transport).train())
    asked = [(message, reply) for agent, message, reply in transport.asked if agent == "lab"]
    place = next(i for i, (_, reply) in enumerate(asked) if getattr(reply, "kind", "") == "behind")
    again, taken = asked[place + 1]
    assert again.since == asked[place][1].known == 2
    assert [news.turn for news in again.news] == [2, 3, 4, 5, 6, 7]
    assert all(news.reward is not None for news in again.news)
    assert isinstance(taken, m.TurnTaken)


# -- no turns left


def test_a_run_goes_on_without_an_agent_that_has_no_turns_left(tmp_path):
    leader = parties(tmp_path, **FEW).leader()
    turns = turns_of(leader.train())
    assert kept(turns, "lab") == [True, True, False, False]
    for turn in (turn for turn in turns if turn.agent == "lab" and turn.contribution is None):
        assert "2 turns in one run: 2 are used" in turn.why
        assert "max_turns" in turn.why
    assert not leader.predict_rows(np.arange(len(X))).absent


# -- no proof


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_tell_something_take_part_and_columns_of_chance_do_not(tmp_path, method):
    leader = parties(tmp_path, method=method, holdout=0.2, **PROOF).leader()
    turns = turns_of(leader.train())
    assert any(kept(turns, "lab"))
    assert not any(kept(turns, "scans"))
    predicted = leader.predict_rows(np.arange(len(X))).labels
    assert np.mean(np.array(predicted) == Y) > 0.8


@pytest.mark.parametrize("reward", ["in-sample", "auto"])
def test_a_run_whose_rewards_prove_nothing_is_refused_and_says_what_to_set(tmp_path, reward):
    with pytest.raises(RefusedError, match=r'Agent .lab.: .*Start a run with reward = "out-of-fold"'):
        list(parties(tmp_path, **PROOF | {"reward": reward}).leader().train())


def test_the_initiators_own_agent_needs_no_proof_as_it_tells_nobody(tmp_path):
    made = parties(tmp_path, **PROOF)
    made.agents = [made.agents[2], made.agents[1]]
    first = turns_of(made.leader().train())[0]
    assert first.agent == "scans"
    assert first.mean_reward > 0.0


def test_a_run_that_began_without_proof_does_not_go_on_once_its_owner_asks_for_it(tmp_path):
    before = parties(tmp_path, **PROOF | {"reward": "in-sample", "proof": False})
    with pytest.raises(KeyboardInterrupt):
        list(before.leader(Recording(before, 4)).train())
    with pytest.raises(RefusedError, match=r"allow\.proof"):
        list(parties(tmp_path, **PROOF | {"reward": "in-sample"}).leader().train())
