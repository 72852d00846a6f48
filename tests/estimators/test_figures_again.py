"""What an estimator says about itself is what its predictions show, figure by figure.

``ASSISTLEARN_FIGURES=300`` tries 300 configurations, and 30 of runs over messages.
"""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
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


class Fixed(ClassifierMixin, BaseEstimator):
    """Says what its columns say, whatever it is fitted to: so a copy that has not seen a row says the same."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize(("n_classes", "seed"), [(2, 0), (2, 2), (3, 1), (3, 5)])
def test_the_loss_of_a_round_is_that_of_the_votes_for_the_same_rows(n_classes, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, 300)
    X = np.hstack([rng.normal(size=(300, n_classes)) + np.eye(n_classes)[y] for _ in "ab"])
    weights = None if seed else rng.choice([1.0, 2.0], 300)
    agents = [("a", Fixed(), slice(0, n_classes)), ("b", Fixed(), slice(n_classes, 2 * n_classes))]
    how = {"reward": "out-of-fold", "models_per_turn": 1, "score_bits": 32, "calibrate": "none", "shrinkage": 1.0}
    clf = AssistedClassifier(agents, random_state=0, **how).fit(X, y, weights)
    added_up = AssistedClassifier(agents, random_state=0, combine="sum", n_rounds=1, **how).fit(X, y, weights)
    parts = [c.model_weight / d.model_weight for c, d in zip(clf.contributions_, added_up.contributions_, strict=True)]
    said = [factor * scores for factor, scores in zip(parts, added_up.agent_scores(X).values(), strict=True)]
    for way, total in (("sum", said[0] + said[1]), ("alone", said[0])):
        likely = softmax((n_classes - 1) / n_classes * total, axis=1)
        assert clf.combination_.losses[way] == pytest.approx(log_loss(y, likely, sample_weight=weights), abs=1e-6)
    assert clf.combination_.kind == "sum"
    assert clf.round_losses_[clf.n_rounds_ - 1] == clf.combination_.losses["sum"]
