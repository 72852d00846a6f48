"""Would their columns help? A pilot in one process."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, assistance_gain
from assistlearn.errors import SettingsError

pytestmark = pytest.mark.filterwarnings("ignore:No agent knows")

TREE = DecisionTreeClassifier(max_depth=2)
SETTINGS = {
    "method": "soft",
    "reward": "auto",
    "combine": "learned",
    "models_per_turn": 2,
    "n_rounds": 1,
    "random_state": 0,
}


def problem(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two columns that tell a little, two that tell a lot, two of noise; and what they tell of."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = np.where(X @ [0.5, 0.5, 2.0, 2.0, 0.0, 0.0] + rng.normal(size=n) > 0, "yes", "no")
    return X, y


def classifier(*helpers: tuple[str, slice], **settings) -> AssistedClassifier:
    agents = [("clinic", TREE, slice(0, 2)), *((name, TREE, columns) for name, columns in helpers)]
    return AssistedClassifier(agents, **(SETTINGS | settings))


LAB, NOISE = ("lab", slice(2, 4)), ("noise", slice(4, 6))


@pytest.mark.parametrize("loss", ["zero-one", "log"])
def test_a_helper_that_knows_more_is_worth_it_and_soon(loss):
    X, y = problem()
    worth = assistance_gain(classifier(LAB), X, y, at_least=0.02, loss=loss, random_state=0)
    assert worth.answer == "yes"
    assert worth.interval[0] > 0.02
    assert worth.n_opened < 300
    assert worth.n_opened % 50 == 0
    assert worth.n_training + worth.n_opened + worth.n_closed == len(y)
    assert worth.loss_assisted < worth.loss_alone


@pytest.mark.parametrize(("metric", "loss"), [("accuracy", "zero-one"), ("roc_auc", "log"), ("log_loss", "log")])
def test_a_pilot_asks_by_the_loss_that_suits_the_metric(metric, loss):
    X, y = problem(400)
    worth = assistance_gain(classifier(LAB, metric=metric), X, y, random_state=0)
    assert worth.terms.loss == loss
    assert worth == assistance_gain(classifier(LAB, metric=metric), X, y, random_state=0, loss=loss)


def test_a_helper_whose_rows_are_permuted_is_not():
    X, y = problem()
    X[:, 2:4] = np.random.default_rng(1).permutation(X[:, 2:4])
    worth = assistance_gain(classifier(LAB), X, y, at_least=0.1, random_state=0)
    assert worth.answer == "no"
    assert worth.interval[1] < 0.1


def test_each_helper_is_judged_by_itself_beside_the_initiator():
    X, y = problem(900)
    worth = assistance_gain(classifier(LAB, NOISE), X, y, at_least=0.1, each_helper=True, random_state=0)
    assert worth.answer == "yes"
    assert {name: gain.answer for name, gain in worth.helpers.items()} == {"lab": "yes", "noise": "no"}
    assert worth.helpers["noise"].upper < 0.1 < worth.helpers["lab"].lower


def test_what_stays_closed_is_not_looked_at():
    X, y = problem()
    first = assistance_gain(classifier(LAB), X, y, random_state=0)
    order = np.random.RandomState([0, 5]).permutation(len(y))
    closed = order[first.n_training + first.n_opened :]
    assert len(closed) == first.n_closed > 50
    y[closed], X[closed] = np.where(y[closed] == "yes", "no", "yes"), 0.0
    assert assistance_gain(classifier(LAB), X, y, random_state=0) == first


def test_the_same_seed_gives_the_same_answer_and_the_classifier_stays_as_it_was():
    X, y = problem(300)
    clf = classifier(LAB)
    before = clone(clf)
    first, second = (assistance_gain(clf, X, y, random_state=4) for _ in range(2))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    assert first == second == assistance_gain(clf, frame, y, random_state=4)
    assert not hasattr(clf, "classes_")
    assert repr(clf) == repr(before)


def test_the_gain_is_that_of_the_fitted_models_on_the_opened_samples():
    X, y = problem(300)
    clf = classifier(LAB, method="ascii", reward="in-sample", combine="sum", n_rounds=3)
    worth = assistance_gain(clf, X, y, train_size=200, at_least=0.9, block=1000, random_state=2)
    order = np.random.RandomState([2, 5]).permutation(300)
    training, opened = np.sort(order[:200]), order[200:]
    alone = clf.alone("clinic").set_params(n_rounds=6).fit(X[training], y[training])  # as many turns as both have
    both = clone(clf).fit(X[training], y[training])
    expected = both.score(X[opened], y[opened]) - alone.score(X[opened], y[opened])
    np.testing.assert_allclose(worth.together.estimate, expected)
    np.testing.assert_allclose(1 - worth.loss_alone, alone.score(X[opened], y[opened]))
    assert worth.n_opened == 100


def test_without_a_helper_there_is_nothing_to_ask():
    X, y = problem(100)
    with pytest.raises(SettingsError, match="nobody to help"):
        assistance_gain(classifier(), X, y)


def test_labels_that_do_not_fit_the_table_are_refused():
    X, y = problem(100)
    with pytest.raises(SettingsError, match="100 rows, but y has 99"):
        assistance_gain(classifier(LAB), X, y[:-1])
