"""What a run claims of itself is true on people it has not seen, also where there is nothing to be learned."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier

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


def noise(seed: int, rare: float = 0.06):
    """Return columns of noise and labels that have nothing to do with them, of many people, some of them trained on."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N + NEW, 6)), (rng.random(N + NEW) < rare).astype(int)


def fitted(learner, X, y, **settings) -> AssistedClassifier:
    agents = [("a", learner, [0, 1]), ("b", learner, [2, 3]), ("c", learner, [4, 5])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AssistedClassifier(agents, random_state=0, **settings).fit(X[:N], y[:N])


def losses_on_new_people(model: AssistedClassifier, X, y) -> np.ndarray:
    said = model.predict_proba(X[N:])[np.arange(NEW), y[N:]]
    return -np.log(np.clip(said, 1e-12, 1.0))


@pytest.mark.parametrize("name", LEARNERS)
def test_of_noise_a_run_claims_no_more_than_is_true_and_loses_no_more_than_the_prior(name):
    X, y = noise(3)
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
def test_weights_of_classes_do_not_tell_the_labels_through_the_bags(learner, settings):
    X, y = noise(4)
    model = fitted(learner, X, y, **settings)
    counts = np.bincount(y[:N])
    weights = (N / 2 / counts if settings else np.ones(2))[y[N:]]
    lost = losses_on_new_people(model, X, y)
    mean = float(np.average(lost, weights=weights))
    error = math.sqrt(float(np.sum((weights * (lost - mean)) ** 2))) / weights.sum()
    assert mean - model.combination_.loss <= 2.5 * math.hypot(error, model.combination_.error)
