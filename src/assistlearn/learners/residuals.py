r"""Boosting in private on residuals: how small trees follow what the vote still lacks.

A boosted classifier gets one weight per sample. With many classes that says too little: what a vote lacks has as many
directions as there are classes. So a small tree is not fitted to weighted labels. Its *twin*, a regression tree with
the same limits and an output for every class, is fitted to the residuals :math:`r_k = [k = y] - p_k` of the vote
:math:`p`, all classes at once. What a leaf says is :data:`STEP` times a step of Newton's method towards the least log
loss,

.. math:: \frac{K-1}{K} \cdot \frac{\sum_i w_i r_{ik}}{\sum_i w_i p_{ik} (1 - p_{ik}) + 1},

with the initial weights :math:`w` of the samples, and never more than :data:`MOST`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from assistlearn.core import RunState, SoftState
from assistlearn.errors import UntrustedFileError
from assistlearn.learners.boosting import Boosting, Private, Step
from assistlearn.learners.model import Model
from assistlearn.learners.weighting import TurnSeeds
from assistlearn.types import Bools, Codes, Floats, Said

if TYPE_CHECKING:
    from assistlearn.learners.learner import Learner

STEP = 0.3
"""The share of Newton's step that is taken."""

MOST = 4.0
"""The largest of Newton's steps, in logarithms of a probability."""

DAMPING = 1.0
"""Added to the second derivative of the loss in a leaf, so that a leaf with little weight says little."""

LOUDNESS = 0.7
"""The factor by which the sum of the trees is multiplied before it is released, so that it is no surer than a model
may be. The weight of the turn, which is found when the turn is judged, makes up for it."""

MOST_HALVINGS = 10
"""How often a step is halved, at the most, that would raise the loss of the samples that a tree has seen."""

Leaves = NDArray[np.intp]


@dataclass(frozen=True)
class ResidualTrees:
    """The regression trees of one turn, with an output for every class: what a leaf adds to its log probability."""

    trees: Sequence[DecisionTreeRegressor]
    loudness: float
    n_classes: int

    @property
    def classes_(self) -> NDArray[np.intp]:
        return np.arange(self.n_classes)

    def sums(self, rows: Any, **options: Any) -> Floats:
        total: Floats = self.trees[0].predict(rows, **options)
        for tree in self.trees[1:]:
            total = total + tree.predict(rows, **options)
        return total

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        return _probabilities(self.sums(rows, **options), self.loudness)

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        codes: NDArray[np.intp] = self.sums(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        if not isinstance(self.trees, list) or not self.trees or type(self.n_classes) is not int or self.n_classes < 2:
            raise UntrustedFileError(f"{source}: residual trees must have a list of trees, and at least two classes.")
        if type(self.loudness) is not float or not 0.0 < self.loudness < np.inf:
            raise UntrustedFileError(
                f"{source}: residual trees have the loudness {self.loudness!r}, which is not a positive finite number."
            )
        for tree in self.trees:
            if type(tree) is not DecisionTreeRegressor or not hasattr(tree, "tree_"):
                raise UntrustedFileError(
                    f"{source}: residual trees contain something that is not a fitted regression tree."
                )
            said = tree.tree_.value
            if said.shape[1:] != (self.n_classes, 1) or getattr(tree, "n_outputs_", None) != self.n_classes:
                raise UntrustedFileError(f"{source}: a residual tree does not give one number for each class.")
            if not np.isfinite(said).all():
                raise UntrustedFileError(f"{source}: a residual tree gives numbers that are not finite.")


def _probabilities(sums: Floats, loudness: float) -> Floats:
    out: Floats = softmax(loudness * sums, axis=1)
    return out


def twin(classifier: Any) -> DecisionTreeRegressor | None:
    """Return the regression tree that has a classification tree's limits; None where there is none.

    There is none for weights of classes, for monotonic columns, and for limits in units of the impurity: the impurity
    of residuals falls from tree to tree.
    """
    if type(classifier) is not DecisionTreeClassifier:  # a subclass may do anything
        return None
    settings = classifier.get_params()
    unlike = settings.pop("class_weight") is not None or settings["monotonic_cst"] is not None
    if unlike or settings["ccp_alpha"] > 0.0 or settings["min_impurity_decrease"] > 0.0:
        return None
    return DecisionTreeRegressor(**(settings | {"criterion": "squared_error"}))


def has_residuals(state: RunState) -> bool:
    """Whether the loss of a state is the log loss. Its derivatives are the residuals, with a minus sign."""
    return isinstance(state, SoftState) and state.loss == "logistic"


class ResidualBoosting(Boosting):
    """Trees fitted to residuals one after another, starting from the state's votes; together they answer their sum."""

    plain: ClassVar[bool] = False
    per_model: ClassVar[int] = 2  # because steps are small and trees cheap

    @staticmethod
    def each(learner: Learner, state: RunState, codes: Codes, turn: Private) -> Iterator[Step]:
        """Yield trees until one cannot lower the loss; the first even then, so that there is always one."""
        assert isinstance(state, SoftState)
        seeds, weights = TurnSeeds(turn.seed), state.initial_weights()
        truth: Bools = np.arange(state.n_classes) == codes[:, np.newaxis]
        logits: Floats = state.class_votes(codes) * ((state.n_classes - 1) / state.n_classes)
        number = 1
        while True:
            shares: Floats = softmax(logits, axis=1)
            seed = turn.seed if number == 1 else seeds.of(number)
            tree, leaves = learner.fit_residuals(truth - shares, weights, seed, turn.when)
            values = STEP * newton_steps(leaves, tree.tree_.node_count, truth, shares, weights)
            values = _lowering(values, leaves, logits, truth, weights)
            if number > 1 and not values.any():
                return
            tree.tree_.value[:, :, 0] = values
            yield Step(tree, values[leaves])
            logits = logits + values[leaves]
            number += 1

    @staticmethod
    def answers(step: Step, rows: Any) -> Said:
        said: Floats = step.model.predict(rows)
        return said

    def add(self, step: Step, said: Said) -> None:
        self._total = said if self._total is None else self._total + said
        self.steps.append(step)

    def said(self) -> Said:
        return _probabilities(self._total, LOUDNESS)

    def model(self, front: Any) -> Model:
        trees = ResidualTrees([step.model for step in self.steps], LOUDNESS, self.n_classes)
        return Model(front, trees, self.n_classes)


def newton_steps(leaves: Leaves, n_nodes: int, truth: Bools, shares: Floats, weights: Floats | None) -> Floats:
    """Return the step of Newton's method for every leaf and class; zero for nodes that are not leaves."""
    n_classes = shares.shape[1]
    residuals, bends = truth - shares, shares * (1.0 - shares)
    if weights is not None:
        residuals, bends = residuals * weights[:, np.newaxis], bends * weights[:, np.newaxis]
    steps = np.empty((n_nodes, n_classes))
    for code in range(n_classes):
        bend = np.bincount(leaves, bends[:, code], n_nodes) + DAMPING
        steps[:, code] = np.bincount(leaves, residuals[:, code], n_nodes) / bend
    steps *= (n_classes - 1) / n_classes
    return np.clip(steps, -MOST, MOST, out=steps)


def _lowering(values: Floats, leaves: Leaves, logits: Floats, truth: Bools, weights: Floats | None) -> Floats:
    """Return the values of the leaves, halved until they do not raise the loss; zeros where that does not help."""
    before = _mean_loss(logits, truth, weights)
    for _ in range(MOST_HALVINGS):
        if _mean_loss(logits + values[leaves], truth, weights) <= before:
            return values
        values = values / 2.0
    return np.zeros_like(values)


def _mean_loss(logits: Floats, truth: Bools, weights: Floats | None) -> float:
    return float(np.average(-log_softmax(logits, axis=1)[truth], weights=weights))
