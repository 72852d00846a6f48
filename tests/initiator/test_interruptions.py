"""A run that is interrupted anywhere goes on, and ends with the same model to the bit."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn.errors import RunError, UnreachableError
from assistlearn.protocol import MemoryTransport
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
    "ensemble": {"method": "ensemble", "n_rounds": 3},
    "holdout": {"method": "simple", "n_rounds": 4, "holdout": 0.3, "patience": 2},
    "soft": {"method": "soft", "n_rounds": 3},
    "auto": {"method": "ascii", "n_rounds": 3, "reward": "auto"},
    "combined": {"method": "soft", "n_rounds": 2, "reward": "auto", "combine": "auto", "models_per_turn": 3},
}


def made(folder, options) -> Parties:
    X, y = load_wine(return_X_y=True)
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=2), [0, 1, 2, 3]),
        ("lab", DecisionTreeClassifier(), [4, 5, 6, 7]),
        ("scans", RandomForestClassifier(n_estimators=3, max_depth=2), [8, 9, 10, 11, 12]),
    ]
    held = {"lab": np.arange(len(X)) % 5 != 0}
    return Parties(folder, agents, X, y, OPTIONS[options], held)


def outcome(parties: Parties, leader) -> tuple[list, np.ndarray]:
    result = leader.folder.result()
    ids = parties.holdings("clinic").ids
    prediction = leader.predict_rows(np.arange(len(ids)))
    assert prediction.absent == {}
    return result["contributions"], prediction.scores


@pytest.mark.parametrize("options", OPTIONS)
def test_cut_at_every_message_the_run_goes_on_and_ends_the_same(tmp_path, options):
    whole = made(tmp_path / "whole", options)
    leader = whole.leader()
    list(leader.train())
    contributions, scores = outcome(whole, leader)
    assert contributions
    parties = made(tmp_path / "cut", options)
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
    whole = made(tmp_path / "whole", "ascii")
    leader = whole.leader()
    list(leader.train())
    contributions, _ = outcome(whole, leader)
    parties = made(tmp_path / "lost", "ascii")
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
    parties = made(tmp_path, "ascii")
    leader = parties.leader(MemoryTransport({"lab": parties.services()["lab"].answer}))
    with pytest.raises(UnreachableError, match="no agent 'scans'"):
        list(leader.train())
