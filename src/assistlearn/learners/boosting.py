"""Several models in one turn: boosted or bagged by an agent in private, and one model to everybody else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from assistlearn.core import RunState, SoftState
from assistlearn.core.votes import add_answers, probabilities
from assistlearn.errors import UntrustedFileError
from assistlearn.learners.model import Model, TurnSeeds
from assistlearn.methods.method import Method
from assistlearn.types import Bools, Codes, Floats, Said

if TYPE_CHECKING:
    from assistlearn.learners.learner import Learner

PATIENCE = 2
"""Boosting stops after this many models in a row without further gain on an unseen fold, plus half the best number."""


# -- models that answer as one -----------------------------------------------------------------------------------------


Kind: TypeAlias = Literal["boosted", "corrected", "bagged"]


@dataclass(frozen=True)
class Several:
    """Models of one turn that answer as one, for all ``n_classes`` classes.

    ``"boosted"`` models answer with the mean of their weighted votes. The weight of the turn is found later, when the
    turn is judged. The sum of many votes would be surer than a model may be (:data:`assistlearn.core.votes.LEAST`), and
    that would cut off what the models say about all other classes. ``"corrected"`` ones answer with the sum of their
    votes (:func:`corrected`), and ``"bagged"`` ones with the mean of their probabilities.
    """

    kind: Kind
    models: Sequence[Model]
    weights: Sequence[float]
    n_classes: int

    @property
    def classes_(self) -> NDArray[np.intp]:
        return np.arange(self.n_classes)

    def votes(self, rows: Any, **options: Any) -> Floats:
        said = [model.say(rows, **options) for model in self.models]
        total = np.zeros((len(said[0]), self.n_classes))
        for answers, weight in zip(said, self.weights, strict=True):
            if self.kind == "bagged":
                total = total + answers
            else:
                add_answers(total, answers, weight)
        return total

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        codes: NDArray[np.intp] = self.votes(rows, **options).argmax(axis=1)
        return codes

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        total = self.votes(rows, **options)
        if self.kind == "bagged":
            return total / len(self.models)
        return probabilities(total) if self.kind == "corrected" else mean_probabilities(total, self.weights)

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the models themselves, one by one."""
        whole = isinstance(self.models, list) and isinstance(self.weights, list) and type(self.n_classes) is int
        if self.kind not in get_args(Kind) or not whole or not self.models or self.n_classes < 2:
            raise UntrustedFileError(f"{source}: models that answer as one are not whole, or not of a kind known here.")
        what, bagged = f"{source}: a {self.kind} model", self.kind == "bagged"
        if len(self.models) != len(self.weights):
            raise UntrustedFileError(f"{what} does not have one weight for each of its models.")
        least = -np.inf if self.kind == "corrected" else 0.0
        for model, weight in zip(self.models, self.weights, strict=True):
            made_of = model.estimator if isinstance(model, Model) and model.front is None else None
            several = isinstance(made_of, Several) and (self.kind != "corrected" or made_of.kind == "corrected")
            if made_of is None or several or (bagged and isinstance(made_of, ResidualTrees)):
                raise UntrustedFileError(f"{what} contains something that is not a model of one turn.")
            if model.n_classes != self.n_classes and (bagged or model.n_classes is not None):
                raise UntrustedFileError(f"{what} contains a model with another number of classes.")
            if type(weight) is not float or not np.isfinite(weight) or weight < least:
                raise UntrustedFileError(
                    f"{what} has the weight {weight!r}, which is not a finite number of at least {least:g}."
                )


def mean_probabilities(votes: Floats, weights: Sequence[float]) -> Floats:
    """Return the probabilities of the mean vote, given the weighted sum of the votes."""
    return probabilities(votes / max(sum(weights), np.finfo(np.float64).tiny))


def corrected(new: Model, weight: float, earlier: Sequence[tuple[Model, float]], n_classes: int) -> Model:
    r"""Return the model that says what a new one says with this weight, less what earlier ones say with theirs.

    In a later round an agent fits its model beside what the *others* have said, as if its own earlier models had not
    spoken. What it then answers is the difference, so that the votes of all rounds still add up.

    Why not simply fit one more model to what the vote lacks? Rewards are honest: for each fold they come from a copy
    that has not seen it. So what the vote lacks on the other folds contains this fold's labels, with the opposite sign.
    A copy that is fitted to it learns the opposite of its own fold. With three folds and an agent that says a mean
    :math:`m`, the vote lacks :math:`m_1 - (m_2 + m_3) / 2` on the first fold, and so on. The copy of the third fold
    learns :math:`\frac12 ((m_1 + m_2) / 2 - m_3)`, which is wrong exactly where the mean of its fold differs by chance.
    Small gains drown in that. Once the agent's own votes are taken out, nothing of the kind is left of them.

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
        if isinstance(model.estimator, Several) and model.estimator.kind == "corrected":
            (latest, *_), (its_own, *_) = model.estimator.models, model.estimator.weights
            said = [(part, (1.0 - its_weight) * known) for part, known in said]
            said.append((latest, its_weight * its_own))
        else:
            said.append((model, its_weight))
    parts = [(new, weight), *((model, -its_weight) for model, its_weight in said)]
    models = [replace(model, front=None) for model, _ in parts]
    several = Several("corrected", models, [float(each) for _, each in parts], n_classes)
    return Model(new.front, several, n_classes)


# -- making them -------------------------------------------------------------------------------------------------------
# The agent copies the state of the samples that it learns from. In the copy, it boosts as a session with no other agent
# would: it fits a model under the ignorance, judges its answers for the samples that it has seen, and updates the
# state. The others only get the one answer that the models give together.


@dataclass(frozen=True)
class Private:
    """What the models of one turn are made from; ``state`` is never changed, and ``when`` is the turn in words."""

    state: RunState
    method: Method
    seed: int
    when: str


@dataclass(frozen=True)
class Step:
    model: Any
    said: Said
    weight: float = 1.0


class Boosting:
    """Models fitted one after another to weighted labels; together they answer with the mean of their votes."""

    plain: ClassVar[bool] = True
    """Whether the learner is just fitted where one model is the best number."""

    per_model: ClassVar[int] = 1
    """How many models count as one of those that an agent may make in a turn."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.steps: list[Step] = []
        self._total: Any = None

    @staticmethod
    def each(learner: Learner, state: RunState, codes: Codes, turn: Private) -> Iterator[Step]:
        """Yield models made one after another, and update the state with each, until one is useless or perfect.

        The first model is yielded even if it is useless, so that there is always one.
        """
        seeds, method = TurnSeeds(turn.seed), turn.method.in_private()
        number = 1
        while True:
            ignorance = state.ignorance()
            seed = turn.seed if number == 1 else seeds.of(number)
            model = learner.fit_only(ignorance, seed, turn.when, state.n_classes)
            said = learner.in_sample(model, turn.when)
            reward = method.reward(said, codes, None, state.n_classes)
            verdict = state.judge(reward, ignorance)
            if number == 1 or not verdict.useless:
                yield Step(model, said, max(verdict.model_weight, 0.0))
            if verdict.useless or verdict.perfect:  # the ignorance of the samples would stay the same
                return
            state.apply(reward, verdict.model_weight)
            number += 1

    @classmethod
    def of(cls, learner: Learner, state: RunState, codes: Codes, turn: Private, most: int) -> Self:
        out = cls(state.n_classes)
        for step in islice(cls.each(learner, state, codes, turn), most):
            out.add(step, step.said)
        return out

    @staticmethod
    def answers(step: Step, rows: Any) -> Said:
        said: Said = step.model.say(rows)
        return said

    def add(self, step: Step, said: Said) -> None:
        if self._total is None:
            self._total, self._first = np.zeros((len(said), self.n_classes)), said
        add_answers(self._total, said, step.weight)
        self.steps.append(step)

    def said(self) -> Said:
        return self._first if len(self.steps) == 1 else mean_probabilities(self._total, self._weights())

    def model(self, front: Any) -> Model:
        parts: list[Model] = [replace(step.model, front=None) for step in self.steps]
        if len(parts) == 1:
            return replace(parts[0], front=front)
        return Model(front, Several("boosted", parts, self._weights(), self.n_classes), self.n_classes)

    def _weights(self) -> list[float]:
        return [step.weight for step in self.steps]


BAGGED = 2
"""How many times as many bagged models are kept as answer for a sample: more are better, but what is claimed would be
too far behind."""


def bag(
    learner: Learner, codes: Codes, turn: Private, n_models: int, fold_of: NDArray[np.intp]
) -> tuple[list[Model], Said]:
    """Return models fitted to samples drawn at random, and what ``n_models`` of them say about each sample, unseen.

    A fully grown tree memorises its samples, so there is nothing left to boost. But many such trees, each fitted to
    another draw, are far better than one. Each draw leaves out a whole fold, in turn, and says something about the
    samples of that fold only (:mod:`assistlearn.learners.folds` says why). A drawn sample counts by its ignorance. A
    draw with a single class gives no model. For a sample about which no model says anything, all classes are equally
    likely.
    """
    ignorance, n_classes, seeds = turn.state.ignorance(), turn.state.n_classes, TurnSeeds(turn.seed)
    models: list[Model] = []
    n_folds = int(fold_of.max()) + 1
    said, asked = np.zeros((len(codes), n_classes)), np.zeros(n_folds)
    for number in range(n_models * n_folds):
        fold, seed = number % n_folds, seeds.of(number + 1)
        others = np.flatnonzero(fold_of != fold)
        drawn = others[np.random.RandomState(seed).randint(len(others), size=len(codes))]
        weights = ignorance * np.bincount(drawn, minlength=len(codes))
        if len(np.unique(codes[weights > 0.0])) < 2:
            continue  # nothing to tell apart
        model = learner.fit_only(weights / weights.sum(), seed, turn.when, n_classes)
        unseen = fold_of == fold
        said[unseen] += learner.in_sample(model, turn.when)[unseen]
        asked[fold] += 1
        if number < BAGGED * n_models:
            models.append(replace(model, front=None))
    times = asked[fold_of][:, np.newaxis]
    return models, np.where(times > 0, said / np.maximum(times, 1), 1.0 / n_classes)


# Boosting in private on residuals: how small trees follow what the vote still lacks.
#
# A boosted classifier gets one weight per sample. With many classes that says too little: what a vote lacks has as many
# directions as there are classes. So a small tree is not fitted to weighted labels. Its *twin*, a regression tree with
# the same limits and an output for every class, is fitted to the residuals :math:`r_k = [k = y] - p_k` of the vote
# :math:`p`, all classes at once. What a leaf says is :data:`STEP` times a step of Newton's method towards the least log
# loss,
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
