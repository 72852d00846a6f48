"""Trees over the initiator's own scores and columns, which start from a weighted sum of the agents' scores.

They never look at a helper's scores. With many classes, a helper's scores would show which row of its table they belong
to, even if they said nothing about the labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.tree import DecisionTreeRegressor

from assistlearn.combination.cross_validation import Tried
from assistlearn.combination.evidence import Evidence
from assistlearn.combination.linear import Linear, outputs
from assistlearn.combination.weighted_sum import decision_of, fit_weighted_sum
from assistlearn.core.ignorance import Floats
from assistlearn.learners.residual_boosting import newton_steps

STEP = 0.1
"""The share of Newton's step that is taken."""
MOST_TREES, PATIENCE = 60, 5
"""The most trees that are tried, and after how many trees without a lower loss the search stops."""
DEPTH, LEAF = 3, 10
LARGEST = 1e38
"""Larger numbers are cut to this one, because trees calculate in single precision."""


@dataclass(frozen=True)
class OwnTrees:
    """Trees that the initiator adds to its share of a decision.

    Attributes
    ----------
    n_classes, n_own : int
        The number of classes, and of the initiator's own columns.
    trees : list of DecisionTreeRegressor
        With an output for every class: what a leaf adds to the logarithm of the class's probability.
    """

    n_classes: int
    n_own: int
    trees: list[DecisionTreeRegressor]

    def share(self, scores: Floats, own: Floats) -> Floats:
        """Return what the trees add to the decision for these scores and columns, n x K; every row sums to zero."""
        out = np.zeros((len(own), self.n_classes))
        if len(own):
            table = inputs_of(scores, own)
            for tree in self.trees:
                out += tree.predict(table)
        return in_votes(out)


def inputs_of(scores: Floats, own: Floats) -> Floats:
    """Return the inputs of the trees: the initiator's scores, and its columns after them."""
    return np.concatenate([outputs(scores), np.clip(own, -LARGEST, LARGEST)], axis=1)


def in_votes(logarithms: Floats) -> Floats:
    """Convert changes of log-probabilities to the unit of a vote: centre them, and multiply them by K/(K-1).

    >>> in_votes(np.array([[1.0, 0.0]]))
    array([[ 1., -1.]])
    """
    n_classes = logarithms.shape[1]
    out: Floats = (logarithms - logarithms.mean(axis=1, keepdims=True)) * (n_classes / (n_classes - 1))
    return out


def fit_own_trees(evidence: Evidence, start: Linear, n_trees: int) -> OwnTrees:
    """Return ``n_trees`` trees, which start from a weighted sum."""
    grown = [tree for tree, _ in islice(_grow(evidence, start), n_trees)]
    return OwnTrees(evidence.n_classes, evidence.own.shape[1], grown)


def choose_trees(evidence: Evidence, folds: NDArray[np.intp]) -> tuple[int, Tried]:
    """Return the number of trees with the lowest loss on samples that they were not fitted to, and their losses.

    The number is 0 unless the trees are better than the weighted sum alone by more than one standard error.
    """
    parts = [_WithoutFold(evidence, folds == fold) for fold in np.unique(folds)]
    tried: list[Tried] = []
    best = 0
    while len(tried) <= MOST_TREES and len(tried) <= best + PATIENCE:
        lost = np.empty(len(evidence.codes))
        for part in parts:
            lost[part.held] = part.losses()
            part.go_on()
        tried.append(Tried(lost, evidence.weights))
        best = min(range(len(tried)), key=lambda each: tried[each].loss)
    best = best if tried[best].is_better_than(tried[0]) else 0
    return best, tried[best]


class _WithoutFold:
    """Trees that are grown without one fold, and their losses on that fold."""

    def __init__(self, evidence: Evidence, held: NDArray[np.bool_]) -> None:
        self.held = held
        self._aside, known = evidence.rows(held), evidence.rows(~held)
        start = fit_weighted_sum(known)
        self._logits = _logits(start, self._aside)
        self._inputs = _inputs(self._aside)
        self._steps = _grow(known, start)

    def losses(self) -> Floats:
        lost: Floats = -log_softmax(self._logits, axis=1)[np.arange(len(self._aside.codes)), self._aside.codes]
        return lost

    def go_on(self) -> None:
        tree, _ = next(self._steps)
        self._logits = self._logits + tree.predict(self._inputs)


def _grow(evidence: Evidence, start: Linear) -> Iterator[tuple[DecisionTreeRegressor, Floats]]:
    """Yield trees, each fitted to the residuals of all before it, and what it says about the samples."""
    inputs, logits = _inputs(evidence), _logits(start, evidence)
    weights = evidence.weights * len(evidence.weights)
    truth = np.arange(evidence.n_classes) == evidence.codes[:, np.newaxis]
    while True:
        shares: Floats = softmax(logits, axis=1)
        tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=LEAF, random_state=0)
        tree.fit(inputs, truth - shares, sample_weight=weights)
        leaves = tree.apply(inputs)
        values = STEP * newton_steps(leaves, tree.tree_.node_count, truth, shares, weights)
        tree.tree_.value[:, :, 0] = values
        yield tree, values[leaves]
        logits = logits + values[leaves]


def _inputs(evidence: Evidence) -> Floats:
    """Return the inputs of the trees; the initiator's scores are zero where the evidence has none of it."""
    said = dict(zip(evidence.agents, evidence.scores, strict=True))
    return inputs_of(said.get(evidence.initiator, np.zeros(evidence.scores.shape[1:])), evidence.own)


def _logits(start: Linear, evidence: Evidence) -> Floats:
    return decision_of(start, evidence) * ((evidence.n_classes - 1) / evidence.n_classes)
