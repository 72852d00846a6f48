"""The method on one page says what the product does, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.types import Floats
from paper.nano import Agent, exchange, train_ascii, votes_of

TREE, BAYES, LOGISTIC = DecisionTreeClassifier(max_depth=3), GaussianNB(), LogisticRegression(max_iter=500)
TABLES = {
    "breast cancer": (load_breast_cancer, (slice(0, 10), slice(10, 20), slice(20, 30))),
    "wine": (load_wine, (slice(0, 4), slice(4, 9), slice(9, 13))),
    "digits": (load_digits, (slice(0, 32), slice(32, 64))),
}


class Table:
    """A table cut into the columns of its agents, one half to train on and one to ask about."""

    def __init__(self, load: Callable[..., Any], cuts: tuple[slice, ...], learners: list[Any]) -> None:
        X, labels = load(return_X_y=True)
        self.X, self.labels = scale(X)[:600], labels[:600]
        self.cuts, self.learners = cuts, learners
        self.n_classes = int(self.labels.max()) + 1
        self.train, self.test = slice(0, None, 2), slice(1, None, 2)

    def nano(self) -> list[Agent]:
        return [
            Agent(learner, self.X[self.train][:, cut]) for learner, cut in zip(self.learners, self.cuts, strict=True)
        ]

    def product(self, seed: int, **settings: Any) -> AssistedClassifier:
        agents = [(f"agent {n}", *each) for n, each in enumerate(zip(self.learners, self.cuts, strict=True))]
        clf = AssistedClassifier(agents, random_state=seed, **settings)
        return clf.fit(self.X[self.train], self.labels[self.train])

    @property
    def codes(self) -> Any:
        return self.labels[self.train].astype(np.intp)

    @property
    def asked(self) -> list[Floats]:
        return [self.X[self.test][:, cut] for cut in self.cuts]


def assert_same(clf: AssistedClassifier, table: Table, agents: list[Agent], parts: list[Floats]) -> None:
    """Compare the kept models' weights and the agents' votes to the last bit."""
    kept = {f"agent {n}": [weight for weight, _ in agent.models] for n, agent in enumerate(agents)}
    for name, weights in kept.items():
        assert [made.model_weight for made in clf.contributions_ if made.agent == name] == weights
    asked = table.X[table.test]
    for part, theirs in zip(parts, clf.agent_scores(asked).values(), strict=True):
        assert part.tobytes() == theirs.tobytes()
    total = sum(parts, np.zeros_like(parts[0]))
    decision = clf.decision_function(asked)
    assert (total if decision.ndim == 2 else total[:, 1]).tobytes() == decision.tobytes()
    assert clf.predict(asked).tolist() == total.argmax(axis=1).tolist()


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("method", "order"), [("ascii", "chain"), ("simple", "chain"), ("ascii", "random")])
def test_rules_of_the_paper(name, method, order):
    load, cuts = TABLES[name]
    table = Table(load, cuts, [TREE] * len(cuts))
    clf = table.product(7, method=method, order=order, n_rounds=6)
    agents = table.nano()
    ignorance = train_ascii(agents, table.codes, 6, 7, method == "simple", order == "random")
    assert ignorance.tobytes() == clf.ignorance_.tobytes()
    assert_same(clf, table, agents, votes_of(agents, table.asked, table.n_classes))


@pytest.mark.parametrize(
    ("name", "learners", "seed"),
    [
        ("breast cancer", [LOGISTIC, TREE, BAYES], 0),
        ("breast cancer", [BAYES, LOGISTIC, LOGISTIC], 7),
        ("wine", [BAYES, BAYES, TREE], 0),
        ("wine", [LOGISTIC, TREE, DecisionTreeClassifier(max_features=1)], 7),
        ("digits", [LOGISTIC, LOGISTIC], 0),
    ],
)
def test_honest_exchange(name, learners, seed):
    table = Table(*TABLES[name], learners)
    clf = table.product(seed, combine="learned", models_per_turn=1, n_rounds=1)
    assert clf.combination_ is not None
    assert clf.combination_.kind == "linear", "trees were better here, and the page has none: choose another table"
    agents = table.nano()
    learned = exchange(agents, table.codes, seed)
    assert_same(clf, table, agents, votes_of(agents, table.asked, table.n_classes, learned))


def test_agents_that_are_always_right_end_the_training():
    table = Table(*TABLES["wine"], [DecisionTreeClassifier()] * 3)
    clf = table.product(0, method="ascii")
    agents = table.nano()
    train_ascii(agents, table.codes, 20, 0, simple=False, random=False)
    assert [len(agent.models) for agent in agents] == [1, 1, 1]
    assert_same(clf, table, agents, votes_of(agents, table.asked, table.n_classes))


def test_an_agent_that_is_no_better_than_chance_sits_out():
    smaller = DummyClassifier(strategy="constant", constant=0)  # always answers the smaller class
    table = Table(*TABLES["breast cancer"], [smaller, TREE, TREE])
    agents, clf = table.nano(), table.product(0, method="simple", n_rounds=1)
    train_ascii(agents, table.codes, 1, 0, simple=True, random=False)
    assert agents[0].models == []
    assert_same(clf, table, agents, votes_of(agents, table.asked, table.n_classes))


def test_an_agent_that_says_nothing_has_no_part_in_the_combination():
    table = Table(*TABLES["breast cancer"], [LOGISTIC, DummyClassifier(strategy="uniform"), BAYES])
    agents, clf = table.nano(), table.product(0, combine="learned", models_per_turn=1, n_rounds=1)
    learned = exchange(agents, table.codes, 0)
    assert agents[1].models == []
    assert_same(clf, table, agents, votes_of(agents, table.asked, table.n_classes, learned))
