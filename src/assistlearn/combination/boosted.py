"""A boosted combination: small trees over the agents' scores and the initiator's own columns.

It finds what no sum can say: that one agent is to be believed where another is unsure, or where a column of the
initiator's is high.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from assistlearn.combination.cross_validation import Tried
from assistlearn.combination.evidence import Evidence
from assistlearn.combination.linear import outputs
from assistlearn.core import votes
from assistlearn.core.ignorance import Floats

STEPS = (5, 10, 15, 20, 30, 40, 50, 60, 80, 100)
"""Numbers of iterations, tried one after the other until the loss has risen twice."""
MOST_CLASSES = 20
MOST_TREE_SAMPLES = 2_000_000
"""Samples times classes: as many trees as there are classes are grown in every iteration."""
LEAST = 1e-9
"""The least probability that a class has, also one that no sample of a fold has."""


@dataclass(frozen=True)
class Boosted:
    """Trees over the agents' scores, in the order of the agents, and the initiator's own columns after them."""

    agents: tuple[str, ...]
    initiator: str
    n_classes: int
    n_own: int
    trees: HistGradientBoostingClassifier

    def shares(self, scores: Mapping[str, Floats], own: Floats) -> dict[str, Floats]:
        """Return each agent's share: what the decision changes by as the agents come in, one after the other.

        The initiator comes first, with its own columns and with what the trees say of nobody's scores. An agent that is
        not in ``scores`` stays neutral: its scores are zero.
        """
        n = len(own)
        there = sorted((each for each in self.agents if each in scores), key=lambda each: each != self.initiator)
        present: dict[str, Floats] = {}
        before = np.zeros((n, self.n_classes))
        out = {each: np.zeros((n, self.n_classes)) for each in scores}
        for agent in there:
            present[agent] = scores[agent]
            decision = self._decision(present, own)
            out[agent] = decision - before
            before = decision
        return out

    def _decision(self, present: Mapping[str, Floats], own: Floats) -> Floats:
        neutral = np.zeros((len(own), self.n_classes))
        stacked = np.stack([present.get(each, neutral) for each in self.agents])
        return votes.scores_of(_probabilities(self.trees, _inputs(stacked, own), self.n_classes))


def why_not_boosted(evidence: Evidence) -> str:
    """Return why trees are not tried on this evidence; an empty text where they are."""
    n, n_classes = len(evidence.codes), evidence.n_classes
    if n_classes > MOST_CLASSES:
        return (
            f"{n_classes} classes would need as many trees in every iteration; boosting is tried up to {MOST_CLASSES}."
        )
    if n * n_classes > MOST_TREE_SAMPLES:
        return (
            f"{n:,} samples of {n_classes} classes would take too long to boost; it is tried up to "
            f"{MOST_TREE_SAMPLES // n_classes:,} samples."
        )
    if len(np.unique(evidence.codes)) < 2:
        return "All samples are of one class."
    return ""


def choose_iterations(evidence: Evidence, folds: NDArray[np.intp]) -> tuple[int, Tried]:
    """Return the number of iterations with the least cross-validated log loss, and what was lost with it."""
    inputs = _inputs(evidence.scores, evidence.own)
    models = [(folds == fold, _trees()) for fold in np.unique(folds)]
    tried: dict[int, Tried] = {}
    rises, last = 0, np.inf
    for step in STEPS:
        lost = np.empty(len(evidence.codes))
        for held, trees in models:
            trees.set_params(max_iter=step)
            trees.fit(inputs[~held], evidence.codes[~held], sample_weight=_counts(evidence.weights[~held]))
            said = _probabilities(trees, inputs[held], evidence.n_classes)
            lost[held] = -np.log(said[np.arange(len(said)), evidence.codes[held]])
        tried[step] = Tried(lost, evidence.weights)
        rises = rises + 1 if tried[step].loss > last else 0
        last = tried[step].loss
        if rises == 2:
            break
    best = min(tried, key=lambda each: tried[each].loss)
    return best, tried[best]


def fit_boosted(evidence: Evidence, n_iterations: int) -> Boosted:
    """Return the boosted combination after so many iterations."""
    trees = _trees().set_params(max_iter=n_iterations, warm_start=False)
    trees.fit(_inputs(evidence.scores, evidence.own), evidence.codes, sample_weight=_counts(evidence.weights))
    return Boosted(evidence.agents, evidence.initiator, evidence.n_classes, evidence.own.shape[1], trees)


def _trees() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_leaf_nodes=8,
        l2_regularization=1.0,
        min_samples_leaf=10,
        early_stopping=False,
        warm_start=True,
        random_state=0,
    )


def _counts(weights: Floats) -> Floats:
    """Return weights with the mean one: the trees' penalty is meant for these."""
    out: Floats = weights * (len(weights) / weights.sum())
    return out


def _inputs(scores: Floats, own: Floats) -> Floats:
    return np.concatenate([*outputs(scores), own], axis=1)


def _probabilities(trees: Any, inputs: Floats, n_classes: int) -> Floats:
    out = np.full((len(inputs), n_classes), LEAST)
    if len(inputs):
        out[:, trees.classes_.astype(np.intp)] = np.maximum(trees.predict_proba(inputs), LEAST)
    out /= out.sum(axis=1, keepdims=True)
    return out
