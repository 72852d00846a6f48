"""The boosted ensemble is XGBoost's."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from assistlearn.errors import SettingsError
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier
from tests.learners_hist.tables import real_numbers


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_answers_what_xgboosts_own_classifier_answers(n_classes):
    X, y = real_numbers(n_classes=n_classes)
    weight = np.random.RandomState(0).exponential(size=len(y))
    ours = HistBoostClassifier(12, max_depth=3, learning_rate=0.2, max_bin=64, reg_lambda=0.5)
    theirs = XGBClassifier(
        n_estimators=12, max_depth=3, learning_rate=0.2, max_bin=64, reg_lambda=0.5, tree_method="hist"
    )
    ours.fit(X, y, sample_weight=weight)
    theirs.fit(X, y, sample_weight=np.ones(len(y)))
    assert not np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)  # the weights do matter
    ours.fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_it_has_as_many_trees_as_asked_for():
    X, y = real_numbers()
    assert HistBoostClassifier(7).fit(X, np.minimum(y, 1)).n_trees_ == 7
    assert HistBoostClassifier(7).fit(X, y).n_trees_ == 21


def test_it_is_stronger_than_one_tree():
    X, y = real_numbers(6_000)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    boosted, tree = (
        classifier.fit(X_train, y_train).score(X_test, y_test)
        for classifier in (HistBoostClassifier(), HistTreeClassifier())
    )
    assert boosted > tree + 0.05


@pytest.mark.parametrize(
    "setting", [{"n_estimators": 0}, {"learning_rate": 0.0}, {"reg_lambda": -1.0}, {"min_child_weight": -1}]
)
def test_a_setting_that_cannot_be_is_refused(setting):
    ((name, value),) = setting.items()
    with pytest.raises(SettingsError, match=f"{name}={value} must lie between"):
        HistBoostClassifier(**setting).fit([[0.0], [1.0]], [0, 1])
