"""The estimator against the whole training loop of the paper, written out in linear space with label codes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from tests.core import paper
from tests.estimators.data import birds, pair
from tests.learners.classifiers import Opposite

TREE, STUMP, BAYES = DecisionTreeClassifier(max_depth=2), DecisionTreeClassifier(max_depth=1), GaussianNB()

AGENTS = {
    "two trees": [("a", TREE, slice(0, 3)), ("b", TREE, slice(3, 6))],
    "tree and naive Bayes": [("a", STUMP, [0, 4]), ("b", BAYES, [1, 2, 3, 5])],
    "three, overlapping": [("a", BAYES, [0, 1]), ("b", TREE, [1, 2, 3]), ("c", STUMP, [3, 4, 5])],
    "four": [("a", STUMP, [0]), ("b", BAYES, [1, 2]), ("c", TREE, [3]), ("d", BAYES, [4, 5])],
}


def by_the_paper(agents, X, codes, rounds, *, simple: bool, start=None):
    """Train as the paper does; return its run and the scores of every row."""
    tables = {name: X[:, columns] for name, _, columns in agents}
    learners = {name: learner for name, learner, _ in agents}

    def fit(agent: str, number: int, w: np.ndarray):
        model = clone(learners[agent]).fit(tables[agent], codes, sample_weight=w)
        return model, model.predict(tables[agent])

    run = paper.train(codes, codes.max() + 1, rounds, fit, simple=simple, start=start)
    return run, run.scores(lambda agent, model: model.predict(tables[agent]), len(X))


def assert_same(clf: AssistedClassifier, run: paper.Run, scores: np.ndarray, X: np.ndarray) -> None:
    assert [(c.round, c.agent) for c in clf.contributions_] == [kept[:2] for kept in run.kept]
    np.testing.assert_allclose(
        [c.model_weight for c in clf.contributions_], [kept[2] for kept in run.kept], rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(clf.ignorance_, run.ignorance, rtol=1e-9, atol=1e-10)
    rounded = 2.0**-15 * sum(c.model_weight for c in clf.contributions_)  # helpers tell their votes in 16 bits
    np.testing.assert_allclose(sum(clf.agent_scores(X).values()), scores, rtol=0.0, atol=rounded)
    assert np.array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("method", ["ascii", "simple"])
@pytest.mark.parametrize("data", [birds, pair])
@pytest.mark.parametrize("agents", AGENTS.values(), ids=AGENTS)
def test_it_is_the_papers_loop(agents, data, method: str):
    X, y = data()
    clf = AssistedClassifier(agents, method=method, n_rounds=6, random_state=0).fit(X, y)
    names = [name for name, _, _ in agents]
    run, scores = by_the_paper(agents, X, np.unique(y, return_inverse=True)[1], [names] * 6, simple=method == "simple")
    assert len(run.kept) > 2 * len(names)  # the case is worth something
    assert_same(clf, run, scores, X)


def test_it_is_the_papers_loop_with_initial_weights():
    X, y = birds()
    weight = np.random.RandomState(0).rand(len(y))
    agents = AGENTS["three, overlapping"]
    clf = AssistedClassifier(agents, n_rounds=5, random_state=0, method="ascii").fit(X, y, sample_weight=weight)
    run, scores = by_the_paper(
        agents, X, np.unique(y, return_inverse=True)[1], [["a", "b", "c"]] * 5, simple=False, start=weight
    )
    assert_same(clf, run, scores, X)


@pytest.mark.parametrize("method", ["ascii", "simple"])
def test_a_random_order_is_the_papers_loop_in_that_order(method: str):
    X, y = birds()
    agents = AGENTS["four"]
    clf = AssistedClassifier(agents, method=method, order="random", n_rounds=5, random_state=1).fit(X, y)
    rounds = [[c.agent for c in clf.contributions_ if c.round == number] for number in range(1, 6)]
    assert len({tuple(names) for names in rounds}) > 1  # some order differs
    run, scores = by_the_paper(agents, X, np.unique(y, return_inverse=True)[1], rounds, simple=method == "simple")
    assert_same(clf, run, scores, X)


def test_an_agent_that_sits_out_changes_nothing_for_the_others():
    X, y = birds()
    codes = np.unique(y, return_inverse=True)[1]
    table = np.c_[X, codes]
    first, second = AGENTS["two trees"]
    clf = AssistedClassifier(
        [first, ("idle", Opposite(), [6]), second], n_rounds=4, random_state=0, method="ascii"
    ).fit(table, y)
    run, scores = by_the_paper([first, second], X, codes, [["a", "b"]] * 4, simple=False)
    assert_same(clf, run, scores, table)
    assert not clf.agent_scores(table)["idle"].any()
