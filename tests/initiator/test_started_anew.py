"""A helper that starts anew between any two messages, as after a crash, ends with the same model and the same votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.service import AgentService
from assistlearn.alignment import Ids
from assistlearn.errors import RunError
from tests.initiator.parties import Parties

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


def made(folder: Path) -> Parties:
    X, y = load_wine(return_X_y=True)
    agents = [(name, DecisionTreeClassifier(max_depth=2), list(range(4 * i, 4 * i + 4))) for i, name in enumerate("ab")]
    agents = [("clinic", *agents[0][1:]), ("lab", *agents[1][1:])]
    return Parties(folder, agents, X, y, {"n_rounds": 2}, {})


def outcome(folder: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    monkeypatch.setattr("assistlearn.initiator.prediction.MOST_SAMPLES", 60)
    parties = made(folder)
    transport = StartingAnew(parties, number)
    leader = parties.leader(transport)
    list(leader.train())
    ids = Ids([f"p-{i:04d}" for i in range(len(parties.X))], "test")
    prediction = leader.predict(ids, np.arange(len(parties.X)))
    result = parties.leader(transport).folder.result()
    assert result is not None
    return result["contributions"], prediction.absent, prediction.scores.tobytes(), transport.asked


def test_started_anew_before_any_message_the_model_and_the_votes_are_the_same(tmp_path, monkeypatch):
    *whole, asked = outcome(tmp_path / "whole", 0, monkeypatch)
    assert asked == N_MESSAGES
    again = {}
    for number in range(1, N_MESSAGES + 1):
        *found, asked = outcome(tmp_path / str(number), number, monkeypatch)
        assert found == whole, f"before message {number}"
        again[number] = asked - N_MESSAGES
    assert again[3] == 2  # the first step again, and the second
    assert again[12] == 5  # both steps again, and the two blocks before


def test_started_anew_with_another_table_while_samples_are_matched_the_run_stops(tmp_path):
    parties = made(tmp_path)
    transport = StartingAnew(parties, 3)
    leader = parties.leader(transport)
    parties.held["lab"] = np.arange(len(parties.X)) % 2 == 0
    with pytest.raises(RunError, match=r"'lab' restarted .* another table"):
        list(leader.train())
