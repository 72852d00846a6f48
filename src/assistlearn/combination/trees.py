"""Boosted combinations: small trees over the agents' scores and the initiator's own columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from scipy.special import log_softmax, softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from assistlearn.combination.linear import N_FOLDS, Evidence, Linear, Tried, decision_of, fit_weighted_sum, outputs
from assistlearn.core import votes
from assistlearn.learners.boosting import newton_steps
from assistlearn.learners.model import coarsened
from assistlearn.types import Codes, Floats

# A boosted combination can express what a sum cannot: that one agent deserves more trust where another is unsure, or
# where a column of the initiator is high.
#
# An agent whose columns have few values has few different scores: a *level* for each of its cells. The trees grow on
# scores of fold copies, rounded to a few bits. The whole model says nearly the same of a cell, but not exactly, and
# trees may have split just between the two. So a score is moved to the nearest level that the trees have seen. Without
# this, a five-class table of ratings (naive Bayes, cells of two columns each, two splits) had a log loss of .084 and
# .148; with it .083 and .086; the combination claimed .065 and .069.


MOST_ITERATIONS, CHUNK, PATIENCE = 100, 20, 10
"""The most iterations, how many are grown at a time, and after how many without a lower loss growing stops."""
LEAST_ITERATIONS, HOPELESS = 40, 3.0
"""From this many iterations on, growing stops where the rival is better by more than this many standard errors."""
MOST_CLASSES = 30
MOST_TREE_SAMPLES = 2_000_000
"""The largest product of samples and classes: every iteration grows a tree for each class."""
MOST_INPUTS = 3_000
"""The largest product of inputs (scores and own columns) and classes: every tree looks at all inputs."""
LEAST_SAMPLES = 60
"""The fewest samples. With fewer, trees with leaves of ten samples find nothing to split in a fold."""
MOST_LEVELS, LEAST_ROWS = 1_000, 10
"""An agent's scores are levels if at most so many are different, and there are so many times as many samples."""
LEAST = 1e-9
"""The least probability of a class, also of one that no sample of a fold has."""


@dataclass(frozen=True)
class TreeCombination:
    """Trees over the agents' scores, in the order of the agents, and the initiator's own columns after them.

    ``levels`` has, for each agent, the different scores that the trees have seen, ``n_levels x K``; without any row
    where there are too many to be levels.
    """

    agents: tuple[str, ...]
    initiator: str
    n_classes: int
    n_own: int
    trees: HistGradientBoostingClassifier
    levels: tuple[Floats, ...]

    def shares(self, scores: Mapping[str, Floats], own: Floats) -> dict[str, Floats]:
        """Return each agent's share: how the decision changes when its scores are added, one agent after the other.

        The initiator comes first. Its share includes its own columns, and what the trees decide without any scores. An
        agent that is not in ``scores`` is neutral: its scores count as zero.
        """
        present = {agent: scores[agent] for agent in (self.initiator,) if agent in scores}
        before = self._decision(present, own)
        out = {self.initiator: before}
        for agent in scores:
            if agent != self.initiator:
                present[agent] = scores[agent]
                decision = self._decision(present, own)
                out[agent] = decision - before
                before = decision
        return out

    def _decision(self, present: Mapping[str, Floats], own: Floats) -> Floats:
        neutral = np.zeros((len(own), self.n_classes))
        seen = zip(self.agents, self.levels, strict=True)
        stacked = np.stack([_nearest(present[each], levels) if each in present else neutral for each, levels in seen])
        return votes.scores_of(_probabilities(self.trees, _inputs(stacked, own), self.n_classes))


def why_not_boosted(evidence: Evidence) -> str:
    n, n_classes = len(evidence.codes), evidence.n_classes
    if n_classes > MOST_CLASSES:
        return (
            f"with {n_classes} classes every iteration would need as many trees; boosting is only tried with up to "
            f"{MOST_CLASSES}"
        )
    if n * n_classes > MOST_TREE_SAMPLES:
        return (
            f"{n:,} samples of {n_classes} classes would take too long to boost; boosting is only tried with up to "
            f"{MOST_TREE_SAMPLES // n_classes:,} samples"
        )
    n_inputs = evidence.own.shape[1] + len(evidence.agents) * (1 if n_classes == 2 else n_classes)
    if n_inputs * n_classes > MOST_INPUTS:
        return (
            f"{n_inputs:,} scores and columns, and {n_classes} classes, would take too long to boost; their product "
            f"may be {MOST_INPUTS:,} at most"
        )
    counts = np.sort(np.bincount(evidence.codes, minlength=n_classes))
    if n < LEAST_SAMPLES or counts[-2] < N_FOLDS:
        return (
            f"there are {n} samples, {counts[-2]} of them in the second largest class; trees need at least "
            f"{LEAST_SAMPLES} samples, and {N_FOLDS} in that class"
        )
    return ""


def choose_iterations(evidence: Evidence, folds: NDArray[np.intp], rival: Tried) -> tuple[int, Tried]:
    """Return the number of iterations with the lowest cross-validated log loss, and its losses.

    Growing stops when the loss no longer falls, or when the trees have no chance against a rival. :data:`CHUNK` grow at
    a time.
    """
    inputs = _inputs(evidence.scores, evidence.own)
    models = [(folds == fold, _trees()) for fold in np.unique(folds)]
    tried: dict[int, Tried] = {}
    while len(tried) < MOST_ITERATIONS:
        before = len(tried)
        lost = np.empty((CHUNK, len(evidence.codes)))
        for held, trees in models:
            trees.set_params(max_iter=before + CHUNK)
            _grow(trees, inputs[~held], evidence.codes[~held], evidence.weights[~held])
            lost[:, held] = _staged_losses(trees, inputs[held], evidence.codes[held], before, evidence.n_classes)
        tried |= {before + 1 + step: Tried(each, evidence.weights) for step, each in enumerate(lost)}
        best = min(tried, key=lambda each: tried[each].loss)
        hopeless = len(tried) >= LEAST_ITERATIONS and rival.is_better_than(tried[best], HOPELESS)
        if best <= len(tried) - PATIENCE or hopeless:
            break
    return best, tried[best]


def losses_after(evidence: Evidence, n_iterations: int, folds: NDArray[np.intp]) -> Tried:
    inputs = _inputs(evidence.scores, evidence.own)
    lost = np.empty(len(evidence.codes))
    for fold in np.unique(folds):
        held = folds == fold
        trees = _trees().set_params(max_iter=n_iterations, warm_start=False)
        _grow(trees, inputs[~held], evidence.codes[~held], evidence.weights[~held])
        said = _probabilities(trees, inputs[held], evidence.n_classes)
        lost[held] = -np.log(said[np.arange(len(said)), evidence.codes[held]])
    return Tried(lost, evidence.weights)


def fit_boosted(evidence: Evidence, n_iterations: int) -> TreeCombination:
    trees = _trees().set_params(max_iter=n_iterations, warm_start=False)
    _grow(trees, _inputs(evidence.scores, evidence.own), evidence.codes, evidence.weights)
    levels = tuple(_levels(scores) for scores in evidence.scores)
    return TreeCombination(
        evidence.agents, evidence.initiator, evidence.n_classes, evidence.own.shape[1], trees, levels
    )


def _levels(scores: Floats) -> Floats:
    """Return the different scores but zero, n_levels x K; without any row where there are too many to be levels."""
    most = min(MOST_LEVELS, len(scores) // LEAST_ROWS)
    if len(np.unique(scores[:, -1])) > most:  # one column shows it nearly always, and is sorted faster
        return np.empty((0, scores.shape[1]))
    found: Floats = np.unique(scores[scores.any(axis=1)], axis=0)
    return found if len(found) <= most else np.empty((0, scores.shape[1]))


def _nearest(scores: Floats, levels: Floats) -> Floats:
    """Return for each score the nearest level; zeros, which mean that the agent says nothing, stay zeros."""
    spoken = scores.any(axis=1)
    if not len(levels) or not spoken.any():
        return scores
    out = scores.copy()
    out[spoken] = levels[KDTree(levels).query(scores[spoken])[1]]
    return out


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


def _grow(trees: HistGradientBoostingClassifier, inputs: Floats, codes: Codes, weights: Floats) -> None:
    """Fit trees under weights with a mean of one, as the penalty expects; equal weights are left out, to be faster."""
    even = bool((weights == weights[0]).all())
    if even:
        trees.fit(inputs, codes)
    else:
        trees.fit(coarsened(trees, inputs), codes, sample_weight=weights * (len(weights) / weights.sum()))


def _staged_losses(trees: Any, inputs: Floats, codes: Codes, before: int, n_classes: int) -> Floats:
    """Return the log loss of each sample after each iteration, without the first ``before`` iterations."""
    stages = islice(trees.staged_predict_proba(inputs), before, None)
    at = np.arange(len(codes)), codes
    return np.array([-np.log(_all_classes(said, trees.classes_, n_classes)[at]) for said in stages])


def _inputs(scores: Floats, own: Floats) -> Floats:
    return np.concatenate([*outputs(scores), own], axis=1)


def _probabilities(trees: Any, inputs: Floats, n_classes: int) -> Floats:
    said = trees.predict_proba(inputs) if len(inputs) else np.empty((0, len(trees.classes_)))
    return _all_classes(said, trees.classes_, n_classes)


def _all_classes(said: Floats, classes: Codes, n_classes: int) -> Floats:
    out = np.full((len(said), n_classes), LEAST)
    out[:, classes] = np.maximum(said[:, : len(classes)], LEAST)  # trees of one class still answer for two
    out /= out.sum(axis=1, keepdims=True)
    return out


# Trees over the initiator's own scores and columns, which start from a weighted sum of the agents' scores.
#
# They never look at a helper's scores. With many classes, a helper's scores would show which row of its table they
# belong to, even if they said nothing about the labels.


STEP = 0.1
"""The share of Newton's step that is taken."""
MOST_TREES, PATIENCE_WITH_TREES = 60, 5
"""The most trees that are tried, and after how many trees without a lower loss the search stops."""
DEPTH, LEAF = 3, 10
LARGEST = 1e38
"""Larger numbers are cut to this one, because trees calculate in single precision."""


@dataclass(frozen=True)
class OwnTrees:
    """Trees that the initiator adds to its share: a leaf has what it adds to the log-probability of each class."""

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
    return np.concatenate([outputs(scores), np.clip(own, -LARGEST, LARGEST)], axis=1)


def in_votes(logarithms: Floats) -> Floats:
    """Convert changes of log-probabilities to the unit of a vote: centre them, and multiply them by K/(K-1)."""
    n_classes = logarithms.shape[1]
    out: Floats = (logarithms - logarithms.mean(axis=1, keepdims=True)) * (n_classes / (n_classes - 1))
    return out


def fit_own_trees(evidence: Evidence, start: Linear, n_trees: int) -> OwnTrees:
    trees = list(islice(_residual_trees(evidence, start), n_trees))
    return OwnTrees(evidence.n_classes, evidence.own.shape[1], trees)


def choose_trees(evidence: Evidence, folds: NDArray[np.intp]) -> tuple[int, Tried]:
    """Return the number of trees with the lowest loss on samples that they were not fitted to, and their losses.

    The number is 0 unless the trees are better than the weighted sum alone by more than one standard error.
    """
    parts = [(folds == fold, _losses_on_fold(evidence, folds == fold)) for fold in np.unique(folds)]
    tried: list[Tried] = []
    best = 0
    while len(tried) <= MOST_TREES and len(tried) <= best + PATIENCE_WITH_TREES:
        lost = np.empty(len(evidence.codes))
        for held, losses in parts:
            lost[held] = next(losses)
        tried.append(Tried(lost, evidence.weights))
        best = min(range(len(tried)), key=lambda each: tried[each].loss)
    best = best if tried[best].is_better_than(tried[0]) else 0
    return best, tried[best]


def _losses_on_fold(evidence: Evidence, held: NDArray[np.bool_]) -> Iterator[Floats]:
    aside, known = evidence.rows(held), evidence.rows(~held)
    start = fit_weighted_sum(known)
    logits, inputs = _logits(start, aside), _own_inputs(aside)
    for tree in _residual_trees(known, start):
        yield -log_softmax(logits, axis=1)[np.arange(len(aside.codes)), aside.codes]
        logits = logits + tree.predict(inputs)


def _residual_trees(evidence: Evidence, start: Linear) -> Iterator[DecisionTreeRegressor]:
    inputs, logits = _own_inputs(evidence), _logits(start, evidence)
    weights = evidence.weights * len(evidence.weights)
    truth = np.arange(evidence.n_classes) == evidence.codes[:, np.newaxis]
    while True:
        shares: Floats = softmax(logits, axis=1)
        tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=LEAF, random_state=0)
        tree.fit(inputs, truth - shares, sample_weight=weights)
        leaves = tree.apply(inputs)
        values = STEP * newton_steps(leaves, tree.tree_.node_count, truth, shares, weights)
        tree.tree_.value[:, :, 0] = values
        yield tree
        logits = logits + values[leaves]


def _own_inputs(evidence: Evidence) -> Floats:
    """Return the inputs of the trees; the initiator's scores are zero where the evidence has none of it."""
    said = dict(zip(evidence.agents, evidence.scores, strict=True))
    return inputs_of(said.get(evidence.initiator, np.zeros(evidence.scores.shape[1:])), evidence.own)


def _logits(start: Linear, evidence: Evidence) -> Floats:
    return decision_of(start, evidence) * ((evidence.n_classes - 1) / evidence.n_classes)
