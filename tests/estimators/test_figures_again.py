"""What an estimator says about itself is what its predictions show, figure by figure.

``ASSISTLEARN_FIGURES=300`` tries 300 configurations, and 30 of runs over messages.
"""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import LearnerError
from tests.estimators.figures_again import check

CONFIGURATIONS = int(os.environ.get("ASSISTLEARN_FIGURES", 8))


@pytest.mark.parametrize("seed", range(CONFIGURATIONS))
def test_every_figure_is_that_of_the_predictions_for_the_same_rows(seed):
    with suppress(LearnerError):  # naive Bayes on samples of weight zero alone has no probabilities
        assert check(seed).wrong == []


def rare(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two columns of noise and two that help, and a class of 13 % and one of 87 %; the rare one comes first."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) > 0.13).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, 2:] += y[:, None]
    return X, y


@pytest.mark.parametrize("settings", [{}, {"combine": "sum"}])
@pytest.mark.filterwarnings("ignore:No model was kept")
def test_an_initiator_that_has_learned_nothing_answers_the_most_frequent_class_in_the_report_too(settings):
    X, y = rare()
    stump = DecisionTreeClassifier(max_depth=1)
    agents = [("noise", stump, [0, 1]), ("lab", LogisticRegression(), [2, 3])]
    how = {"class_weight": "balanced", "holdout": 0.3, "random_state": 0, "weak_agent": "skip"} | settings
    clf = AssistedClassifier(agents, **how).fit(X, y)
    aside = np.flatnonzero(clf.ignorance_ == 0.0)
    alone = clf.alone("noise").fit(X, y)
    assert clf.report_.alone["accuracy"] == pytest.approx(np.mean(alone.predict(X[aside]) == y[aside]))


def test_people_whom_nobody_holds_are_judged_by_what_is_predicted_for_them():
    X, y = rare()
    X[:, :2] += 2.0 * y[:, None]
    gone = np.random.default_rng(1).random((len(y), 2)) < 0.6
    X[gone[:, 0], :2] = np.nan
    X[gone[:, 1], 2:] = np.nan
    agents = [("clinic", DecisionTreeClassifier(max_depth=2), [0, 1]), ("lab", GaussianNB(), [2, 3])]
    how = {"method": "ascii", "n_rounds": 3, "missing_agent": "abstain", "holdout": 0.3, "random_state": 0}
    clf = AssistedClassifier(agents, **how).fit(X, y)
    aside = np.flatnonzero(clf.ignorance_ == 0.0)
    helped, unhelped = (np.mean(each.predict(X[aside]) == y[aside]) for each in (clf, clf.subset("clinic")))
    assert clf.report_.assisted["accuracy"] == pytest.approx(helped)
    assert clf.report_.shares.accuracy.value == pytest.approx(helped - unhelped)
