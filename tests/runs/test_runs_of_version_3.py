"""Soft runs that a release with version 3 of the protocol has stored.

``kept/version-3.tar.gz`` was written by that release, with the agents below: of three classes and of two, a finished
run with its votes, and one that was interrupted after its third turn; and the contributions of the finished ones.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn.alignment import Ids
from assistlearn.errors import RunError
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode_kept
from assistlearn.protocol.older import TurnTakenOfVersion3
from tests.runs.digests import completed, rewrite_settings
from tests.runs.parties import Parties

KEPT = Path(__file__).parent / "kept" / "version-3.tar.gz"
DATA = {"three": load_wine, "two": load_breast_cancer}
AGENTS = [("clinic", DecisionTreeClassifier(max_depth=1), [0, 1, 2, 3]), ("lab", GaussianNB(), [4, 5, 6, 7])]


@pytest.fixture
def kept(tmp_path) -> Path:
    with tarfile.open(KEPT) as archive:
        archive.extractall(tmp_path, filter="data")
    return completed(tmp_path)


def parties(folder: Path, classes: str) -> Parties:
    X, y = DATA[classes](return_X_y=True)
    held = {"lab": np.arange(len(X[::2])) % 5 != 0}
    return Parties(folder, AGENTS, X[::2], y[::2], {"n_rounds": 3, "method": "soft"}, held)


def test_what_is_kept_is_of_version_3_and_has_coded_scores(kept):
    assert {path.read_bytes()[4] for path in kept.rglob("*.msg")} == {3}
    replies = [decode_kept(path.read_bytes()) for path in kept.rglob("reply.msg")]
    assert {type(reply) for reply in replies} == {TurnTakenOfVersion3}
    assert "range" in {reply.reward.coding for reply in replies}


@pytest.mark.parametrize("classes", DATA)
def test_a_finished_run_predicts_as_it_did(kept, classes):
    made = parties(kept / classes / "finished", classes)
    ids = Ids([f"p-{i:04d}" for i in range(len(made.X))], "test")
    prediction = made.leader().predict(ids, np.arange(len(made.X)))
    assert list(prediction.absent) == []
    before = np.load(kept / classes / "scores.npy")
    assert np.mean(prediction.scores.argmax(axis=1) == before.argmax(axis=1)) > 0.98
    near = np.isclose(prediction.scores, before, atol=0.03 * np.abs(before).max()).all(axis=1)
    assert near.mean() > 0.98  # votes are rounded since version 5; trees that are learned over them may jump


@pytest.mark.parametrize("classes", DATA)
def test_an_interrupted_run_ends_as_it_would_have(kept, classes):
    leader = parties(kept / classes / "half", classes).leader()
    list(leader.train())
    expected = json.loads((kept / "contributions.json").read_text())[classes]
    ours = leader.folder.result()["contributions"]
    assert [c["agent"] for c in ours] == [c["agent"] for c in expected]
    np.testing.assert_allclose([c["model_weight"] for c in ours], [c["model_weight"] for c in expected], rtol=1e-12)


def test_a_turn_that_was_taken_is_answered_in_todays_version(kept):
    lab = parties(kept / "three" / "half", "three").services()["lab"]
    reply = decode(lab.answer(encode(m.TakeTurn(run="test-run", turn=2, round=1, since=0, news=[]))))
    assert isinstance(reply, m.TurnTaken)
    path = kept / "three" / "half" / "lab" / "runs" / "test-run" / "turns" / "000002" / "reply.msg"
    assert reply == decode_kept(path.read_bytes()).now()


def test_an_interrupted_run_with_a_learned_combination_is_told_to_start_anew(kept):
    folder = kept / "three" / "half"
    told = json.loads((folder / "run" / "settings.json").read_text())
    told |= {"combine": "auto", "reward": "out-of-fold"}
    rewrite_settings(folder / "run", told)
    with pytest.raises(RunError, match="heard of each other in the first round of a run with combine='auto'"):
        list(parties(folder, "three").leader().train())
