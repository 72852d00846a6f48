"""Runs with hold-out samples that a release with version 5 of the protocol has stored.

``kept/version-5.tar.gz`` was written by that release, with the agents below: of a hard and a soft method, a finished
run with its votes, and one that was interrupted after three turns; and the results of the finished ones. Helpers were
told the labels of hold-out samples then.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn.alignment import Ids
from assistlearn.protocol.codec import as_sent_now, decode_kept
from assistlearn.protocol.older import BeginOfVersion5
from tests.runs.digests import completed
from tests.runs.parties import Parties

KEPT = Path(__file__).parent / "kept" / "version-5.tar.gz"
KINDS = ["hard", "soft"]
AGENTS = [("clinic", DecisionTreeClassifier(max_depth=1), [0, 1, 2, 3]), ("lab", GaussianNB(), [4, 5, 6, 7])]


@pytest.fixture
def kept(tmp_path) -> Path:
    with tarfile.open(KEPT) as archive:
        archive.extractall(tmp_path, filter="data")
    return completed(tmp_path)


def parties(folder: Path) -> Parties:
    X, y = (values[::2] for values in load_wine(return_X_y=True))
    return Parties(folder, AGENTS, X, y, {}, {"lab": np.arange(len(X)) % 5 != 0})


def test_what_is_kept_told_helpers_the_labels_of_hold_out_samples_and_what_is_sent_now_does_not(kept):
    tasks = [path.read_bytes() for path in kept.rglob("begin.msg")]
    assert {type(decode_kept(task)) for task in tasks} == {BeginOfVersion5}
    assert {decode_kept(task).labels.n for task in tasks} == {89}
    sent = [as_sent_now(task).message for task in tasks]
    assert {(task.labels.n, task.n_samples) for task in sent} == {(66, 89)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_run_predicts_as_it_did(kept, kind):
    made = parties(kept / kind / "finished")
    ids = Ids([f"p-{i:04d}" for i in range(len(made.X))], "test")
    prediction = made.leader().predict(ids, np.arange(len(made.X)))
    assert list(prediction.absent) == []
    before = np.load(kept / kind / "scores.npy")
    rounding = {"hard": 0.0, "soft": 0.01 * np.abs(before).max()}[kind]  # each model's votes are rounded by now
    np.testing.assert_allclose(prediction.scores, before, rtol=0, atol=rounding)


@pytest.mark.parametrize("kind", ["hard"])  # of a soft run, the answers for hold-out samples had another form
def test_an_interrupted_run_ends_as_it_would_have(kept, kind):
    leader = parties(kept / kind / "half").leader()
    list(leader.train())
    expected, ours = json.loads((kept / "results.json").read_text())[kind], leader.folder.result()
    assert {name: ours[name] for name in expected} == expected
