"""The paper's two baselines, as unfitted estimators with the same settings: Single and Oracle."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError
from tests.estimators.data import birds
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)


def three(**options) -> AssistedClassifier:
    agents = [("a", TREE, [0, 1]), ("b", GaussianNB(), [1, 2]), ("c", TREE, [5])]
    return AssistedClassifier(agents, n_rounds=6, random_state=0, **(PAPERS | options))


def test_alone_is_the_agent_boosting_on_its_own_columns():
    X, y = birds()
    single = three(method="simple", order="random").alone("a")
    assert not hasattr(single, "classes_")
    assert single.method == "simple"
    assert single.n_rounds == 6
    theirs = AdaBoostClassifier(TREE, n_estimators=6, random_state=0).fit(X[:, :2], y)
    assert np.array_equal(single.fit(X, y).predict(X), theirs.predict(X[:, :2]))


def test_pooled_is_the_initiators_learner_boosting_on_everybodys_columns():
    X, y = birds()
    oracle = three().pooled().fit(X, y)
    assert oracle.columns_["pooled"].tolist() == [0, 1, 2, 5]
    theirs = AdaBoostClassifier(TREE, n_estimators=6, random_state=0).fit(X[:, [0, 1, 2, 5]], y)
    assert np.array_equal(oracle.predict(X), theirs.predict(X[:, [0, 1, 2, 5]]))


def test_pooled_takes_another_learner():
    X, y = birds()
    oracle = three().pooled(GaussianNB()).fit(X, y)
    assert isinstance(oracle.agents[0][1], GaussianNB)


def test_pooled_understands_names_masks_and_callables():
    X, y = birds()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    agents = [("x", TREE, ["f", "a"]), ("y", TREE, lambda X: X.columns[3:5]), ("z", TREE, [True] + [False] * 5)]
    oracle = AssistedClassifier(agents, n_rounds=1, method="ascii").pooled().fit(frame, y)
    assert oracle.columns_["pooled"].tolist() == [0, 3, 4, 5]


def test_other_settings_are_passed_on():
    clf = three(weak_agent="stop", holdout=0.3, patience=7, verbose=False)
    for baseline in (clf.alone("b"), clf.pooled()):
        for name in ("weak_agent", "holdout", "patience", "n_rounds", "random_state"):
            assert getattr(baseline, name) == getattr(clf, name)


def test_the_baselines_of_an_order_of_the_users_own_can_be_fitted():
    X, y = birds()

    def backwards(round, agents, rng):
        return ["c", "b", "a"]

    clf = three(order=backwards)
    assert clf.alone("a").fit(X, y).score(X, y) > 0.3
    assert clf.pooled().fit(X, y).score(X, y) > 0.3


def test_help_is_worth_having():
    """On held-out rows assistance lies above each agent alone; the oracle sees every column at once."""
    X, y = birds()
    agents = [("a", TREE, [0, 1]), ("b", TREE, [2, 3]), ("c", TREE, [4, 5])]
    clf = AssistedClassifier(agents, n_rounds=20, random_state=0, method="ascii")
    train, test = slice(0, 300), slice(300, None)
    assisted = clf.fit(X[train], y[train]).score(X[test], y[test])
    alone = [clf.alone(name).fit(X[train], y[train]).score(X[test], y[test]) for name in "abc"]
    assert assisted > max(alone) + 0.05


def test_an_unknown_agent_is_refused_with_those_that_are_known():
    with pytest.raises(SettingsError, match=r"no agent 'd'.*\['a', 'b', 'c'\]"):
        three().alone("d")


def test_the_default_estimator_has_baselines_too():
    X, y = birds()
    default = AssistedClassifier(n_rounds=3, random_state=0, method="ascii")
    assert np.array_equal(default.fit(X, y).predict(X), default.alone("agent").fit(X, y).predict(X))
    assert np.array_equal(default.predict(X), default.pooled().fit(X, y).predict(X))
