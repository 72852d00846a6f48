"""Runs that a release with version 1 of the protocol has stored: a finished one predicts, another is gone on with.

``kept/version-1.tar.gz`` was written by that release, with the agents below: a finished run, one that was interrupted
after four turns, the contributions of both, and the votes of the first.
"""

from __future__ import annotations

import json
import struct
import tarfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn.alignment import Ids
from assistlearn.errors import ProtocolError
from assistlearn.protocol import Ledger, MemoryTransport, decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_numbers
from assistlearn.protocol.codec import decode_kept, encode, kept_now
from assistlearn.protocol.older import Snapshot, TakeTurnOfVersion1
from tests.runs.digests import completed, rewrite
from tests.runs.parties import Parties

KEPT = Path(__file__).parent / "kept" / "version-1.tar.gz"
X, Y = load_wine(return_X_y=True)
AGENTS = [("clinic", DecisionTreeClassifier(max_depth=1), [0, 1, 2, 3]), ("lab", GaussianNB(), [4, 5, 6, 7])]


@pytest.fixture
def kept(tmp_path) -> Path:
    with tarfile.open(KEPT) as archive:
        archive.extractall(tmp_path, filter="data")
    return completed(tmp_path)


def parties(folder: Path) -> Parties:
    return Parties(folder, AGENTS, X, Y, {"n_rounds": 3, "holdout": 0.25}, {"lab": np.arange(len(X)) % 5 != 0})


def as_version_1(message: m.Message) -> bytes:
    body = msgspec.msgpack.encode(message)
    return struct.pack("<4sHHIQ", b"ALMS", 1, 0, len(body), 0) + body


def test_what_is_kept_is_of_version_1(kept):
    for path in kept.rglob("*.msg"):
        assert path.read_bytes()[4] == 1
        with pytest.raises(ProtocolError, match="version 1"):
            decode(path.read_bytes())


def test_a_finished_run_predicts_as_it_did(kept):
    ids = Ids([f"p-{i:04d}" for i in range(len(X))], "test")
    prediction = parties(kept / "finished").leader().predict(ids, np.arange(len(X)))
    assert list(prediction.absent) == []
    before = np.load(kept / "scores.npy")
    assert np.array_equal(prediction.scores.argmax(axis=1), before.argmax(axis=1))
    near = np.isclose(prediction.scores, before, atol=0.03 * np.abs(before).max()).all(axis=1)
    assert near.mean() > 0.98  # votes are rounded since version 5; trees that are learned over them may jump


def trained(folder: Path) -> list[dict]:
    leader = parties(folder).leader()
    list(leader.train())
    return leader.folder.result()["contributions"]


def test_an_interrupted_run_ends_as_it_would_have(kept):
    contributions = trained(kept / "interrupted")
    expected = json.loads((kept / "contributions.json").read_text())
    assert [(c["agent"], c["turn"]) for c in contributions] == [(c["agent"], c["turn"]) for c in expected]
    weights = [[c["model_weight"] for c in made] for made in (contributions, expected)]
    np.testing.assert_allclose(*weights, rtol=1e-9)
    assert (kept / "interrupted" / "lab" / "runs" / "test-run" / "begin.msg").read_bytes()[4] == m.VERSION


def test_a_task_that_is_not_the_one_that_was_kept_is_still_refused(kept):
    run = parties(kept / "interrupted")
    run.X = X.copy()
    lab = run.services()["lab"]
    begin = decode_kept((kept / "interrupted" / "lab" / "runs" / "test-run" / "begin.msg").read_bytes()).now()
    other = m.Begin(**({f: getattr(begin, f) for f in begin.__struct_fields__} | {"seed": 5, "turn_seeds": 7}))
    reply = decode(lab.answer(encode(other)))
    assert isinstance(reply, m.Problem)
    assert "with another task" in reply.text


def test_a_turn_waits_for_the_task_to_be_sent_again(kept):
    lab = parties(kept / "interrupted").services()["lab"]
    reply = decode(lab.answer(encode(m.TakeTurn(run="test-run", turn=6, round=3, since=4, news=[]))))
    assert isinstance(reply, m.Problem)
    assert "send the task again" in reply.text


def test_a_turn_that_was_taken_is_answered_in_todays_version(kept):
    lab = parties(kept / "interrupted").services()["lab"]
    folder = kept / "interrupted" / "lab" / "runs" / "test-run" / "turns" / "000004"
    reply = lab.answer(encode(m.TakeTurn(run="test-run", turn=4, round=2, since=2, news=[])))
    assert decode(reply) == kept_now((folder / "reply.msg").read_bytes())


def test_a_state_that_was_sent_then_is_replayed_as_it_was(kept):
    """The turn's news are put in the form of the state that they led to; the run ends in the same way."""
    expected = trained(kept / "interrupted")
    with tarfile.open(KEPT) as archive:
        archive.extractall(kept / "again", filter="data")
    completed(kept / "again")
    run = kept / "again" / "interrupted" / "lab" / "runs" / "test-run"
    stored = run / "turns" / "000004" / "request.msg"
    request = decode_kept(stored.read_bytes())
    assert isinstance(request, TakeTurnOfVersion1)
    assert request.news
    lab = parties(kept / "again" / "interrupted").services()["lab"]
    replica = lab.run("test-run").part()._replica
    vectors = [None if vector is None else pack_numbers(vector) for vector in replica.state.vectors()]
    state = Snapshot(request.turn, request.round, vectors)
    fields = {name: getattr(request, name) for name in request.__struct_fields__} | {"news": [], "state": state}
    content = as_version_1(TakeTurnOfVersion1(**fields))
    rewrite(run, "turns/000004/request.msg", content)
    ledger = Ledger(kept / "again" / "interrupted" / "lab" / "ledger.jsonl")
    ledger.record("received", "clinic", "test-run", "take-turn", content)  # what is stored must be known there
    assert trained(kept / "again" / "interrupted") == expected


def test_version_1_is_not_taken_from_the_network(kept):
    lab = parties(kept / "interrupted").services()["lab"]
    request = (kept / "interrupted" / "lab" / "runs" / "test-run" / "turns" / "000004" / "request.msg").read_bytes()
    reply = decode(MemoryTransport({"lab": lab.answer}).ask("lab", request))
    assert isinstance(reply, m.Problem)
    assert reply.kind == "version"
