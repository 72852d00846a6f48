"""Where the transport says who asks, a service answers the run's initiator alone; and what the end of a run leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistlearn.agent.store import runs_at
from assistlearn.core.state import votes_of
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_votes
from assistlearn.protocol.ledger import read
from tests.agent.owned_lab import BANK, PEOPLE, SHOP, Lab, opening
from tests.agent.recording import files_of

RUN = "r1"


def whole_run(home: Path) -> list[m.Message]:
    """All that a bank asks in a run, from the opening to the end of what is kept of it."""
    said: list[m.Message] = []

    class Overheard(Lab):
        def ask(self, message: Any, asker: str | None = BANK) -> Any:
            said.append(message)
            return super().ask(message, asker)

    lab = Overheard(home, None)
    lab.trained(2)
    lab.vote(PEOPLE)
    lab.ask(m.Forget(run=RUN))
    return said


def taken(home: Path, n_turns: int) -> Lab:
    """A helper that has taken some turns, all of whose models count."""
    lab = Lab(home, None)
    lab.ready()
    for number in range(1, n_turns + 1):
        assert isinstance(lab.take(number), m.TurnTaken)
    return lab


def test_a_transport_that_does_not_know_who_asks_is_answered(tmp_path):
    lab = Lab(tmp_path / "lab", None)
    for message in whole_run(tmp_path / "before"):
        assert not isinstance(lab.ask(message, None), m.Problem)


def test_nobody_else_is_answered_at_any_time_whatever_is_asked(tmp_path):
    lab, said = Lab(tmp_path / "lab", None), whole_run(tmp_path / "before")
    for message in said[:-1]:
        assert not isinstance(lab.ask(message), m.Problem)
        before = files_of(lab.home)
        for other in said:
            problem = lab.ask(other, SHOP)
            assert isinstance(problem, m.Problem)
            assert (problem.kind, files_of(lab.home)) == ("refused", before)
            assert "'bank'; 'shop' has no part in it" in problem.text
            assert "lab" in problem.text
    assert lab.ask(said[-1]) == m.Forgotten(run=RUN, n_models=2)


def test_nobody_opens_a_run_in_anothers_name(tmp_path):
    lab = Lab(tmp_path, None)
    assert lab.ask(opening(), SHOP).kind == "refused"
    assert runs_at(tmp_path) == []
    assert isinstance(lab.ask(opening(initiator=SHOP), SHOP), m.Opened)
    assert lab.ask(opening(), BANK).kind == "out-of-order"  # it is the shop's now
    assert lab.ask(opening(initiator=SHOP), BANK).kind == "refused"


def test_a_refusal_is_in_the_ledger_under_the_name_of_whoever_asked(tmp_path):
    lab = taken(tmp_path, 2)
    before = len(list(read(tmp_path / "ledger.jsonl")))
    lab.ask(m.Forget(run=RUN), SHOP)
    entries = list(read(tmp_path / "ledger.jsonl"))[before:]
    assert [(entry.direction, entry.peer, entry.type, entry.run) for entry in entries] == [
        ("received", SHOP, "forget", RUN),
        ("sent", SHOP, "problem", RUN),
    ]


# -- what the end leaves --


def scores(lab: Lab) -> np.ndarray:
    reply = lab.vote(PEOPLE)
    assert isinstance(reply, m.Scores), reply
    return votes_of(unpack_votes(reply.scores, len(PEOPLE), 2))


def kept(home: Path) -> list[str]:
    return sorted(path.parent.name for path in home.glob(f"runs/{RUN}/turns/*/model.skops"))


@pytest.mark.parametrize("last_turn", [0, 1, 2, 3, 4, 9, None])
def test_models_after_the_last_turn_do_not_count(tmp_path, last_turn):
    n = 4 if last_turn is None else min(last_turn, 4)
    lab = taken(tmp_path / "cut", 4)
    assert lab.ask(m.End(run=RUN, n_rounds=9, last_turn=last_turn)) == m.Ended(run=RUN, n_models=n)
    assert kept(tmp_path / "cut") == [f"{turn:06d}" for turn in range(1, n + 1)]
    if n:
        never = taken(tmp_path / "never", n)
        never.ask(m.End(run=RUN, n_rounds=9))
        np.testing.assert_array_equal(scores(lab), scores(never))
    else:
        assert not scores(lab).any()


@pytest.mark.parametrize(("n_rounds", "last_turn", "n"), [(3, 2, 2), (2, 3, 2), (0, 3, 0), (3, 0, 0)])
def test_rounds_and_the_last_turn_both_cut(tmp_path, n_rounds, last_turn, n):
    lab = taken(tmp_path, 4)
    assert lab.ask(m.End(run=RUN, n_rounds=n_rounds, last_turn=last_turn)).n_models == n
    assert len(kept(tmp_path)) == n


def test_after_a_restart_the_same_models_count(tmp_path):
    lab, end = taken(tmp_path, 4), m.End(run=RUN, n_rounds=9, last_turn=2)
    lab.ask(end)
    before = scores(lab)
    lab.restart()
    assert lab.ask(end) == m.Ended(run=RUN, n_models=2)
    np.testing.assert_array_equal(scores(lab), before)
