"""A pilot over messages: the same answer as in one process, nothing asked for nothing, and no gain for liars."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, assistance_gain
from assistlearn.agent.service import AgentService
from assistlearn.alignment import Ids
from assistlearn.errors import RunError
from assistlearn.evaluation.pilots import Worth
from assistlearn.evaluation.words import Terms
from assistlearn.events import SamplesOpened
from assistlearn.initiator.pilots import divided, pilot
from assistlearn.initiator.run import OwnTable
from assistlearn.protocol import decode
from assistlearn.protocol import messages as m
from tests.initiator.parties import Parties

TREE = DecisionTreeClassifier(max_depth=2)
SETTINGS = {"method": "soft", "reward": "auto", "combine": "learned", "n_rounds": 1, "models_per_turn": 2}


def parties(folder: Path, data: Any = load_breast_cancer, **more: Any) -> Parties:
    X, y = data(return_X_y=True)
    n = X.shape[1]
    parts = {"clinic": range(n // 3), "lab": range(n // 3, n - 3), "scans": range(n - 3, n)}
    agents = [(name, TREE, list(columns)) for name, columns in parts.items()]
    return Parties(folder, agents, X, y, SETTINGS | more, {})


def found(made: Parties, terms: Terms, transport: Any = None) -> Worth:
    led = made.leader(transport)
    for _ in pilot(led.run, terms):
        pass
    facts = led.folder.worth()
    assert facts is not None
    return Worth.from_dict(facts)


@pytest.mark.parametrize(
    ("data", "terms"),
    [
        (load_breast_cancer, Terms(at_least=0.01, each_helper=True)),
        (load_wine, Terms(loss="log", block=20, train_size=80)),
    ],
)
def test_it_finds_what_the_estimator_finds(tmp_path, data, terms):
    made = parties(tmp_path, data)
    clf = AssistedClassifier(made.agents, **SETTINGS, random_state=7)
    asked = {name: getattr(terms, name) for name in ("at_least", "alpha", "loss", "block", "train_size", "each_helper")}
    here = assistance_gain(clf, made.X, made.labels, random_state=7, **asked)
    there = found(made, terms)
    assert set(there.n_bytes) == {"lab", "scans"}
    assert min(there.n_bytes.values()) > 0
    assert replace(there, n_bytes=None) == here


class Overheard:
    """A transport to services that keeps what was asked, and may break off before the n-th request for votes."""

    def __init__(self, made: Parties, breaks: int = 0, anew: int = 0) -> None:
        self.made = made
        self.services = made.services()
        self.asked: list[tuple[str, Any]] = []
        self.breaks, self.anew = breaks, anew

    def ask(self, agent: str, request: bytes) -> bytes:
        message = decode(request)
        self.asked.append((agent, message))
        if isinstance(message, m.Predict):
            n_votes = len(self.votes)
            if n_votes == self.breaks:
                raise KeyboardInterrupt
            if n_votes == self.anew:
                self.services[agent] = AgentService(self.made.holdings(agent))
        return self.services[agent].answer(request)

    @property
    def votes(self) -> list[tuple[str, m.Predict]]:
        return [(agent, message) for agent, message in self.asked if isinstance(message, m.Predict)]


TERMS = Terms(block=40, at_least=0.08)  # out of the question, and yet not at once


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[Worth, Overheard]:
    transport = Overheard(made := parties(tmp_path_factory.mktemp("pilot")))
    return found(made, TERMS, transport), transport


def test_helpers_are_told_the_labels_to_train_on_and_asked_about_opened_samples_alone(undisturbed):
    worth, transport = undisturbed
    assert worth.answer == "no"
    assert worth.n_closed > 0
    begins = [message for _, message in transport.asked if isinstance(message, m.Begin)]
    assert [begin.n_samples for begin in begins] == [worth.n_training] * 2
    for name in ("lab", "scans"):
        own = [(message.start, message.stop) for agent, message in transport.votes if agent == name]
        assert own == [(start, start + 40) for start in range(0, worth.n_opened, 40)]


@pytest.mark.parametrize("vote", [2, 3])
def test_broken_off_it_goes_on_and_asks_nobody_twice_about_a_block(tmp_path, undisturbed, vote):
    worth, whole = undisturbed
    made = parties(tmp_path)
    first = Overheard(made, breaks=vote)
    with pytest.raises(KeyboardInterrupt):
        found(made, TERMS, first)
    second = Overheard(made)
    again = found(made, TERMS, second)
    assert replace(again, n_bytes=None) == replace(worth, n_bytes=None)
    answered = (vote - 1) // 2  # blocks that both helpers have voted on
    assert len(second.votes) == len(whole.votes) - 2 * answered
    assert not any(isinstance(message, m.TakeTurn) for _, message in second.asked)


def test_a_helper_that_starts_anew_votes_the_same(tmp_path, undisturbed):
    worth, _ = undisturbed
    again = found(made := parties(tmp_path), TERMS, Overheard(made, anew=2))
    assert replace(again, n_bytes=None) == replace(worth, n_bytes=None)


def test_every_block_is_told_and_nothing_of_the_initiator_alone_is_left_behind(tmp_path):
    made = parties(tmp_path)
    led = made.leader()
    opened = [event for event in pilot(led.run, TERMS) if isinstance(event, SamplesOpened)]
    worth = Worth.from_dict(led.folder.worth())
    assert [tuple(event.__dict__.values()) for event in opened] == [
        (look.n_opened, worth.n_opened + worth.n_closed, *look[1:]) for look in worth.together.path
    ]
    assert not (led.folder.path / "alone").exists()
    assert list(pilot(made.leader().run, TERMS)) == []  # it is finished


class Parrot(ClassifierMixin, BaseEstimator):
    """A liar: says of everybody whose label it was sent what the label is, as if it had found out."""

    told: dict[float, int] = {}  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        rng = np.random.default_rng(0)
        guessed = rng.integers(0, len(self.classes_), len(X))
        known = np.array([self.told.get(float(row), -1) for row in X[:, 0]])
        return np.eye(len(self.classes_))[np.where(known >= 0, known, guessed)] * 0.98 + 0.01

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_a_helper_that_says_the_labels_it_was_sent_gains_nothing(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([X[:, :10], np.arange(len(y))])
    made = Parties(tmp_path, [("clinic", TREE, list(range(10))), ("parrot", Parrot(), [10])], X, y, SETTINGS, {})
    training = np.random.RandomState([7, 5]).permutation(len(y))[: len(y) // 2]
    Parrot.told = {float(row): int(y[row]) for row in training}
    worth = found(made, Terms())
    assert worth.answer == "no"
    assert worth.loss_assisted > worth.loss_alone + 0.1
    assert worth.interval[1] < 0.0


def test_where_all_must_hold_a_sample_only_such_are_opened(tmp_path):
    made = parties(tmp_path, overlap="intersection")
    rng = np.random.default_rng(0)
    made.held = {name: rng.random(len(made.X)) < 0.8 for name in ("lab", "scans")}
    transport = Overheard(made)
    worth = found(made, Terms(at_least=0.9, block=1000), transport)
    order = np.random.RandomState([7, 5]).permutation(len(made.X))
    pool = order[len(made.X) // 2 :]
    assert worth.n_opened == np.count_nonzero(made.held["lab"][pool] & made.held["scans"][pool])


def test_the_order_of_opening_does_not_tell_of_the_order_of_the_table(tmp_path):
    """A table may be sorted by its labels, and helpers know the seed."""
    run = parties(tmp_path).leader().run
    order = np.argsort(run.table.labels, kind="stable")
    ids = Ids(run.holdings.ids.take(order), "sorted")
    by_label = replace(run, holdings=replace(run.holdings, ids=ids), table=OwnTable(run.table.labels[order]))
    first, second = (divided(each, Terms())[1] for each in (run, by_label))
    assert not np.array_equal(first, second)
    assert run.ids_at(first).take(np.arange(99)).equals(by_label.ids_at(second).take(np.arange(99)))


def test_where_labels_stay_with_the_initiator_helpers_are_asked_the_same_whatever_the_labels_are(tmp_path):
    settings = {"method": "label-private", "reward": "in-sample", "combine": "sum"}
    made = parties(tmp_path, **settings)
    transport = Overheard(made)
    worth = found(made, Terms(at_least=0.5, block=100), transport)
    assert worth.answer == "no"
    assert worth.together.path[0].upper < 0.5  # it was clear at once
    assert worth.n_closed == 0
    assert [(v.start, v.stop) for name, v in transport.votes if name == "lab"] == [(0, 100), (100, 200), (200, 285)]


def test_where_all_must_hold_a_sample_and_none_is_left_to_open_that_is_said(tmp_path):
    made = parties(tmp_path, overlap="intersection")
    order = np.random.RandomState([7, 5]).permutation(len(made.X))
    made.held = {"lab": np.isin(np.arange(len(made.X)), order[: len(made.X) // 2])}  # those to train on
    with pytest.raises(RunError, match="None of the 285 samples that may be opened is known to all helpers"):
        found(made, Terms())
