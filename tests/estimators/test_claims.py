"""What a run claims of itself is true on people it has not seen, also where there is nothing to be learned."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.evaluation.calibration import HOLDOUT, OUT_OF_FOLD
from tests.papers_settings import PAPERS

LEARNERS = {
    "forest": RandomForestClassifier(25),
    "balanced forest": RandomForestClassifier(25, class_weight="balanced_subsample"),
    "extra trees": ExtraTreesClassifier(25, bootstrap=True),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), 8),
    "boosted trees": HistGradientBoostingClassifier(max_iter=8),
    "tree": DecisionTreeClassifier(),
    "small tree": DecisionTreeClassifier(max_depth=3),
    "logistic": LogisticRegression(),
    "neighbours": KNeighborsClassifier(10),
    "bayes": GaussianNB(),
}
N, NEW = 1_200, 6_000


def noise(seed: int, rare: float = 0.06, n_columns: int = 6):
    """Return columns of noise and labels that have nothing to do with them, of many people, some of them trained on."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N + NEW, n_columns)), (rng.random(N + NEW) < rare).astype(int)


def fitted(learner, X, y, **settings) -> AssistedClassifier:
    parts = np.split(np.arange(X.shape[1]), 3)
    agents = [(name, learner, columns.tolist()) for name, columns in zip("abc", parts, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AssistedClassifier(agents, random_state=0, **settings).fit(X[:N], y[:N])


def losses_on_new_people(model: AssistedClassifier, X, y) -> np.ndarray:
    said = model.predict_proba(X[N:])[np.arange(NEW), y[N:]]
    return -np.log(np.clip(said, 1e-12, 1.0))


@pytest.mark.parametrize(
    ("name", "two_values"),
    [*((name, False) for name in LEARNERS), ("forest", True), ("extra trees", True), ("tree", True)],
)
def test_of_noise_a_run_claims_no_more_than_is_true_and_loses_no_more_than_the_prior(name, two_values):
    X, y = noise(3, n_columns=12 if two_values else 6)
    X = (X > 0).astype(float) if two_values else X  # then many people are the same to each agent
    model = fitted(LEARNERS[name], X, y)
    lost = losses_on_new_people(model, X, y)
    share = y[:N].mean()
    prior = -np.mean(np.where(y[N:] == 1, math.log(share), math.log(1 - share)))
    assert lost.mean() <= 1.02 * prior
    claimed, error = model.combination_.loss, math.hypot(model.combination_.error, lost.std() / math.sqrt(NEW))
    assert abs(lost.mean() - claimed) <= 2.0 * error


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        (RandomForestClassifier(25), {"class_weight": "balanced"}),
        (RandomForestClassifier(25, class_weight="balanced"), {}),
        (BaggingClassifier(DecisionTreeClassifier(), 8), {"class_weight": "balanced"}),
    ],
    ids=["balanced run", "balanced forest", "balanced run, bagging"],
)
def test_weights_of_classes_do_not_tell_the_labels(learner, settings):
    X, y = noise(4)
    model = fitted(learner, X, y, **settings)
    counts = np.bincount(y[:N])
    weights = (N / 2 / counts if settings else np.ones(2))[y[N:]]
    lost = losses_on_new_people(model, X, y)
    mean = float(np.average(lost, weights=weights))
    error = math.sqrt(float(np.sum((weights * (lost - mean)) ** 2))) / weights.sum()
    assert mean - model.combination_.loss <= 2.5 * math.hypot(error, model.combination_.error)


# -- probabilities of a fitted model are calibrated where something honest says how; classes and scores stay


def calibrated(data, seed=0, **settings):
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
            clf, X, y = calibrated(load_breast_cancer, seed, holdout=0.2, calibrate=calibrate)
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
    clf, X, y = calibrated(load_digits, n_rounds=3, **settings)
    plain, _, _ = calibrated(load_digits, n_rounds=3, calibrate=None, **settings)
    said = clf.predict_proba(X)
    assert plain.calibration_ is None
    assert clf.calibration_.fitted_to == (HOLDOUT if "holdout" in settings else OUT_OF_FOLD)
    np.testing.assert_array_equal(clf.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(clf.predict(X), plain.predict(X))
    np.testing.assert_array_equal(clf.classes_[said.argmax(axis=1)], clf.predict(X))
    assert log_loss(y, said) < log_loss(y, plain.predict_proba(X))


def test_without_unseen_samples_or_with_a_learned_combination_nothing_is_calibrated():
    for settings in ({}, {"holdout": 0.2, "method": "soft", "reward": "auto", "combine": "learned"}):
        clf, X, _ = calibrated(load_breast_cancer, n_rounds=2, **settings)
        plain, _, _ = calibrated(load_breast_cancer, n_rounds=2, calibrate=None, **settings)
        assert clf.calibration_ is None
        np.testing.assert_array_equal(clf.predict_proba(X), plain.predict_proba(X))


def test_stages_end_at_the_calibrated_probabilities_and_subsets_keep_the_calibration():
    clf, X, _ = calibrated(load_digits, holdout=0.2, n_rounds=3)
    *_, last = clf.staged_predict_proba(X)
    np.testing.assert_array_equal(last, clf.predict_proba(X))
    part = clf.subset(["a"])
    assert part.calibration_ == clf.calibration_
    np.testing.assert_array_equal(part.classes_[part.predict_proba(X).argmax(axis=1)], part.predict(X))
    assert clone(clf.alone("a")).calibrate == "auto"


def test_shares_are_those_of_calibrated_losses():
    clf, X, y = calibrated(load_digits, holdout=0.2, n_rounds=3)
    gain = log_loss(y, clf.subset(["a"]).predict_proba(X)) - log_loss(y, clf.predict_proba(X))
    assert clf.shares(X, y).loss.value == pytest.approx(gain, abs=1e-11)
