"""An agent that is gone is told of once, asked no more, and the loop goes on as if its order had left it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.agent.agent import Answer, Turn
from assistlearn.core import State
from assistlearn.errors import AgentGoneError, UnreachableError
from assistlearn.events import AgentLeft, RoundFinished, RunFinished, StopReason, TurnFinished
from assistlearn.methods.orders import GREEDY
from assistlearn.plan import Plan
from assistlearn.session import Session
from tests.session.scripted import ScriptedParty

NAMES = ["a", "b", "c"]
LABELS = np.tile([0, 1], 20)
N_ROUNDS = 4


class Leaving(ScriptedParty):
    """A party that is gone from a turn on."""

    def __init__(self, *arguments: Any, leaves: int) -> None:
        super().__init__(*arguments)
        self._leaves = leaves
        self.answers: dict[int, Answer] = {}

    def take_turn(self, turn: Turn) -> Answer:
        if turn.number >= self._leaves:
            raise AgentGoneError(self.name, "on strike")
        self.answers[turn.number] = super().take_turn(turn)
        return self.answers[turn.number]


class Leave:
    """A finished session of three agents, some of whom leave."""

    def __init__(self, leaves: Mapping[str, int], order: Any = "chain", seed: int = 0, script_seed: int = 0) -> None:
        rng = np.random.default_rng(script_seed)
        self.parties = []
        for name in NAMES:
            script = [np.where(rng.random(len(LABELS)) < 0.3, 1 - LABELS, LABELS) for _ in range(N_ROUNDS)]
            state = State.start(len(LABELS), 2)
            self.parties.append(Leaving(name, script, LABELS, state, leaves=leaves.get(name, 10**6)))
        states = dict.fromkeys(NAMES, State.start(len(LABELS), 2))
        plan = Plan(n_rounds=N_ROUNDS, order=order, seed=seed, method="ascii")
        self.events = list(Session(plan, self.parties, states).run())
        self.turns = [event for event in self.events if isinstance(event, TurnFinished)]
        self.left = [event for event in self.events if isinstance(event, AgentLeft)]
        self.seeds = {turn.number: turn.seed for party in self.parties for turn in party.turns}


def without(turns: list[list[str]]):
    """An order that was written down beforehand."""
    return lambda round, agents, rng: turns[round - 1]


def by_round(play: Leave) -> list[list[str]]:
    rounds: list[list[str]] = [[] for _ in range(N_ROUNDS)]
    for turn in play.turns:
        rounds[turn.round - 1].append(turn.agent)
    return rounds


@given(st.sampled_from(["b", "c"]), st.integers(1, 14), st.sampled_from(["chain", "random"]), st.integers(0, 50))
def test_it_is_the_session_whose_order_was_written_without_the_agent(agent, turn, order, seed):
    play = Leave({agent: turn}, order, seed)
    planned = Leave({}, without(by_round(play)), seed)
    assert play.turns == planned.turns
    assert play.seeds == planned.seeds  # the turn that was not taken uses up no chance
    assert [event for event in play.events if not isinstance(event, AgentLeft)] == planned.events
    assert agent not in [finished.agent for finished in play.turns if finished.turn >= turn]
    others = [name for name in NAMES if name != agent]
    for names in by_round(play):
        assert [name for name in sorted(names) if name != agent] == others


@pytest.mark.parametrize("turn", [2, 5, 11])
def test_it_is_told_once_with_the_turn_that_the_next_agent_then_takes(turn):
    play = Leave({"b": turn})
    assert play.left == [AgentLeft(turn, (turn + 1) // 3, "b", "on strike")]
    after = play.events[play.events.index(play.left[0]) + 1]
    assert (after.turn, after.agent) == (turn, "c")
    assert [finished.turn for finished in play.turns] == list(range(1, len(play.turns) + 1))


def test_gone_as_the_last_of_a_round_its_turn_is_the_first_of_the_next():
    play = Leave({"c": 3})
    assert by_round(play) == [["a", "b"]] * N_ROUNDS
    place = play.events.index(AgentLeft(3, 1, "c", "on strike"))
    assert isinstance(play.events[place + 1], RoundFinished)
    assert (play.events[place + 2].turn, play.events[place + 2].agent) == (3, "a")


def test_gone_at_the_last_turn_of_the_run_the_run_ends_all_the_same():
    play = Leave({"c": 12})
    assert [event.turn for event in play.left] == [12]
    assert isinstance(play.events[-1], RunFinished)
    assert play.events[-1].n_rounds == N_ROUNDS


def test_who_is_gone_hears_no_more_but_the_others_hear_everything():
    play = Leave({"b": 5})
    heard = {party.name: [c.turn for c in party.heard] for party in play.parties}
    everything = [finished.turn for finished in play.turns if finished.contribution]
    assert heard == {"a": everything, "b": [turn for turn in everything if turn < 5], "c": everything}


def test_two_may_leave_and_one_goes_on_alone():
    play = Leave({"b": 2, "c": 4})
    assert [(event.turn, event.agent) for event in play.left] == [(2, "b"), (4, "c")]
    assert by_round(play) == [["a", "c"], ["a"], ["a"], ["a"]]


@pytest.mark.parametrize("leaves", [{"b": 1}, {"b": 4}, {"c": 6}, {"b": 3, "c": 3}])
def test_greedy_takes_the_best_of_those_who_are_there(leaves):
    play = Leave(leaves, GREEDY)
    assert {event.agent for event in play.left} == set(leaves)
    for finished in play.turns:
        there = {name for name in NAMES if finished.turn < leaves.get(name, 10**6)}
        verdicts = {p.name: p.answers[finished.turn].verdict for p in play.parties if finished.turn in p.answers}
        assert set(verdicts) == there
        gains = {name: verdict.gain for name, verdict in verdicts.items() if not verdict.useless}
        assert (finished.contribution is not None) == bool(gains)
        assert finished.agent == max(gains, key=gains.__getitem__, default=finished.agent)
    assert sum(finished.contribution is not None for finished in play.turns) > 3
    planned = Leave({}, without(by_round(play)))
    assert [turn.contribution for turn in play.turns] == [turn.contribution for turn in planned.turns]


def test_an_agent_that_merely_fails_ends_the_session():
    class Broken(Leaving):
        def take_turn(self, turn: Turn) -> Answer:
            raise UnreachableError("no line")

    state = State.start(len(LABELS), 2)
    party = Broken("a", [LABELS], LABELS, state, leaves=1)
    with pytest.raises(UnreachableError, match="no line"):
        list(Session(Plan(n_rounds=2, method="ascii"), [party], {"a": state}).run())


def test_when_everybody_is_gone_the_run_ends_and_says_why():
    play = Leave({"a": 4, "b": 4, "c": 4})
    assert [event.agent for event in play.left] == NAMES
    assert play.events[-1].reason.name == "NO_AGENT_CONTRIBUTED"
    assert play.events[-1].n_rounds == 1


def test_when_all_are_gone_who_contributed_in_this_round_that_is_why_it_ends():
    """The initiator is always there unless it has labels alone: then its helpers may all be gone."""
    played = Leave(dict.fromkeys(NAMES, 2), order=GREEDY)
    assert len(played.turns) == 1
    assert {event.agent for event in played.left} == {*NAMES}
    assert played.events[-1] == RunFinished(StopReason.NO_AGENT_LEFT, 1)
