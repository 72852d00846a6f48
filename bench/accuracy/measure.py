"""One measurement: a way to learn, on one replication of a problem, round by round."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from assistlearn import AssistedClassifier
from bench.accuracy.problems import Cut
from bench.accuracy.ways import LEARNERS, MOST_ROUNDS, ROUNDS

MISSING = 0.3


@dataclass(frozen=True)
class Curve:
    """Test accuracy after each round, seconds of training, and where counted the bytes of training by each round."""

    accuracies: Sequence[float]
    seconds: float = 0.0
    sent: Sequence[int] = ()
    rounds: int = 0  # the number of the first accuracy's round, less one


def agents_of(cut: Cut, learner: str) -> list[tuple[str, Any, list[int]]]:
    """Return the agents, each with its learner and columns."""
    return _given(cut, LEARNERS[learner])


def curve(cut: Cut, learner: str, settings: dict[str, Any], seed: int, baseline: str = "") -> Curve:
    """Return the curve of an estimator: all agents, the initiator alone, or the oracle."""
    model = AssistedClassifier(agents_of(cut, learner), **_settings(learner, settings, seed))
    if baseline == "single":
        model = model.alone(next(iter(cut.columns)))
    elif baseline == "oracle":
        model = model.pooled()
    seconds = _fit(model, cut)
    return Curve(_stages(model, cut), seconds)


def counted(
    cut: Cut, learner: str, settings: dict[str, Any], seed: int, absent: bool = False
) -> Iterator[tuple[str, Curve]]:
    """Yield the curve with its bytes; then what the whole run has sent, and with ``absent`` what absence costs.

    A run with a learned combination asks for one round more than it keeps: only ``whole run`` has that one's bytes.
    """
    from bench.accuracy.bytes import Counted  # not there at older commits, at which run.py --before measures

    model = Counted(agents_of(cut, learner), **_settings(learner, settings, seed))
    seconds = _fit(model, cut)
    stages, sent = _stages(model, cut), model.bytes_by_round()
    yield "", Curve(stages, seconds, sent[: len(stages)])
    if sent:
        yield "whole run", Curve(stages[-1:], seconds, sent[-1:], rounds=len(sent) - 1)
    if absent:
        yield from absences(model, cut, seed)


def absences(model: AssistedClassifier, cut: Cut, seed: int) -> Iterator[tuple[str, Curve]]:
    """Yield the accuracy where every helper lacks a random 30 % of the test samples, and where the last one is gone."""
    rng = np.random.RandomState(seed)
    X = cut.X_test.copy()
    for columns in list(cut.columns.values())[1:]:
        X[np.ix_(rng.rand(len(X)) < MISSING, columns)] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(missing_agent="abstain")
        yield "30 % missing", Curve([float(model.score(X, cut.y_test))])
        present = model.subset(list(cut.columns)[:-1])
        yield "last helper gone", Curve([float(present.score(cut.X_test, cut.y_test))])


def pooled(cut: Cut, estimator: Any, seed: int) -> Curve:
    """Return the accuracy of a learner that has the columns of all agents."""
    columns = sorted(column for known in cut.columns.values() for column in known)
    begun = time.perf_counter()
    model = clone(estimator).set_params(random_state=seed).fit(cut.X_train[:, columns], cut.y_train)
    seconds = time.perf_counter() - begun
    return Curve([float(model.score(cut.X_test[:, columns], cut.y_test))], seconds)


def peer(cut: Cut, learner: str, seed: int) -> Curve:
    """Return the curve of GAL with regressors of the learner's family, and the bytes that it sends."""
    from bench.accuracy.gal import GAL, regressors_of

    kinds = regressors_of(learner)
    if kinds is None:
        raise ValueError(f"GAL has no regressor of the family of {learner!r}: do not ask for it.")
    model = GAL(_given(cut, kinds), random_state=seed)
    seconds = _fit(model, cut)
    sent = model.bytes_by_round(len(cut.y_train), len(model.classes_), len(cut.columns))
    return Curve(_stages(model, cut), seconds, sent)


def _given(cut: Cut, kinds: Sequence[Any]) -> list[tuple[str, Any, list[int]]]:
    return [(name, kinds[m % len(kinds)], columns) for m, (name, columns) in enumerate(cut.columns.items())]


def _settings(learner: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    return settings | {"n_rounds": ROUNDS.get(learner, MOST_ROUNDS), "random_state": seed}


def _fit(model: Any, cut: Cut) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.perf_counter()
        model.fit(cut.X_train, cut.y_train)
        return time.perf_counter() - begun


def _stages(model: Any, cut: Cut) -> list[float]:
    """Return the accuracy after each round; that of the prior where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stages = list(model.staged_score(cut.X_test, cut.y_test))
        return [float(score) for score in stages] or [float(model.score(cut.X_test, cut.y_test))]
