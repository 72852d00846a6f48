"""Compute every figure of a fitted estimator again, from what it predicts for the same rows.

Configurations are drawn by a seed. ``python -m tests.estimators.figures_again 300`` tries 300 of them, and prints each
figure that differs.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, assistance_gain
from assistlearn.core import votes
from assistlearn.core.people import at, groups_of
from assistlearn.errors import LearnerError, SettingsError
from assistlearn.evaluation.calibration import cross_fitted, reliability
from assistlearn.evaluation.metrics import METRICS, differences
from assistlearn.evaluation.pilots import drawn as drawn_for_pilot
from assistlearn.evaluation.words import Terms

TOLERANCE = 1e-9
"""By how much a figure may differ, relative to it."""

LEARNERS: list[Callable[[], Any]] = [
    lambda: DecisionTreeClassifier(max_depth=1),
    lambda: DecisionTreeClassifier(max_depth=3),
    lambda: DecisionTreeClassifier(),
    GaussianNB,
    lambda: LogisticRegression(max_iter=300),
    lambda: KNeighborsClassifier(2),
    lambda: RandomForestClassifier(8, max_depth=4),
    Perceptron,
    DummyClassifier,
]

SETTINGS: dict[str, list[Any]] = {
    "method": ["soft", "soft", "soft", "ascii", "simple", "ensemble", "label-private"],
    "order": ["chain", "random", "greedy"],
    "n_rounds": [1, 2, 3],
    "weak_agent": ["skip", "stop"],
    "holdout": [None, 0.3, 0.5, 0.3],
    "patience": [1, 2],
    "metric": list(METRICS),
    "worse_agent": ["leave out", "keep"],
    "class_weight": [None, None, "balanced", "the first"],
    "reward": ["auto", "in-sample", "out-of-fold"],
    "loss": ["logistic", "exponential"],
    "shrinkage": [0.5, 1.0],
    "models_per_turn": [None, 1, 3],
    "combine": [None, "sum", "learned", "auto", "stack", "offset"],
    "calibrate": ["auto", "none"],
    "score_bits": [0, 8, 16],
    "missing_agent": ["use", "abstain"],
}


@dataclass(frozen=True)
class Drawn:
    """A problem, and an estimator for it."""

    clf: AssistedClassifier
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    persons: np.ndarray | None

    def fitted(self, clf: Any) -> Any:
        """Return a copy of an estimator, fitted to all rows."""
        return clone(clf).fit(self.X, self.y, sample_weight=self.weights, groups=self.persons)


def drawn(seed: int) -> Drawn:
    """Return the configuration of a seed."""
    rng = np.random.default_rng(seed)
    n, n_classes, n_agents = int(rng.integers(40, 130)), int(rng.integers(2, 5)), int(rng.integers(2, 5))
    often = rng.dirichlet(np.full(n_classes, 3.0))
    y = np.concatenate([np.repeat(np.arange(n_classes), 4), rng.choice(n_classes, n - 4 * n_classes, p=often)])
    rng.shuffle(y)
    X = np.concatenate([_columns(rng, y, n_classes) for _ in range(n_agents)], axis=1)
    labels = y if rng.random() < 0.7 else np.array(["d", "a", "c", "b"])[y]
    weights = None if rng.random() < 0.6 else rng.choice([0.0, 0.5, 1.0, 3.0], n, p=[0.1, 0.3, 0.4, 0.2])
    while True:
        settings = {name: values[rng.integers(len(values))] for name, values in SETTINGS.items()}
        if settings["class_weight"] == "the first":
            settings["class_weight"] = {labels[0]: 3.0}
        agents: list[Any] = [(f"agent {m}", _learner(rng), [2 * m, 2 * m + 1]) for m in range(n_agents)]
        if rng.random() < 0.15:
            agents[0] = ("agent 0", None, [])
        clf = AssistedClassifier(agents, random_state=int(rng.integers(1000)), **settings)
        try:
            clf._plan()
        except SettingsError:
            continue
        return Drawn(clf, X, labels, weights, _persons(np.random.default_rng([seed, 9]), n))


def _persons(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Return who each row is about, where several rows may be about one person."""
    return rng.integers(n // 2, size=n) if rng.random() < 0.25 else None


def _columns(rng: np.random.Generator, y: np.ndarray, n_classes: int) -> np.ndarray:
    """Return two columns of an agent: noise, or more; perhaps rounded, with gaps, or with rows that it lacks."""
    helps = rng.choice([0.0, 0.0, 1.0, 2.0])
    own = rng.normal(size=(len(y), 2)) + helps * rng.normal(size=(n_classes, 2))[y]
    if rng.random() < 0.3:
        own = own.round()
    if rng.random() < 0.3:
        own[rng.random(own.shape) < 0.1] = np.nan
    if rng.random() < 0.5:
        own[rng.random(len(y)) < rng.choice([0.1, 0.4, 0.9])] = np.nan
    return own


def _learner(rng: np.random.Generator) -> Any:
    return LEARNERS[rng.integers(len(LEARNERS))]()


# -- comparing


class Found:
    """The figures that differ."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.n = 0

    def same(self, what: str, figure: Any, again: Any) -> None:
        """Compare a figure, or a structure of figures, with what was computed again."""
        if isinstance(figure, dict) and isinstance(again, dict) and figure.keys() == again.keys():
            for key in figure:
                self.same(f"{what}[{key}]", figure[key], again[key])
            return
        self.n += 1
        if not _equal(figure, again):
            self.wrong.append(f"{what}: {figure} is {again} from predictions")


def _equal(figure: Any, again: Any) -> bool:
    if figure is None or again is None or isinstance(figure, str):
        return figure is again or figure == again
    one = np.array([np.nan if each is None else each for each in np.ravel(np.asarray(figure, dtype=object))], float)
    other = np.array([np.nan if each is None else each for each in np.ravel(np.asarray(again, dtype=object))], float)
    return one.shape == other.shape and np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


class Judged:
    """What a model says about the hold-out rows, from its public methods alone."""

    def __init__(self, drawn: Drawn, model: Any, aside: np.ndarray, calibrates: bool) -> None:
        self.classes = model.classes_
        X = drawn.X[aside]
        self.codes = np.searchsorted(self.classes, drawn.y[aside])
        self.weights = np.ones(len(aside)) if drawn.weights is None else drawn.weights[aside]
        self.predicted = np.searchsorted(self.classes, model.predict(X))
        if isinstance(model, DummyClassifier):
            self.said = self.judged = model.predict_proba(X)
            return
        total = _total(model.decision_function(X))
        self.said, self.judged = probabilities(model, X, total, calibrates, self.codes, self.weights)

    def figures(self) -> dict[str, float | None]:
        """Return every metric."""
        return {name: self.figure(name) for name in METRICS}

    def figure(self, name: str) -> float | None:
        """Return a metric; None where it is not defined."""
        there = self.weights > 0
        occurring = np.unique(self.codes[there])
        if not len(occurring) or (METRICS[name].needs_every_class and len(occurring) < len(self.classes)):
            return None
        codes, weights, known = self.codes[there], self.weights[there], np.arange(len(self.classes))
        judged, said, answered = self.judged[there], self.said[there], self.predicted[there]
        if name == "accuracy":
            return float(np.average(codes == answered, weights=weights))
        if name == "balanced_accuracy":
            right = [np.average((answered == k)[codes == k], weights=weights[codes == k]) for k in occurring]
            return float(np.mean(right))
        if name == "log_loss":
            eps = np.finfo(float).eps
            return float(-np.average(np.log(judged[np.arange(len(codes)), codes].clip(eps, 1 - eps)), weights=weights))
        if name == "brier":
            errors = ((judged - np.eye(len(known))[codes]) ** 2).sum(axis=1) / (2 if len(known) == 2 else 1)
            return float(np.average(errors, weights=weights))
        score = metrics.roc_auc_score if name == "roc_auc" else metrics.average_precision_score
        each = [score(codes == k, said[:, k], sample_weight=weights) for k in (known[1:] if len(known) == 2 else known)]
        return float(np.mean(each))

    def confusion(self) -> np.ndarray:
        """Return how often each class was answered as each."""
        table = np.zeros((len(self.classes), len(self.classes)))
        np.add.at(table, (self.codes, self.predicted), self.weights * (len(self.codes) / self.weights.sum()))
        return table


def _total(scores: np.ndarray) -> np.ndarray:
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _by_shares(model: AssistedClassifier, total: np.ndarray) -> np.ndarray:
    """Return which rows the shares of the classes decide."""
    shares = votes.scores_of(model.class_prior_[np.newaxis])
    return np.isclose(total, shares, rtol=1e-12, atol=1e-12).all(axis=1)


def probabilities(
    model: AssistedClassifier, X: Any, total: np.ndarray, calibrates: bool, codes: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities to rank by, and those to judge: with a calibration, each row's by one on other rows."""
    public = model.predict_proba(X)
    if not calibrates:
        return public, public
    nobody = _by_shares(model, total)
    if model.method == "ensemble":
        said = votes.vote_shares(total, len({each.agent for each in model.contributions_}))
    else:
        said = votes.probabilities(total)
    said[nobody] = model.class_prior_
    judged = said.copy()
    there = ~nobody
    if there.any():
        judged[there] = cross_fitted(total[there], codes[there], weights[there])
    return said, judged


def check(seed: int) -> Found:
    """Return the figures of a configuration that differ from what its predictions show."""
    found, made = Found(), drawn(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = made.fitted(made.clf)
        _check_predictions(found, made, clf)
        if clf.holdout_indices_ is not None:
            _check_report(found, made, clf)
            _check_rounds(found, made, clf)
        if seed % 4 == 0:
            _check_pilot(found, made, seed)
    return found


def _check_predictions(found: Found, made: Drawn, clf: AssistedClassifier) -> None:
    """Compare stages, votes and probabilities of one estimator, and of its subsets, with each other."""
    training = np.setdiff1d(np.arange(len(made.y)), [] if clf.holdout_indices_ is None else clf.holdout_indices_)
    weights = np.ones(len(made.y)) if made.weights is None else made.weights
    shares = [weights[training][made.y[training] == label].sum() for label in clf.classes_]
    found.same("class_prior_", clf.class_prior_, np.array(shares) / np.sum(shares))
    for part in (clf, *(clf.subset([name]) for name in clf.agents_)):
        total, said = _total(part.decision_function(made.X)), part.predict_proba(made.X)
        found.same("predict", np.searchsorted(clf.classes_, part.predict(made.X)), total.argmax(axis=1))
        found.same("likeliest class", said.argmax(axis=1), total.argmax(axis=1))
        found.same("agent_scores", sum(part.agent_scores(made.X).values()), total)
        stages = list(part.staged_decision_function(made.X))
        if stages:
            found.same("last stage", _total(stages[-1]), total)
            found.same("last stage's probabilities", list(part.staged_predict_proba(made.X))[-1], said)
        nobody = ~np.any(list(part.taking_part(made.X).values()), axis=0)
        own = part.columns_.get(clf.agents[0][0], [])
        if clf.combination_ is not None and len(own):  # trees may look at the initiator's own columns
            nobody &= np.isnan(made.X[:, own]).all(axis=1)
        found.same("nobody", said[nobody], np.tile(clf.class_prior_, (nobody.sum(), 1)))


def _check_report(found: Found, made: Drawn, clf: AssistedClassifier) -> None:
    aside, report = clf.holdout_indices_, clf.report_
    calibrates = clf._plan().calibrates
    first = clf.agents[0][0]
    if report is None or first not in clf.agents_:
        return
    assisted = Judged(made, clf, aside, calibrates)
    alone_model = clf.alone(first)
    if isinstance(alone_model, DummyClassifier):
        rows = np.setdiff1d(np.arange(len(made.y)), aside)
        alone_model.fit(made.X[rows], made.y[rows], None if made.weights is None else made.weights[rows])
    else:
        alone_model = made.fitted(alone_model.set_params(n_rounds=max(report.models_alone, 1)))
        found.same("hold-out rows alone", alone_model.holdout_indices_, aside)
    alone = Judged(made, alone_model, aside, calibrates)
    found.same("n_samples", report.n_samples, len(aside))
    found.same("assisted", report.assisted, assisted.figures())
    found.same("alone", report.alone, alone.figures())
    found.same("confusion", report.confusion, assisted.confusion())
    for name, judged in (("recalls", assisted), ("recalls_alone", alone)):
        table = judged.confusion()
        again = [table[k, k] / row.sum() if row.sum() else None for k, row in enumerate(table)]
        found.same(name, getattr(report, name), again)
    for name, judged in (("reliability", assisted), ("reliability_alone", alone)):
        groups = reliability(judged.codes, judged.judged, judged.predicted, judged.weights)
        found.same(
            name, [list(vars(g).values()) for g in getattr(report, name)], [list(vars(g).values()) for g in groups]
        )
    _check_differences(found, clf, assisted, alone, at(made.persons, aside))
    _check_shares(found, made, clf)


def _check_differences(found: Found, clf: AssistedClassifier, assisted: Judged, alone: Judged, persons: Any) -> None:
    one, other = assisted.figures(), alone.figures()
    for name, difference in clf.report_.differences.items():
        if difference is None or one[name] is None or other[name] is None:
            found.same(f"difference of {name}", difference, None)
            continue
        found.same(f"difference of {name}", difference.value, one[name] - other[name])
        of = [each.judged if METRICS[name].of_probabilities else each.said for each in (assisted, alone)]
        both = assisted.predicted, alone.predicted
        how = {"predicted": both, "seed": clf.random_state, "only": [name], "groups": persons}
        again = differences(assisted.codes, *of, assisted.weights, **how)[name]
        found.same(f"interval of {name}", [difference.low, difference.high], [again.low, again.high])


def _check_shares(found: Found, made: Drawn, clf: AssistedClassifier) -> None:
    """Compute every helper's share again, as a Shapley value over subsets."""
    first, *helpers = clf.agents_
    aside, shares = clf.holdout_indices_, clf.report_.shares
    if not helpers or shares is None:
        return
    X, y = made.X[aside], np.searchsorted(clf.classes_, made.y[aside])
    weights = np.ones(len(aside)) if made.weights is None else made.weights[aside]
    value = {}
    for size in range(len(helpers) + 1):
        for members in combinations(helpers, size):
            part = clf.subset([first, *members])
            of_truth = part.predict_proba(X)[np.arange(len(y)), y]
            right = np.searchsorted(clf.classes_, part.predict(X)) == y
            lost = -np.log(of_truth.clip(np.finfo(float).eps, 1.0))
            value[frozenset(members)] = np.average([lost, right], axis=1, weights=weights)
    everyone, n = frozenset(helpers), len(helpers)
    gain = value[everyone] - value[frozenset()]
    found.same("gain of all", [shares.loss.value, shares.accuracy.value], gain * [-1, 1])
    for share in shares.helpers:
        own = np.zeros(2)
        for members, before in value.items():
            if share.helper not in members:
                often = factorial(len(members)) * factorial(n - len(members) - 1) / factorial(n)
                own += often * (value[members | {share.helper}] - before)
        found.same(f"share of {share.helper}", [share.loss.value, share.accuracy.value], own * [-1, 1])
        dropped = value[everyone] - value[everyone - {share.helper}]
        lost = [share.loss_if_dropped.value, share.accuracy_if_dropped.value]
        found.same(f"{share.helper} dropped", lost, dropped * [-1, 1])


def _check_rounds(found: Found, made: Drawn, clf: AssistedClassifier) -> None:
    """Compare the hold-out figures of the rounds that count with the stages of the result, nobody left out."""
    if clf.report_ is not None and clf.report_.left_out:
        clf = made.fitted(clone(clf).set_params(worse_agent="keep"))
        if clf.report_.left_out:
            return  # an agent whose answers were doubted
    aside = clf.holdout_indices_
    X, plan = made.X[aside], clf._plan()
    codes = np.searchsorted(clf.classes_, made.y[aside])
    weights = np.ones(len(aside)) if made.weights is None else made.weights[aside]
    for round, stage in enumerate(_stages(clf, X), 1):
        judged = object.__new__(Judged)
        judged.classes, judged.codes, judged.weights = clf.classes_, codes, weights
        judged.predicted = stage.predicted
        judged.said = judged.judged = stage.said
        if plan.calibrates and METRICS[plan.metric].of_probabilities:
            there = ~stage.nobody
            judged.judged = np.tile(clf.class_prior_, (len(codes), 1))
            if there.any():
                judged.judged[there] = cross_fitted(stage.total[there], codes[there], weights[there])
        elif plan.calibrates:
            judged.said = stage.uncalibrated
        found.same(f"hold-out score of round {round}", clf.holdout_scores_[round - 1], judged.figure("accuracy"))
        found.same(f"metric of round {round}", clf.holdout_metrics_[round - 1], judged.figure(plan.metric))


@dataclass(frozen=True)
class Stage:
    total: np.ndarray
    predicted: np.ndarray
    said: np.ndarray
    nobody: np.ndarray
    uncalibrated: np.ndarray


def _stages(clf: AssistedClassifier, X: np.ndarray) -> Iterator[Stage]:
    heard: set[str] = set()
    every = clf.staged_decision_function(X), clf.staged_predict(X), clf.staged_predict_proba(X)
    for round, (scores, labels, said) in enumerate(zip(*every, strict=True), 1):
        total = _total(scores)
        nobody = _by_shares(clf, total)
        heard |= {each.agent for each in clf.contributions_ if each.round == round}
        plain = votes.vote_shares(total, len(heard)) if clf.method == "ensemble" else votes.probabilities(total)
        plain[nobody] = clf.class_prior_
        yield Stage(total, np.searchsorted(clf.classes_, labels), said, nobody, plain)


def _check_pilot(found: Found, made: Drawn, seed: int) -> None:
    """Compute what a pilot says again, from the predictions of estimators that are fitted to the same rows."""
    first, loss = made.clf.agents[0][0], ("log", "zero-one")[seed % 8 // 4]
    how = {"loss": loss, "block": 10, "train_size": 0.6, "random_state": seed, "groups": made.persons}
    try:
        worth = assistance_gain(made.clf, made.X, made.y, **how)
    except SettingsError:
        return  # a class is so rare that no row to train on has it
    terms = Terms(at_least=0.0, alpha=0.05, loss=loss, block=10, train_size=0.6, each_helper=False)
    persons = None if made.persons is None else groups_of(made.persons)
    training, pool = drawn_for_pilot(terms, made.y, seed, persons)
    who = None if persons is None else persons[training]
    opened = pool[: worth.n_opened]
    clf = clone(made.clf).fit(made.X[training], made.y[training], groups=who)
    alone = made.clf.alone(first)
    if not isinstance(alone, DummyClassifier):
        alone.set_params(n_rounds=made.clf.n_rounds * len(made.clf.agents))
        alone.fit(made.X[training], made.y[training], groups=who)
    else:
        alone.fit(made.X[training], made.y[training])

    def lost(model: Any) -> float:
        if loss == "zero-one":
            return float(np.mean(model.predict(made.X[opened]) != made.y[opened]))
        places = np.searchsorted(model.classes_, made.y[opened])
        return float(-np.log(model.predict_proba(made.X[opened])[np.arange(len(opened)), places].clip(0.01, 1)).mean())

    found.same("pilot's loss alone", worth.loss_alone, lost(alone))
    found.same("pilot's loss with help", worth.loss_assisted, lost(clf))
    if worth.answer == "undecided":  # else what is chance is taken off the plain difference
        found.same("pilot's gain", worth.together.path[-1].estimate, lost(alone) - lost(clf))
    for helper, gain in worth.helpers.items():
        if helper in clf.agents_ and gain.answer == "undecided":
            some = clf.subset([first, helper] if first in clf.agents_ else [helper])
            found.same(f"pilot's gain by {helper}", gain.path[-1].estimate, lost(alone) - lost(some))


def main(n: int, start: int = 0) -> int:
    """Try configurations from the seed ``start`` on; print each figure that differs, and how many were compared."""
    logging.disable(logging.WARNING)
    n_figures = n_wrong = 0
    for seed in range(start, start + n):
        try:
            found = check(seed)
        except LearnerError as error:
            sys.stdout.write(f"configuration {seed}: nothing to compare: {error}\n")
            continue
        n_figures += found.n
        n_wrong += len(found.wrong)
        for each in found.wrong:
            sys.stdout.write(f"configuration {seed}: {each}\n")
    sys.stdout.write(f"{n} configurations, {n_figures} figures, {n_wrong} differences\n")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
