"""Boosting in private on residuals: how small trees follow what the votes still lack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from assistlearn.core import RunState, SoftState
from assistlearn.core.votes import add_answers, probabilities
from assistlearn.errors import UntrustedFileError
from assistlearn.learners.boosting import Private, Way
from assistlearn.learners.model import Model
from assistlearn.learners.weighting import TurnSeeds
from assistlearn.types import Bools, Codes, Floats

# Residual trees: regression trees that an agent made in one turn, and that vote as one.
#
# :mod:`assistlearn.learners.residuals` explains how they are made.


@dataclass(frozen=True)
class ResidualTrees:
    """The residual trees of one turn, behind the same transformers.

    Attributes
    ----------
    trees : list of DecisionTreeRegressor
        With an output for every class: what a leaf adds to the logarithm of the class's probability.
    loudness : float
        The factor by which their sum is multiplied before it is told.
    n_classes : int
        The number of classes, all of which it gives probabilities for.

    Examples
    --------
    >>> X, residuals = np.array([[0.0], [1.0], [2.0]]), np.array([[0.5, -0.5], [-0.5, 0.5], [-0.5, 0.5]])
    >>> parts = [DecisionTreeRegressor(max_depth=1).fit(X, residuals) for _ in range(2)]
    >>> ResidualTrees(parts, 1.0, 2).predict_proba(X).round(2)
    array([[0.88, 0.12],
           [0.12, 0.88],
           [0.12, 0.88]])
    """

    trees: Sequence[DecisionTreeRegressor]
    loudness: float
    n_classes: int

    @property
    def classes_(self) -> NDArray[np.intp]:
        """The class codes, in the order of the probabilities."""
        return np.arange(self.n_classes)

    def sums(self, rows: Any, **options: Any) -> Floats:
        """Return the sum of what the trees say, ``n x K``."""
        total: Floats = self.trees[0].predict(rows, **options)
        for tree in self.trees[1:]:
            total = total + tree.predict(rows, **options)
        return total

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        """Return the probabilities that follow from the sum and the loudness."""
        return said_by(self.sums(rows, **options), self.loudness)

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        """Return the likeliest class codes."""
        codes: NDArray[np.intp] = self.sums(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the nodes of the trees.

        It is called for residual trees that were read from a file (:mod:`assistlearn.learners.model`).
        """
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


def said_by(sums: Floats, loudness: float) -> Floats:
    """Return the probabilities that follow from sums of trees.

    >>> said_by(np.array([[2.0, 0.0]]), 0.5).round(3)
    array([[0.731, 0.269]])
    """
    out: Floats = softmax(loudness * sums, axis=1)
    return out


# A correction: what an agent's new model says, less what its earlier models have said.
#
# In a later round an agent fits its model beside what the *others* have said, as if its own earlier models had not
# spoken. What it then tells is the difference, so that the votes of all rounds still add up.
#
# Why not simply fit one more model to what the vote lacks? Rewards are honest: for each fold they come from a copy
# that has not seen it. So what the vote lacks on the other folds contains this fold's labels, with the opposite sign.
# A copy that is fitted to it learns the opposite of its own fold. With three folds and an agent that says a mean
# :math:`m`, the vote lacks :math:`m_1 - (m_2 + m_3) / 2` on the first fold, and so on. The copy of the third fold
# learns :math:`\frac12 ((m_1 + m_2) / 2 - m_3)`, which is wrong exactly where the mean of its fold differs by chance.
# Small gains drown in that. Once the agent's own votes are taken out, nothing of the kind is left of them.


@dataclass(frozen=True)
class Correction:
    """A new model and the earlier ones of the same agent, behind the same transformers.

    Attributes
    ----------
    models : list of Model
        The new model first. They have no transformers of their own.
    weights : list of float
        The weights of their votes; those of the earlier models have the opposite sign.
    n_classes : int
        The number of classes, all of which it gives probabilities for.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    >>> part = Model(None, DecisionTreeClassifier().fit(X, y), 2)
    >>> Correction([part, part], [0.3, -0.1], 2).predict_proba(X).round(2)
    array([[0.72, 0.28],
           [0.28, 0.72]])
    """

    models: Sequence[Model]
    weights: Sequence[float]
    n_classes: int

    @property
    def classes_(self) -> NDArray[np.intp]:
        """The class codes, in the order of the probabilities."""
        return np.arange(self.n_classes)

    def votes(self, rows: Any, **options: Any) -> Floats:
        """Return the weighted sum of the models' votes, ``n x K``."""
        said = [model.say(rows, **options) for model in self.models]
        total = np.zeros((len(said[0]), self.n_classes))
        for answers, weight in zip(said, self.weights, strict=True):
            add_answers(total, answers, weight)
        return total

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        """Return the probabilities that the votes mean."""
        return probabilities(self.votes(rows, **options))

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        """Return the class codes with the most votes."""
        codes: NDArray[np.intp] = self.votes(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the models themselves, one by one."""
        whole = isinstance(self.models, list) and isinstance(self.weights, list) and type(self.n_classes) is int
        if not whole or not self.models or len(self.models) != len(self.weights) or self.n_classes < 2:
            raise UntrustedFileError(
                f"{source}: a correction does not have one weight for each of its models, or at least two classes."
            )
        for model, weight in zip(self.models, self.weights, strict=True):
            if not isinstance(model, Model) or model.front is not None or isinstance(model.estimator, Correction):
                raise UntrustedFileError(f"{source}: a correction contains something that is not a model of one turn.")
            if model.n_classes not in (None, self.n_classes):
                raise UntrustedFileError(f"{source}: a correction contains a model with another number of classes.")
            if type(weight) is not float or not np.isfinite(weight):
                raise UntrustedFileError(f"{source}: a correction has the weight {weight!r}, which is not finite.")


def corrected(new: Model, weight: float, earlier: Sequence[tuple[Model, float]], n_classes: int) -> Model:
    """Return the model that says what a new one says with this weight, less what earlier ones say with theirs.

    An earlier correction takes back what was said before it. So its parts are counted once, with the weights that are
    left of them.

    >>> first, second, third = (Model(None, name, 2) for name in "abc")
    >>> once = corrected(second, 1.0, [(first, 0.5)], 2)
    >>> twice = corrected(third, 1.0, [(first, 0.5), (once, 0.8)], 2).estimator
    >>> [model.estimator for model in twice.models], [round(weight, 3) for weight in twice.weights]
    (['c', 'a', 'b'], [1.0, -0.1, -0.8])
    """
    said: list[tuple[Model, float]] = []
    for model, its_weight in earlier:
        if isinstance(model.estimator, Correction):
            (latest, *_), (its_own, *_) = model.estimator.models, model.estimator.weights
            said = [(part, (1.0 - its_weight) * known) for part, known in said]
            said.append((latest, its_weight * its_own))
        else:
            said.append((model, its_weight))
    parts = [(new, weight), *((model, -its_weight) for model, its_weight in said)]
    models = [replace(model, front=None) for model, _ in parts]
    return Model(new.front, Correction(models, [float(each) for _, each in parts], n_classes), n_classes)


# Boosting in private on residuals: how small trees follow what the vote still lacks.
#
# A boosted classifier gets one weight per sample. With many classes that says too little: what a vote lacks has as
# many directions as there are classes. So a small tree is not fitted to weighted labels. Its *twin*, a regression tree
# with the same limits and an output for every class, is fitted to the residuals :math:`r_k = [k = y] - p_k` of the
# vote :math:`p`, all classes at once. What a leaf says is :data:`STEP` times a step of Newton's method towards the
# least log loss,
#
# .. math:: \frac{K-1}{K} \cdot \frac{\sum_i w_i r_{ik}}{\sum_i w_i p_{ik} (1 - p_{ik}) + 1},
#
# with the initial weights :math:`w` of the samples, and never more than :data:`MOST`.


STEP = 0.3
"""The share of Newton's step that is taken."""

MOST = 4.0
"""The largest of Newton's steps, in logarithms of a probability."""

DAMPING = 1.0
"""Added to the second derivative of the loss in a leaf, so that a leaf with little weight says little."""

LOUDNESS = 0.7
"""The factor by which the sum of the trees is multiplied before it is told, so that it is no surer than a model may be.

The weight of the turn, which is found when the turn is judged, makes up for it.
"""

MOST_HALVINGS = 10
"""How often a step is halved, at the most, that would raise the loss of the samples that a tree has seen."""

Leaves = NDArray[np.intp]


class FitsResiduals(Protocol):
    """What boosting on residuals needs from a learner. The learner must be prepared."""

    def fit_residuals(
        self, residuals: Floats, weights: Floats | None, seed: int, when: str
    ) -> tuple[DecisionTreeRegressor, Leaves]:
        """Return the learner's twin, fitted to residuals, and the leaf of every sample."""
        ...


def twin(classifier: Any) -> DecisionTreeRegressor | None:
    """Return the regression tree that has a classification tree's limits; None where there is none.

    There is none for weights of classes, for monotonic columns, and for limits in units of the impurity: the impurity
    of residuals falls from tree to tree.

    >>> twin(DecisionTreeClassifier(max_depth=3, min_samples_leaf=5))
    DecisionTreeRegressor(max_depth=3, min_samples_leaf=5)
    >>> twin(DecisionTreeClassifier(max_depth=3, class_weight="balanced")) is None
    True
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


@dataclass(frozen=True)
class ResidualStep:
    """One tree, and what it says about the samples that it has seen, ``n x K``."""

    tree: DecisionTreeRegressor
    said: Floats

    def about(self, rows: Any) -> Floats:
        """Return what the tree says about rows that are transformed already."""
        said: Floats = self.tree.predict(rows)
        return said


@dataclass
class Grown:
    """What residual trees say together about one set of samples."""

    n_classes: int
    steps: list[ResidualStep] = field(default_factory=list)
    _sums: Any = None

    def add(self, step: ResidualStep, said: Floats) -> None:
        """Add one more tree, and what it says about the samples."""
        self._sums = said if self._sums is None else self._sums + said
        self.steps.append(step)

    def said(self) -> Floats:
        """Return what the trees so far say together."""
        return said_by(self._sums, LOUDNESS)

    def model(self, front: Any) -> Model:
        """Return the trees as the one model of the turn."""
        trees = ResidualTrees([step.tree for step in self.steps], LOUDNESS, self.n_classes)
        return Model(front, trees, self.n_classes)


def grow(learner: FitsResiduals, state: RunState, codes: Codes, turn: Private) -> Iterator[ResidualStep]:
    """Yield trees made one after another, starting from the state's votes, until one cannot lower the loss.

    The first tree is yielded even then, so that there is always one.
    """
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
        yield ResidualStep(tree, values[leaves])
        logits = logits + values[leaves]
        number += 1


def newton_steps(leaves: Leaves, n_nodes: int, truth: Bools, shares: Floats, weights: Floats | None) -> Floats:
    """Return the step of Newton's method for every leaf and class; zero for nodes that are not leaves.

    >>> truth, shares = np.array([[True, False]] * 3), np.full((3, 2), 0.5)
    >>> newton_steps(np.array([1, 1, 2]), 3, truth, shares, None).round(3)
    array([[ 0.   ,  0.   ],
           [ 0.333, -0.333],
           [ 0.2  , -0.2  ]])
    """
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


RESIDUALS = Way(grow, Grown, plain=False, per_model=2)
"""Trees fitted to residuals, which say their sum. Two count as one model, because steps are small and trees cheap."""
