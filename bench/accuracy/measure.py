"""One measurement: a way to learn, on one replication of a problem, round by round."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from assistlearn import AssistedClassifier
from bench.accuracy.problems import Cut
from bench.accuracy.ways import LEARNERS, MOST_ROUNDS, ROUNDS

MISSING = 0.3


def agents_of(cut: Cut, learner: str) -> list[tuple[str, Any, list[int]]]:
    kinds = LEARNERS[learner]
    return [(name, kinds[m % len(kinds)], columns) for m, (name, columns) in enumerate(cut.columns.items())]


def curve(cut: Cut, learner: str, settings: dict[str, Any], seed: int, baseline: str = "") -> tuple[list[float], float]:
    """Return the test accuracy after each round, and the seconds of training."""
    model = AssistedClassifier(
        agents_of(cut, learner), n_rounds=ROUNDS.get(learner, MOST_ROUNDS), random_state=seed, **settings
    )
    if baseline == "single":
        model = model.alone(next(iter(cut.columns)))
    elif baseline == "oracle":
        model = model.pooled()
    return fitted(model, cut)


def fitted(model: AssistedClassifier, cut: Cut) -> tuple[list[float], float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.perf_counter()
        model.fit(cut.X_train, cut.y_train)
        seconds = time.perf_counter() - begun
        scores = list(model.staged_score(cut.X_test, cut.y_test)) or [model.score(cut.X_test, cut.y_test)]
    return scores, seconds


def pooled(cut: Cut, estimator: Any, seed: int) -> tuple[list[float], float]:
    columns = sorted(column for known in cut.columns.values() for column in known)
    begun = time.perf_counter()
    model = clone(estimator).set_params(random_state=seed).fit(cut.X_train[:, columns], cut.y_train)
    return [float(model.score(cut.X_test[:, columns], cut.y_test))], time.perf_counter() - begun


def overlaps(cut: Cut, learner: str, settings: dict[str, Any], seed: int) -> Iterator[tuple[str, list[float], float]]:
    """Yield the curves where every helper lacks a random 30 % of the training rows: abstain, or drop those rows."""
    rng = np.random.RandomState(seed)
    X = cut.X_train.copy()
    whole = np.ones(len(X), dtype=bool)
    for columns in list(cut.columns.values())[1:]:
        lacks = rng.rand(len(X)) < MISSING
        X[np.ix_(lacks, columns)] = np.nan
        whole &= ~lacks
    partial = Cut(X, cut.y_train, cut.X_test, cut.y_test, cut.columns)
    yield "abstain", *curve(partial, learner, settings | {"missing_agent": "abstain"}, seed)
    if np.bincount(np.unique(cut.y_train[whole], return_inverse=True)[1]).size > 1:
        dropped = Cut(X[whole], cut.y_train[whole], cut.X_test, cut.y_test, cut.columns)
        yield "intersection", *curve(dropped, learner, settings, seed)
