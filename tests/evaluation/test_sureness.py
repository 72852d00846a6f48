"""How sure the winner is, put right: against odds that are known, and where a factor per class is not enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.evaluation.calibration import (
    UNCHANGED,
    fit_calibration,
    fit_sureness,
    odds_and_lead,
)
from bench.calibration.measure import expected_calibration_error


def behind_winners(n, n_classes, seed):
    exponents = np.random.default_rng(seed).normal(0.0, 2.0, (n, n_classes))
    return exponents - exponents.max(axis=1, keepdims=True)


def test_odds_and_lead_are_those_of_the_probabilities():
    behind = behind_winners(50, 5, 0)
    said = np.sort(np.exp(behind) / np.exp(behind).sum(axis=1, keepdims=True), axis=1)
    odds, lead = odds_and_lead(behind)
    assert odds == pytest.approx(np.log(said[:, -1] / (1.0 - said[:, -1])))
    assert lead == pytest.approx(np.log(said[:, -1] / said[:, -2]))


@pytest.mark.parametrize("truth", [(0.8, 0.0, 0.0), (0.0, -0.5, 0.0), (-0.3, 0.2, 0.4)])
def test_a_known_correction_is_found_again(truth):
    behind = behind_winners(20_000, 4, 1)
    odds, lead = odds_and_lead(behind)
    true_odds = odds + truth[0] + truth[1] * odds + truth[2] * lead
    right = np.random.default_rng(2).random(len(odds)) < 1.0 / (1.0 + np.exp(-true_odds))
    assert fit_sureness(behind, right, np.ones(len(odds))) == pytest.approx(truth, abs=0.12)


def test_samples_that_count_twice_are_as_good_as_two():
    behind = behind_winners(200, 4, 3)
    right = np.arange(200) % 3 > 0
    twice = fit_sureness(np.vstack([behind, behind]), np.hstack([right, right]), np.ones(400))
    assert fit_sureness(behind, right, np.full(200, 2.0)) == pytest.approx(twice, abs=1e-5)


def test_an_ensemble_of_two_voters_says_how_often_it_is_right():
    """Digits, cut in two. A factor per class cannot tell answers that both give from those that they quarrel about."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    tree = DecisionTreeClassifier(max_depth=3)
    agents = [("left", tree, slice(0, 32)), ("right", tree, slice(32, 64))]
    model = AssistedClassifier(agents, method="ensemble", holdout=0.3, n_rounds=10, random_state=0).fit(X, y)
    without = clone(model).fit(X, y)
    without.calibration_ = replace(model.calibration_, sureness=UNCHANGED)
    error = expected_calibration_error(y_test, model.predict_proba(X_test))
    assert error < 0.06
    assert expected_calibration_error(y_test, without.predict_proba(X_test)) > 1.5 * error


def test_two_classes_need_no_correction():
    total = np.random.default_rng(0).normal(size=(100, 2))
    assert fit_calibration(total, (total[:, 1] > 0).astype(int)).sureness == UNCHANGED
