"""Many trees that are joined answer exactly as they do one by one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.agent import agent
from assistlearn.core.ignorance import blocks
from assistlearn.learners import HistTreeClassifier, Model, Panel
from assistlearn.learners import model as panels
from tests.learners_hist.tables import real_numbers


def fitted(tree, X, y, n_models):
    table = tree.prepare(X, y)
    rng = np.random.RandomState(0)
    return [clone(tree).fit(table, y, sample_weight=rng.exponential(size=len(y)) ** 3) for _ in range(n_models)]


def one_by_one(models, X):
    return [model.predict(X) for model in models]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("depth", [1, 4, None])
def test_joined_trees_answer_exactly_as_they_do_one_by_one(n_classes, depth):
    X, y = real_numbers(3_000, n_classes)
    X[np.random.RandomState(1).rand(*X.shape) < 0.1] = np.nan
    models = fitted(HistTreeClassifier(max_depth=depth), X, y, 7)
    joint = models[0].join(models)
    assert np.array_equal(joint.predict(X), one_by_one(models, X))


@pytest.mark.parametrize("labels", [["no", "yes"], [-5, 7], [0, 300]])
def test_joined_trees_answer_with_any_labels(labels):
    X, y = real_numbers(500, 2)
    y = np.array(labels)[y]
    models = fitted(HistTreeClassifier(), X, y, 3)
    assert np.array_equal(models[0].join(models).predict(X), one_by_one(models, X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_joined_trees_know_categories(n_classes):
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"c": pd.Categorical(rng.choice(list("pqrstu"), 900)), "x": rng.normal(size=900)})
    y = (X["c"].isin(["p", "r", "u"]) ^ (X["x"] > 0.5)).to_numpy() + (n_classes - 2) * (X["x"] > 1.0).to_numpy()
    models = fitted(HistTreeClassifier(max_depth=3), X, y, 4)
    assert np.array_equal(models[0].join(models).predict(X), one_by_one(models, X))


def test_a_tree_that_found_nothing_to_split_can_be_joined():
    X, y = np.zeros((50, 2)), np.arange(50) % 2
    models = [HistTreeClassifier().fit(X, y, sample_weight=np.where(y == side, 2.0, 1.0)) for side in (0, 1)]
    assert models[0].join(models).predict(X[:1]).tolist() == [[0], [1]]


def test_trees_with_different_classes_or_one_class_only_are_not_joined():
    X, y = real_numbers(500, 3)
    models = [HistTreeClassifier().fit(X, y), HistTreeClassifier().fit(X[y > 0], y[y > 0])]
    assert models[0].join(models) is None
    sure = [HistTreeClassifier().fit(X, np.ones(500))] * 2
    assert sure[0].join(sure) is None


@pytest.mark.parametrize("learner", [HistTreeClassifier(max_depth=2), DecisionTreeClassifier(max_depth=2)])
@pytest.mark.parametrize("n_rows", [600, 150, 50])
def test_a_panel_answers_in_order_whatever_its_size(learner, n_rows, monkeypatch):
    monkeypatch.setattr(panels, "WORTHWHILE", 100)
    monkeypatch.setattr(panels, "MOST_ANSWERS", 3 * 600)
    X, y = real_numbers(600)
    rng = np.random.RandomState(0)
    models = [clone(learner).fit(X, y, sample_weight=rng.exponential(size=600) ** 3) for _ in range(8)]
    panel = Panel([Model(None, model) for model in models])
    for _ in range(2):  # joined, and joined already
        assert np.array_equal(list(panel.answers(X[:n_rows])), one_by_one(models, X[:n_rows]))


def test_a_panel_holds_few_answers_at_a_time(monkeypatch):
    monkeypatch.setattr(panels, "WORTHWHILE", 1)
    monkeypatch.setattr(panels, "MOST_ANSWERS", 2_000)
    X, y = real_numbers(1_000)
    sizes = []

    class Watched(HistTreeClassifier):
        def join(self, models):
            sizes.append(len(models))
            return super().join(models)

    list(Panel([Model(None, model) for model in fitted(Watched(), X, y, 7)]).answers(X))
    assert sizes == [2, 2, 2]


def test_a_run_votes_the_same_to_the_bit_together_in_blocks_or_one_by_one(monkeypatch):
    X, y = real_numbers(5_000)
    tree = HistTreeClassifier(max_depth=2)
    agents = [("one", tree, slice(0, 4)), ("two", tree, slice(4, 8))]
    clf = AssistedClassifier(agents, n_rounds=6, random_state=0, method="ascii").fit(X, y)
    together_ = clf.decision_function(X)
    staged = list(clf.staged_decision_function(X))[-1]
    monkeypatch.setattr(agent, "blocks", lambda n_rows: blocks(n_rows, size=777))
    in_blocks = clf.decision_function(X)
    monkeypatch.setattr(HistTreeClassifier, "join", lambda self, models: None)
    one_by_one_ = clf.decision_function(X)
    for other in (staged, in_blocks, one_by_one_):
        assert np.array_equal(together_, other)
