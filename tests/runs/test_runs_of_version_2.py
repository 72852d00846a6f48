"""Soft runs that a release with version 2 of the protocol has stored.

``kept/version-2.tar.gz`` was written by that release, with the agents below: of three classes and of two, a finished
run with its votes, and one that was interrupted in its third turn; and the contributions of the finished ones.
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
from tests.runs.digests import completed
from tests.runs.parties import Parties

KEPT = Path(__file__).parent / "kept" / "version-2.tar.gz"
DATA = {"three": load_wine, "two": load_breast_cancer}
AGENTS = [("clinic", DecisionTreeClassifier(max_depth=1), [0, 1, 2, 3]), ("lab", GaussianNB(), [4, 5, 6, 7])]


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    with tarfile.open(KEPT) as archive:
        archive.extractall(folder, filter="data")
    return completed(folder)


def parties(folder: Path, classes: str) -> Parties:
    X, y = DATA[classes](return_X_y=True)
    held = {"lab": np.arange(len(X[::2])) % 5 != 0}
    return Parties(folder, AGENTS, X[::2], y[::2], {"n_rounds": 3, "method": "soft"}, held)


def test_what_is_kept_is_of_version_2(kept):
    versions = {path.read_bytes()[4] for path in kept.rglob("*.msg")}
    assert versions == {2}


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


def test_an_interrupted_run_of_two_classes_ends_as_it_would_have(kept):
    leader = parties(kept / "two" / "half", "two").leader()
    list(leader.train())
    expected = json.loads((kept / "contributions.json").read_text())["two"]
    ours = leader.folder.result()["contributions"]
    assert [c["agent"] for c in ours] == [c["agent"] for c in expected]
    np.testing.assert_allclose([c["model_weight"] for c in ours], [c["model_weight"] for c in expected], rtol=1e-12)


def test_an_interrupted_run_of_three_classes_is_refused_in_words(kept):
    with pytest.raises(RunError, match=r"was begun by an older release.*with 3 classes.*Start a new run"):
        list(parties(kept / "three" / "half", "three").leader().train())
