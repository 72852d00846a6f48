"""A run that goes on without an agent is the run whose order leaves it out from that turn on, to the bit."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.alignment import Ids
from assistlearn.errors import UnreachableError
from assistlearn.events import AgentLeft, TurnFinished
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.prediction import predict
from assistlearn.methods.orders import Strongest
from assistlearn.plan import Plan
from assistlearn.protocol import decode
from assistlearn.protocol import messages as m
from assistlearn.reach.opening import follow, with_own_table
from assistlearn.reach.processes.process_transport import ProcessTransport
from assistlearn.reach.processes.reach_processes import create_run
from tests.agent.recording import three_agents
from tests.initiator.parties import Parties, filed
from tests.initiator.test_interruptions import CutError, CutTransport
from tests.papers_settings import PAPERS


class Trouble:
    """A transport to an agent that is gone at some requests, which reach it (``lost``: the answer does not) or not."""

    def __init__(self, inner: Any, agent: str, gone: Callable[[m.Message], bool], lost: bool = False) -> None:
        self._inner, self._agent, self._gone, self._lost = inner, agent, gone, lost
        self.tried = 0

    def ask(self, agent: str, request: bytes) -> bytes:
        gone = agent == self._agent and self._gone(decode(request))
        self.tried += gone
        if gone and not self._lost:
            raise UnreachableError(f"Agent {agent!r} is on strike.")
        reply = self._inner.ask(agent, request)
        if gone:
            raise UnreachableError(f"The line to agent {agent!r} is cut.")
        return reply


def at_turn(turn: int, for_good: bool = False) -> Callable[[m.Message], bool]:
    """Gone at this turn and every later one; or at everything from this turn on."""
    gone_since: list[int] = []

    def gone(message: m.Message) -> bool:
        if isinstance(message, m.TakeTurn) and message.turn >= turn:
            gone_since.append(message.turn)
            return True
        return for_good and bool(gone_since)

    return gone


def made(folder: Path, **options: Any) -> Parties:
    parties = three_agents(folder, **{"n_rounds": 4, "absent": "go on"} | options)
    parties.agents[0] = ("clinic", DecisionTreeClassifier(max_depth=1), parties.agents[0][2])
    parties.held.clear()
    return parties


def estimator_of(parties: Parties, order: Any) -> AssistedClassifier:
    options = {name: parties.options[name] for name in ("method", "holdout", "n_rounds") if name in parties.options}
    clf = AssistedClassifier(parties.agents, random_state=7, order=order, **(PAPERS | options))
    return clf.fit(parties.X, parties.labels)


class Without:
    """The chain, or a random order, that leaves agents out, each from a turn on."""

    def __init__(self, left: dict[str, int], shuffle: bool = False) -> None:
        self._left, self._shuffle, self._done = left, shuffle, 0

    def __call__(self, round: int, agents: list[str], rng: np.random.RandomState) -> list[str]:
        there = [name for name in agents if not self._is_out(name, self._done)]
        planned = [there[i] for i in rng.permutation(len(there))] if self._shuffle else there
        plan: list[str] = []
        for name in planned:
            if not self._is_out(name, self._done + len(plan) + 1):
                plan.append(name)
        self._done += len(plan)
        return plan

    def _is_out(self, name: str, turn: int) -> bool:
        return turn >= self._left.get(name, turn + 1)


class StrongestWithout(Strongest):
    """The strongest first, but one agent is out from a turn on."""

    def __init__(self, agent: str, turn: int) -> None:
        self._agent, self._turn = agent, turn

    def next(self, taken, agents, history):
        there = [name for name in agents if name != self._agent or len(history) + 1 < self._turn]
        return super().next(taken, there, history)


def votes(parties: Parties, leader: Any = None) -> Any:
    ids = parties.holdings("clinic").ids
    everybody = np.arange(len(ids))
    return (leader or parties.leader()).predict_rows(everybody)


def same_as(parties: Parties, clf: AssistedClassifier) -> None:
    """Assert that a finished run, with everybody there again, is the estimator's to the bit."""
    result = RunFolder(parties.folder / "run").result()
    assert result["contributions"] == [asdict(contribution) for contribution in clf.contributions_]
    assert result["stop_reason"] == clf.stop_reason_.name
    prediction = votes(parties)
    assert prediction.absent == {}
    np.testing.assert_array_equal(prediction.scores, sum(clf.agent_scores(parties.X).values()))


# -- the same model as a run that was planned without the agent --


@pytest.mark.parametrize(
    ("method", "agent", "turn"),
    [
        ("ascii", "lab", 2),
        ("simple", "lab", 5),
        ("soft", "scans", 3),
        ("ensemble", "scans", 12),
        ("ascii", "scans", 12),
    ],
)
def test_gone_from_a_turn_on_the_model_is_that_of_an_order_without_it(tmp_path, method, agent, turn):
    """Its first turn of all, one in the middle, the last in a round, the last of the run."""
    parties = made(tmp_path, method=method)
    leader = parties.leader(Trouble(parties.transport(), agent, at_turn(turn, for_good=True)))
    events = list(leader.train())
    left = [event for event in events if isinstance(event, AgentLeft)]
    assert [(event.turn, event.agent) for event in left] == [(turn, agent)]
    assert leader.folder.left()[agent]["turn"] == leader.folder.result()["left"][agent]["turn"] == turn
    assert "on strike" in left[0].reason
    same_as(parties, estimator_of(parties, Without({agent: turn})))


def test_the_same_with_hold_out_samples(tmp_path):
    parties = made(tmp_path, holdout=0.3)
    list(parties.leader(Trouble(parties.transport(), "lab", at_turn(5))).train())
    same_as(parties, estimator_of(parties, Without({"lab": 5})))


@pytest.mark.parametrize(
    ("order", "reference"),
    [("random", lambda agent, turn: Without({agent: turn}, shuffle=True)), ("strongest", StrongestWithout)],
)
def test_the_same_in_other_orders(tmp_path, order, reference):
    parties = made(tmp_path, order=order, n_rounds=5)
    trouble = Trouble(parties.transport(), "lab", at_turn(5))
    events = list(parties.leader(trouble).train())
    (left,) = [event for event in events if isinstance(event, AgentLeft)]
    assert left.turn >= 5
    same_as(parties, estimator_of(parties, reference("lab", left.turn)))


def test_both_helpers_may_go_and_the_initiator_goes_on_alone(tmp_path):
    parties = made(tmp_path)
    inner = Trouble(parties.transport(), "lab", at_turn(2, for_good=True))
    events = list(parties.leader(Trouble(inner, "scans", at_turn(5, for_good=True))).train())
    assert [(e.turn, e.agent) for e in events if isinstance(e, AgentLeft)] == [(2, "lab"), (6, "scans")]
    assert [e.agent for e in events if isinstance(e, TurnFinished)] == ["clinic", "scans"] * 2 + ["clinic"] * 2
    same_as(parties, estimator_of(parties, Without({"lab": 2, "scans": 6})))


@pytest.mark.parametrize("lost", [False, True], ids=["not reached", "answer lost"])
@pytest.mark.parametrize("for_good", [False, True], ids=["back at the end", "gone at the end"])
def test_gone_when_training_begins_it_has_no_part_in_it(tmp_path, lost, for_good):
    parties = made(tmp_path)
    begun: list[int] = []

    def gone(message: m.Message) -> bool:
        begun.extend([1] * isinstance(message, m.Begin))
        return isinstance(message, m.Begin) or (for_good and bool(begun))

    leader = parties.leader(Trouble(parties.transport(), "lab", gone, lost))
    list(leader.train())
    assert leader.folder.left()["lab"]["turn"] == 1
    clf = estimator_of(parties, Without({"lab": 1}))
    assert leader.folder.result()["contributions"] == [asdict(c) for c in clf.contributions_]
    np.testing.assert_array_equal(votes(parties).scores, sum(clf.agent_scores(parties.X).values()))


# -- what the agent did that nobody heard of --


@pytest.mark.parametrize(
    ("method", "for_good"), [("ascii", False), ("simple", True), ("soft", False), ("ensemble", True)]
)
def test_a_model_whose_answer_was_lost_is_dropped_and_does_not_vote(tmp_path, method, for_good):
    parties = made(tmp_path, method=method)
    list(parties.leader(Trouble(parties.transport(), "lab", at_turn(5, for_good=for_good), lost=True)).train())
    turns = parties.folder / "lab" / "runs" / "test-run" / "turns"
    assert (turns / "000005" / "reply.msg").exists()  # it took the turn
    same_as(parties, estimator_of(parties, Without({"lab": 5})))
    assert (turns / "000002" / "model.skops").exists()
    assert not (turns / "000005" / "model.skops").exists()


def test_a_left_helper_that_stays_away_is_named_and_the_others_vote(tmp_path):
    parties = made(tmp_path)
    trouble = Trouble(parties.transport(), "lab", at_turn(5, for_good=True))
    leader = parties.leader(trouble)
    list(leader.train())
    prediction = votes(parties, leader)
    assert list(prediction.absent) == ["lab"]
    assert "on strike" in prediction.absent["lab"]
    clf = estimator_of(parties, Without({"lab": 5}))
    scores = clf.agent_scores(parties.X)
    np.testing.assert_array_equal(prediction.scores, scores["clinic"] + scores["scans"])


# -- interruptions --


@pytest.mark.parametrize("method", ["ascii", "soft"])
def test_once_left_out_it_stays_out_though_the_run_is_resumed_and_it_is_back(tmp_path, method):
    parties = made(tmp_path, method=method)
    for event in (events := parties.leader(Trouble(parties.transport(), "lab", at_turn(5))).train()):
        if isinstance(event, AgentLeft):
            break
    events.close()
    for at in range(1, 100):  # every attempt ends one message later; the helper could be reached all the time
        try:
            again = list(parties.leader(CutTransport(parties.transport(), at, after=True)).train())
        except CutError:
            continue
        break
    assert [(event.turn, event.agent) for event in again if isinstance(event, AgentLeft)] == [(5, "lab")]
    same_as(parties, estimator_of(parties, Without({"lab": 5})))


@pytest.mark.parametrize(("method", "lost"), [("ascii", False), ("simple", True), ("soft", True), ("ensemble", False)])
def test_where_the_settings_say_stop_it_stops_and_goes_on_as_if_nothing_had_been(tmp_path, method, lost):
    parties = made(tmp_path, method=method, absent="stop")
    trouble = Trouble(parties.transport(), "lab", at_turn(5), lost)
    with pytest.raises(UnreachableError, match="'lab'"):
        list(parties.leader(trouble).train())
    assert (trouble.tried, parties.leader().folder.n_turns, parties.leader().folder.left()) == (1, 4, {})
    list(parties.leader().train())
    same_as(parties, estimator_of(parties, "chain"))


def test_gone_before_the_samples_are_settled_nobody_can_be_left_out(tmp_path):
    parties = made(tmp_path)
    trouble = Trouble(parties.transport(), "lab", lambda message: isinstance(message, m.Align))
    with pytest.raises(UnreachableError, match="on strike"):
        list(parties.leader(trouble).train())
    assert parties.leader().folder.left() == {}


def test_gone_when_the_run_is_resumed_it_is_left_out_from_the_next_turn_on(tmp_path):
    parties = made(tmp_path)
    for event in (events := parties.leader().train()):
        if getattr(event, "turn", 0) == 6:
            break
    events.close()
    leader = parties.leader(Trouble(parties.transport(), "lab", lambda message: isinstance(message, m.Open)))
    list(leader.train())
    assert leader.folder.left()["lab"]["turn"] == 7
    same_as(parties, estimator_of(parties, Without({"lab": 7})))


def test_the_initiator_itself_is_never_left_out(tmp_path, monkeypatch):
    parties = made(tmp_path)
    leader = parties.leader()
    own = leader.run.agents["clinic"]
    monkeypatch.setattr(own, "_transport", Trouble(own._transport, "clinic", at_turn(4)))
    with pytest.raises(UnreachableError, match="'clinic' is on strike"):
        list(leader.train())


# -- the helper's end --


def test_a_crash_while_surplus_models_are_removed_leaves_none_that_votes(tmp_path, monkeypatch):
    parties = made(tmp_path)
    took_it = Trouble(parties.transport(), "lab", at_turn(5), lost=True)
    list(parties.leader(Trouble(took_it, "lab", lambda message: isinstance(message, m.End))).train())
    whole = Path.unlink

    def crash(path: Path, missing_ok: bool = False) -> None:
        if path.name == "model.skops":
            raise KeyboardInterrupt
        whole(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", crash)
    with pytest.raises(KeyboardInterrupt):
        votes(parties)
    monkeypatch.undo()
    same_as(parties, estimator_of(parties, Without({"lab": 5})))


# -- real processes --


@pytest.mark.usefixtures("forked_agents")
def test_a_process_that_is_killed_is_left_out_and_votes_with_its_earlier_models_when_it_is_back(tmp_path):
    X, y = load_wine(return_X_y=True)
    stump = DecisionTreeClassifier(max_depth=1)
    agents = [("clinic", stump, [0, 1, 2, 3]), ("lab", stump, [4, 5, 6, 7]), ("scans", stump, [8, 9, 10, 11, 12])]
    files = filed(Parties(tmp_path, agents, X, y, {}, {}))
    options = Plan(n_rounds=4, seed=7, absent="go on", method="ascii")
    folder = create_run(tmp_path / "run", "killed", files, options)
    helpers = dict(zip(["lab", "scans"], files[1:], strict=True))
    with ProcessTransport(helpers, 60) as transport:
        open_run, _ = with_own_table(folder, transport, training=True)
        for event in follow(open_run):
            if getattr(event, "turn", 0) == 4:
                os.kill(transport.pid("lab"), signal.SIGKILL)
    assert folder.left()["lab"]["turn"] == 5
    assert "exit code -9" in folder.left()["lab"]["reason"]
    codes = np.asarray(folder.permutation())[y]
    clf = AssistedClassifier(agents, n_rounds=4, random_state=7, order=Without({"lab": 5}), method="ascii").fit(
        X, codes
    )
    assert folder.result()["contributions"] == [asdict(c) for c in clf.contributions_]
    with ProcessTransport(helpers, 60) as transport:
        open_run, own = with_own_table(folder, transport, training=False)
        prediction = predict(open_run, Ids(own.table.ids), np.arange(len(X)))
    assert prediction.absent == {}
    scores = sum(clf.agent_scores(X).values())
    np.testing.assert_array_equal(prediction.scores, scores[:, folder.permutation()])
