"""Weights of samples and of classes reach every agent, and give the estimator's run to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from assistlearn import AssistedClassifier
from assistlearn.alignment import Ids
from assistlearn.errors import SettingsError
from assistlearn.plan import Plan
from assistlearn.protocol import decode
from assistlearn.protocol.arrays import unpack_bits, unpack_numbers
from assistlearn.session.setup import Task, set_up
from tests.agent.recording import three_agents
from tests.papers_settings import PAPERS


def uneven(parties) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 4, len(parties.X)) / 3


@pytest.mark.parametrize(
    ("options", "weighted", "class_weight"),
    [
        ({}, True, None),
        ({"method": "soft"}, True, "balanced"),
        ({"method": "soft"}, False, "balanced"),
        ({"holdout": 0.3}, True, "balanced"),
        ({"holdout": 0.3}, True, None),
    ],
)
def test_weighted_runs_over_messages_are_those_of_the_estimator(tmp_path, options, weighted, class_weight):
    parties = three_agents(tmp_path, n_rounds=3, class_weight=class_weight, **options)
    parties.held.clear()
    parties.options["weights"] = weights = uneven(parties) if weighted else None
    leader = parties.leader()
    list(leader.train())
    clf = AssistedClassifier(
        parties.agents, n_rounds=3, random_state=7, class_weight=class_weight, **(PAPERS | options)
    )
    clf.fit(parties.X, parties.labels, sample_weight=weights)
    made = leader.folder.result()["contributions"]
    assert [c["model_weight"] for c in made] == [c.model_weight for c in clf.contributions_]
    unweighted = AssistedClassifier(parties.agents, n_rounds=3, random_state=7, **(PAPERS | options))
    unweighted.fit(parties.X, parties.labels)
    assert made[0]["model_weight"] != unweighted.contributions_[0].model_weight


def test_weights_of_two_for_all_are_no_weights_over_messages_either(tmp_path):
    results = []
    for weight in (None, 2.0, 0.3):
        parties = three_agents(tmp_path / str(weight), n_rounds=2)
        parties.held.clear()
        parties.options["weights"] = None if weight is None else np.full(len(parties.X), weight)
        leader = parties.leader()
        list(leader.train())
        results.append(leader.folder.result()["contributions"])
    assert results[0] == results[1] == results[2]


def test_classes_are_balanced_over_the_samples_to_train_on_and_others_are_told_no_weight(tmp_path):
    parties = three_agents(tmp_path, n_rounds=1, holdout=0.3, class_weight="balanced")
    list(parties.leader().train())
    begin = decode((tmp_path / "lab" / "runs" / "test-run" / "begin.msg").read_bytes())
    n = len(parties.labels)
    training = ~unpack_bits(begin.holdout, n)
    weights = unpack_numbers(begin.weights, training.sum())
    np.testing.assert_array_equal(weights, compute_sample_weight("balanced", parties.labels[training]))


def test_a_secret_order_of_the_codes_leaves_balanced_weights_the_same_to_the_bit():
    rng = np.random.default_rng(0)
    labels, weights, plan = rng.integers(0, 7, 500), rng.random(500), Plan(class_weight="balanced", holdout=0.2)
    plain, secret = (
        set_up(Task(plan, ["a"], labels, codes, 7, weights)) for codes in (labels, rng.permutation(7)[labels])
    )
    np.testing.assert_array_equal(plain.weights, secret.weights)
    assert not np.array_equal(plain.codes["a"], secret.codes["a"])


def test_a_run_whose_samples_all_have_no_weight_is_refused(tmp_path):
    parties = three_agents(tmp_path, n_rounds=1)
    parties.options["weights"] = np.zeros(len(parties.X))
    with pytest.raises(SettingsError, match=r"leaves \d+ samples to train on, and all of them have weight zero"):
        list(parties.leader().train())


# -- a helper does not hold a person about whom its row says nothing: an empty row is as no row


@pytest.mark.parametrize("alignment", ["hash", "psi"])
def test_in_training_and_in_prediction_as_in_the_estimator(tmp_path, alignment):
    """The helper's learner refuses gaps: it would say so, if an empty row reached it."""
    made = []
    for way in ("no row", "an empty row"):
        parties = three_agents(tmp_path / way, n_rounds=2, alignment=alignment)
        name, _, columns = parties.agents[1]
        empty = np.random.default_rng(5).random(len(parties.X)) < 0.3
        parties.held.clear()
        if way == "no row":
            parties.held[name] = ~empty
        else:
            parties.X[np.ix_(empty, columns)] = np.nan
        leader = parties.leader()
        list(leader.train())
        ids = Ids([f"p-{i:04d}" for i in range(len(parties.X))], "These people")
        prediction = leader.predict(ids, np.arange(len(ids)))
        assert (prediction.known[name] == ~empty).all()
        made.append((leader.folder.result()["contributions"], prediction.scores))
    assert made[0][0] == made[1][0]
    np.testing.assert_array_equal(made[0][1], made[1][1])
    options = PAPERS | {"n_rounds": 2, "missing_agent": "abstain", "random_state": 7}
    clf = AssistedClassifier(parties.agents, **options).fit(parties.X, parties.labels)
    np.testing.assert_array_equal(sum(clf.agent_scores(parties.X).values()), made[1][1])
