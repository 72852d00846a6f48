"""A run that is interrupted anywhere goes on, and ends with the same model to the bit."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.service import AgentService
from assistlearn.alignment import Ids
from assistlearn.errors import RunError, UnreachableError
from assistlearn.protocol import MemoryTransport
from tests.agent.recording import three_agents
from tests.initiator.parties import Parties


class CutError(Exception):
    """The process ends here."""


class CutTransport:
    """A transport that breaks before or after the k-th request has been answered."""

    def __init__(self, inner: MemoryTransport, at: int, after: bool) -> None:
        self._inner, self._left, self._after = inner, at, after

    def ask(self, agent: str, request: bytes) -> bytes:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise CutError
        reply = self._inner.ask(agent, request)
        if self._left == 0:
            raise CutError
        return reply


OPTIONS = {
    "ascii": {"method": "ascii", "n_rounds": 3},
    "ensemble": {"method": "ensemble", "n_rounds": 2},
    "holdout": {"method": "simple", "n_rounds": 3, "holdout": 0.3, "patience": 1},
    "soft": {"method": "soft", "n_rounds": 2},
    "auto": {"method": "ascii", "n_rounds": 2, "reward": "auto"},
    "combined": {"method": "soft", "n_rounds": 2, "reward": "auto", "combine": "auto", "models_per_turn": 3},
}


def outcome(parties: Parties, leader) -> tuple[list, np.ndarray]:
    result = leader.folder.result()
    ids = parties.holdings("clinic").ids
    prediction = leader.predict_rows(np.arange(len(ids)))
    assert prediction.absent == {}
    return result["contributions"], prediction.scores


@pytest.mark.parametrize("options", OPTIONS)
def test_cut_at_every_message_the_run_goes_on_and_ends_the_same(tmp_path, options):
    whole = three_agents(tmp_path / "whole", **OPTIONS[options])
    leader = whole.leader()
    list(leader.train())
    contributions, scores = outcome(whole, leader)
    assert contributions
    parties = three_agents(tmp_path / "cut", **OPTIONS[options])
    finished = False
    for at in range(1, 200):
        # Every attempt is cut one message later, before or after the helper answered, and all processes are new.
        leader = parties.leader(CutTransport(parties.transport(), at, after=at % 2 == 0))
        try:
            list(leader.train())
        except CutError:
            continue
        finished = True
        break
    assert finished
    again, scores_again = outcome(parties, parties.leader())
    assert again == contributions
    np.testing.assert_array_equal(scores_again, scores)


def test_a_helper_that_has_lost_its_last_turns_is_told_the_state_but_its_models_are_missed(tmp_path):
    whole = three_agents(tmp_path / "whole", **OPTIONS["ascii"])
    leader = whole.leader()
    list(leader.train())
    contributions, _ = outcome(whole, leader)
    parties = three_agents(tmp_path / "lost", **OPTIONS["ascii"])
    transport = parties.transport()
    events = parties.leader(transport).train()
    for event in events:
        if getattr(event, "turn", 0) == 5:
            break
    events.close()
    turns = parties.folder / "lab" / "runs" / "test-run" / "turns"
    for file in (turns / "000005").iterdir():  # as after bringing back an older backup
        file.unlink()
    leader = parties.leader(parties.transport())
    again = []
    with pytest.raises(RunError, match="Agent 'lab' has 2 models, but the result is made of 3 of its own"):
        again.extend(asdict(e.contribution) for e in leader.train() if getattr(e, "contribution", None))
    assert leader.folder.result() is None
    assert again == contributions


def test_an_agent_that_is_gone_is_named(tmp_path):
    parties = three_agents(tmp_path, **OPTIONS["ascii"])
    leader = parties.leader(MemoryTransport({"lab": parties.services()["lab"].answer}))
    with pytest.raises(UnreachableError, match="no agent 'scans'"):
        list(leader.train())


# -- a helper that starts anew between any two messages, as after a crash, ends with the same model and the same votes


N_MESSAGES = 12
"""How many messages a helper gets in the run and the prediction below: opening, two steps, the task, two turns, the
end, two steps, and three blocks of votes."""


class StartingAnew:
    """A transport to services, of which the lab's is replaced by a new one before its n-th message."""

    def __init__(self, parties: Parties, number: int) -> None:
        self._parties, self._number = parties, number
        self._desks = parties.services()
        self.asked = 0

    def ask(self, agent: str, request: bytes) -> bytes:
        if agent == "lab":
            self.asked += 1
            if self.asked == self._number:
                self._desks["lab"] = AgentService(self._parties.holdings("lab"))
        return self._desks[agent].answer(request)


def two(folder: Path) -> Parties:
    X, y = load_wine(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=2)
    agents = [("clinic", tree, [0, 1, 2, 3]), ("lab", tree, [4, 5, 6, 7])]
    return Parties(folder, agents, X, y, {"n_rounds": 2}, {})


def voted(folder: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    monkeypatch.setattr("assistlearn.initiator.prediction.MOST_SAMPLES", 60)
    parties = two(folder)
    transport = StartingAnew(parties, number)
    leader = parties.leader(transport)
    list(leader.train())
    ids = Ids([f"p-{i:04d}" for i in range(len(parties.X))], "test")
    prediction = leader.predict(ids, np.arange(len(parties.X)))
    result = parties.leader(transport).folder.result()
    assert result is not None
    return result["contributions"], prediction.absent, prediction.scores.tobytes(), transport.asked


def test_started_anew_before_any_message_the_model_and_the_votes_are_the_same(tmp_path, monkeypatch):
    *whole, asked = voted(tmp_path / "whole", 0, monkeypatch)
    assert asked == N_MESSAGES
    again = {}
    for number in range(1, N_MESSAGES + 1):
        *found, asked = voted(tmp_path / str(number), number, monkeypatch)
        assert found == whole, f"before message {number}"
        again[number] = asked - N_MESSAGES
    assert again[3] == 2  # the first step again, and the second
    assert again[12] == 5  # both steps again, and the two blocks before


def test_started_anew_with_another_table_while_samples_are_matched_the_run_stops(tmp_path):
    parties = two(tmp_path)
    transport = StartingAnew(parties, 3)
    leader = parties.leader(transport)
    parties.held["lab"] = np.arange(len(parties.X)) % 2 == 0
    with pytest.raises(RunError, match=r"'lab' restarted .* another table"):
        list(leader.train())
