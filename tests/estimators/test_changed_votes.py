"""An estimator warns where an agent votes for new people otherwise than it did in training."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import assistlearn
from assistlearn import AssistedClassifier
from assistlearn.errors import AssistLearnWarning


def table(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 6)) + 0.9 * (2 * y[:, None] - 1), y


def fitted(**settings):
    agents = [(name, DecisionTreeClassifier(max_depth=3), [2 * i, 2 * i + 1]) for i, name in enumerate("abc")]
    settings = {"models_per_turn": 2, "n_rounds": 2, "random_state": 0} | settings
    return AssistedClassifier(agents, **settings).fit(*table(400, 0))


def turned(X, columns=(2, 3)):
    """A table in which an agent's columns have changed their sign, so that its votes turn around."""
    X = X.copy()
    X[:, columns] *= -1
    return X


@pytest.mark.parametrize(
    "settings", [{}, {"combine": "sum", "reward": "out-of-fold"}, {"method": "ascii", "holdout": 0.3, "n_rounds": 3}]
)
def test_who_turns_around_is_named_with_the_way_to_predict_without_it(settings):
    clf = fitted(**settings)
    X, _ = table(300, 1)
    for ask in (clf.predict, clf.predict_proba, clf.decision_function):
        with pytest.warns(
            AssistLearnWarning, match=r"^b votes otherwise for 300 new people.*subset\(\['a', 'c'\]\)"
        ) as said:
            ask(turned(X))
        assert said[0].filename == __file__
    clf.subset(["a", "c"]).predict(turned(X))  # a warning would be an error


def test_nothing_is_said_of_honest_agents_nor_of_the_training_samples(tmp_path):
    clf = fitted()
    clf.predict(table(300, 1)[0])
    clf.predict(table(400, 0)[0])


def test_a_saved_model_remembers(tmp_path):
    assistlearn.save(fitted(), tmp_path / "model.skops")
    clf = assistlearn.load(tmp_path / "model.skops")
    with pytest.warns(AssistLearnWarning, match="^b votes otherwise"):
        clf.predict(turned(table(300, 1)[0]))


def test_where_nothing_honest_was_heard_in_training_nothing_is_said():
    clf = fitted(method="ascii")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict(turned(table(300, 1)[0]))
