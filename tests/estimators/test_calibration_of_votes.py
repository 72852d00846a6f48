"""Probabilities of a fitted model are calibrated where something honest says how; classes and scores stay."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.evaluation.calibration import HOLDOUT, OUT_OF_FOLD
from tests.papers_settings import PAPERS


def fitted(data, seed=0, **settings):
    X, y = data(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    tree, half = DecisionTreeClassifier(max_depth=3), X.shape[1] // 3
    agents = [("a", tree, slice(0, half)), ("b", tree, slice(half, None))]
    clf = AssistedClassifier(agents, **(PAPERS | {"n_rounds": 10, "random_state": seed} | settings))
    return clf.fit(X_train, y_train), X_test, y_test


def test_the_papers_votes_give_probabilities_one_can_use():
    """Breast cancer, trees of depth three: the formula's log loss is 1 and more."""
    losses = {None: [], "auto": []}
    for seed in range(5):
        for calibrate, found in losses.items():
            clf, X, y = fitted(load_breast_cancer, seed, holdout=0.2, calibrate=calibrate)
            found.append(log_loss(y, clf.predict_proba(X)))
    assert np.mean(losses[None]) > 0.5
    assert np.mean(losses["auto"]) < 0.25


@pytest.mark.parametrize(
    "settings",
    [
        {"holdout": 0.2},
        {"holdout": 0.2, "method": "ensemble"},
        {"holdout": 0.2, "method": "soft", "reward": "auto"},
        {"method": "soft", "reward": "out-of-fold"},
    ],
    ids=["ascii", "ensemble", "soft", "out-of-fold"],
)
def test_classes_and_scores_are_those_of_the_same_model_without(settings):
    clf, X, y = fitted(load_digits, n_rounds=3, **settings)
    plain, _, _ = fitted(load_digits, n_rounds=3, calibrate=None, **settings)
    said = clf.predict_proba(X)
    assert plain.calibration_ is None
    assert clf.calibration_.fitted_to == (HOLDOUT if "holdout" in settings else OUT_OF_FOLD)
    np.testing.assert_array_equal(clf.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(clf.predict(X), plain.predict(X))
    np.testing.assert_array_equal(clf.classes_[said.argmax(axis=1)], clf.predict(X))
    assert log_loss(y, said) < log_loss(y, plain.predict_proba(X))


def test_without_unseen_samples_or_with_a_learned_combination_nothing_is_calibrated():
    for settings in ({}, {"holdout": 0.2, "method": "soft", "reward": "auto", "combine": "learned"}):
        clf, X, _ = fitted(load_breast_cancer, n_rounds=2, **settings)
        plain, _, _ = fitted(load_breast_cancer, n_rounds=2, calibrate=None, **settings)
        assert clf.calibration_ is None
        np.testing.assert_array_equal(clf.predict_proba(X), plain.predict_proba(X))


def test_stages_end_at_the_calibrated_probabilities_and_subsets_keep_the_calibration():
    clf, X, _ = fitted(load_digits, holdout=0.2, n_rounds=3)
    *_, last = clf.staged_predict_proba(X)
    np.testing.assert_array_equal(last, clf.predict_proba(X))
    part = clf.subset(["a"])
    assert part.calibration_ == clf.calibration_
    np.testing.assert_array_equal(part.classes_[part.predict_proba(X).argmax(axis=1)], part.predict(X))
    assert clone(clf.alone("a")).calibrate == "auto"


def test_shares_are_those_of_calibrated_losses():
    clf, X, y = fitted(load_digits, holdout=0.2, n_rounds=3)
    gain = log_loss(y, clf.subset(["a"]).predict_proba(X)) - log_loss(y, clf.predict_proba(X))
    assert clf.shares(X, y).loss.value == pytest.approx(gain, abs=1e-11)
