"""A helper whose model would be fitted to too few people sits the turn out, and the run goes on in good order."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn.core import State
from assistlearn.core.ignorance import effective_size
from assistlearn.errors import RunError
from assistlearn.events import TurnFinished
from assistlearn.protocol import decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits
from tests.initiator.parties import Parties

X, Y = load_wine(return_X_y=True)
FLOOR = 40


def parties(folder: Path, **options: Any) -> Parties:
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=1), [0, 1, 2, 3]),
        ("lab", DecisionTreeClassifier(max_depth=2), [4, 5, 6, 7]),
        ("scans", DecisionTreeClassifier(max_depth=2), [8, 9, 10, 11, 12]),
    ]
    return Parties(folder, agents, X, Y, {"n_rounds": 6} | options, {"lab": np.arange(len(X)) % 5 != 0})


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


def turns_of(events: list[Any]) -> list[TurnFinished]:
    return [event for event in events if isinstance(event, TurnFinished)]


@pytest.mark.parametrize("method", ["ascii", "simple", "soft", "ensemble"])
def test_it_sits_out_says_why_and_the_run_ends_in_good_order(tmp_path, method):
    leader = parties(tmp_path, method=method, min_effective=FLOOR).leader()
    turns = turns_of(list(leader.train()))
    sat_out = [turn for turn in turns if turn.why]
    assert sat_out
    assert {turn.agent for turn in sat_out} <= {"lab", "scans"}  # the initiator's own agent has no floor
    assert all("people; its owner asks for at least 40 (allow.min_effective)" in turn.why for turn in sat_out)
    assert all(turn.contribution is None for turn in sat_out)
    result = leader.folder.result()
    assert [c["turn"] for c in result["contributions"]] == [t.turn for t in turns if t.contribution is not None]
    leader.predict_rows(np.arange(len(X)))


def test_every_model_was_fitted_to_as_many_people_as_its_owner_asks_for(tmp_path):
    made = parties(tmp_path, method="simple", min_effective=FLOOR)
    made.held.clear()
    transport = Recording(made)
    leader = made.leader(transport)
    list(leader.train())
    helpers = {reply.turn for _, _, reply in transport.asked if isinstance(reply, m.TurnTaken)}
    assert helpers
    state = State.start(len(Y), 3)
    for number in range(1, leader.folder.n_turns + 1):
        assert number not in helpers or effective_size(state.ignorance()) >= FLOOR
        reply = decode(leader.folder.turn(number))
        if isinstance(reply, m.TurnTaken) and reply.model_weight > 0.0:
            state.apply(unpack_bits(reply.reward, len(Y)), reply.model_weight)


@pytest.mark.parametrize("n_turns", [3, 5, 8])
def test_interrupted_anywhere_it_ends_in_the_same_way(tmp_path, n_turns):
    whole = parties(tmp_path / "whole", min_effective=FLOOR).leader()
    expected = turns_of(list(whole.train()))
    cut = parties(tmp_path / "cut", min_effective=FLOOR)
    with pytest.raises(KeyboardInterrupt):
        list(cut.leader(Recording(cut, n_turns)).train())
    again = cut.leader()
    assert turns_of(list(again.train())) == expected
    assert again.folder.result()["contributions"] == whole.folder.result()["contributions"]


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
