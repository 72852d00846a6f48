"""Predictions that are joined are each what they would have been alone, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.file import Allowance
from assistlearn.alignment import Ids
from assistlearn.errors import RefusedError
from assistlearn.initiator.prediction import (
    asked_agents,
    looked_up,
    predict,
    result_of,
    votes_of_ours,
    votes_on_each,
)
from assistlearn.protocol.ledger import counted
from tests.initiator.parties import Parties

N = 60
HELPERS = ("lab", "scans")
several = st.lists(st.lists(st.integers(0, N + 5), min_size=1, max_size=6, unique=True), min_size=1, max_size=5)


def parties(folder, **options):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 6))
    labels = (X @ [1, 2, 1, 2, 1, 2] + rng.normal(size=N) > 0).astype(int)
    linear, tree = LogisticRegression(), DecisionTreeClassifier(max_depth=2)
    agents = [("clinic", linear, [0, 1]), ("lab", linear, [2, 3]), ("scans", tree, [4, 5])]
    return Parties(folder, agents, X, labels, options, {"lab": rng.random(N) < 0.8})


def led(folder, **options):
    made = parties(folder, **options).leader()
    list(made.train())
    return made


@pytest.fixture(
    scope="module",
    params=[
        {"alignment": "psi"},
        {"method": "soft", "reward": "out-of-fold", "combine": "learned"},
        {"method": "label-private"},
    ],
)
def run(request, tmp_path_factory):
    return led(tmp_path_factory.mktemp("joint"), **request.param).run


def samples(rows):
    """The ids of some rows; those beyond the table are nobody's."""
    ids = Ids([f"p-{row:04d}" for row in rows], "Agent 'clinic'")
    return ids, np.array([row if row < N else -1 for row in rows])


def jointly(run, asked):
    """Predict several at once."""
    pairs = [samples(rows) for rows in asked]
    said = {name: votes_on_each(run, name, [ids for ids, _ in pairs]) for name in HELPERS}
    for place, (ids, rows) in enumerate(pairs):
        votes = {name: outcomes[place] for name, outcomes in said.items()}
        yield predict(run, ids, rows, looked_up(votes, lambda ids=ids, rows=rows: votes_of_ours(run, ids, rows)))


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=several)
def test_what_is_joined_is_decided_as_if_it_were_alone(run, asked):
    assert asked_agents(run, result_of(run)) == ["clinic", *HELPERS]
    for rows, joint in zip(asked, jointly(run, asked), strict=True):
        alone = predict(run, *samples(rows))
        assert joint.probabilities.tolist() == alone.probabilities.tolist()
        assert joint.scores.tolist() == alone.scores.tolist()
        assert joint.labels == alone.labels
        assert joint.absent == alone.absent == {}
        assert {name: held.tolist() for name, held in joint.known.items()} == {
            name: held.tolist() for name, held in alone.known.items()
        }


def test_ids_that_several_ask_about_are_asked_for_once(run):
    before = counted(run.folder.path.parent / "scans" / "ledger.jsonl").of("clinic").units.get("ids", 0)
    list(jointly(run, [[0, 1, 2], [2, 1], [2]]))
    after = counted(run.folder.path.parent / "scans" / "ledger.jsonl").of("clinic").units.get("ids", 0)
    assert after - before in (0, 3)  # where no owner sets limits, nothing is counted


def test_what_is_refused_together_is_asked_for_alone(tmp_path):
    """The owner allows three samples at once: five in two requests are too many, each by itself is not."""
    allowance = Allowance(("clinic",), max_samples=60, min_people="none")
    trained = led(tmp_path, allowances={"lab": allowance})
    strict = (
        parties(tmp_path, allowances={"lab": Allowance(("clinic",), max_samples=3, min_people="none")}).leader().run
    )
    said = votes_on_each(strict, "lab", [samples(rows)[0] for rows in ([0, 1], [2, 3, 4], [5, 6, 7, 8])])
    assert trained.folder.result() is not None
    assert [callable(each) for each in said] == [True, True, False]
    assert isinstance(said[2], RefusedError)
    assert "max_samples" in str(said[2])
