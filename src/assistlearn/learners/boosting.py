"""Several models in one turn: boosted or bagged by an agent in private, and one model to everybody else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assistlearn.core import RunState
from assistlearn.core.votes import add_answers, probabilities
from assistlearn.errors import UntrustedFileError
from assistlearn.learners.model import Model
from assistlearn.learners.weighting import TurnSeeds
from assistlearn.methods.method import Method
from assistlearn.types import Codes, Floats, Said

if TYPE_CHECKING:
    from assistlearn.learners.learner import Learner

PATIENCE = 2
"""Boosting stops after this many models in a row without further gain on an unseen fold, plus half the best number."""


# -- models that answer as one -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightedModels:
    """Models of one agent that answer with the weighted sum of their votes, for all ``n_classes`` classes."""

    models: Sequence[Model]
    weights: Sequence[float]
    n_classes: int

    what: ClassVar[str]
    least_weight: ClassVar[float]

    @property
    def classes_(self) -> NDArray[np.intp]:
        return np.arange(self.n_classes)

    def votes(self, rows: Any, **options: Any) -> Floats:
        said = [model.say(rows, **options) for model in self.models]
        total = np.zeros((len(said[0]), self.n_classes))
        for answers, weight in zip(said, self.weights, strict=True):
            add_answers(total, answers, weight)
        return total

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        codes: NDArray[np.intp] = self.votes(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the models themselves, one by one."""
        whole = isinstance(self.models, list) and isinstance(self.weights, list) and type(self.n_classes) is int
        if not whole or not self.models or len(self.models) != len(self.weights) or self.n_classes < 2:
            raise UntrustedFileError(
                f"{source}: {self.what} does not have one weight for each of its models, or at least two classes."
            )
        for model, weight in zip(self.models, self.weights, strict=True):
            if (
                not isinstance(model, Model)
                or model.front is not None
                or isinstance(model.estimator, Correction | type(self))
            ):
                raise UntrustedFileError(f"{source}: {self.what} contains something that is not a model of one turn.")
            if model.n_classes not in (None, self.n_classes):
                raise UntrustedFileError(f"{source}: {self.what} contains a model with another number of classes.")
            if type(weight) is not float or not np.isfinite(weight) or weight < self.least_weight:
                raise UntrustedFileError(
                    f"{source}: {self.what} has the weight {weight!r}, which is not a finite number of at least "
                    f"{self.least_weight:g}."
                )


class Boosted(WeightedModels):
    """The boosted models of one turn. They answer with the mean of their votes, not the sum.

    The weight of the turn is found later, when the turn is judged. The sum of many votes would be surer than a model
    may be (:data:`assistlearn.core.votes.LEAST`), and that would cut off what the models say about all other classes.
    """

    what, least_weight = "a boosted model", 0.0

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        return mean_probabilities(self.votes(rows, **options), self.weights)


def mean_probabilities(votes: Floats, weights: Sequence[float]) -> Floats:
    """Return the probabilities of the mean vote, given the weighted sum of the votes."""
    return probabilities(votes / max(sum(weights), np.finfo(np.float64).tiny))


class Correction(WeightedModels):
    r"""What an agent's new model says, less what its earlier models have said; the new model comes first.

    In a later round an agent fits its model beside what the *others* have said, as if its own earlier models had not
    spoken. What it then answers is the difference, so that the votes of all rounds still add up.

    Why not simply fit one more model to what the vote lacks? Rewards are honest: for each fold they come from a copy
    that has not seen it. So what the vote lacks on the other folds contains this fold's labels, with the opposite sign.
    A copy that is fitted to it learns the opposite of its own fold. With three folds and an agent that says a mean
    :math:`m`, the vote lacks :math:`m_1 - (m_2 + m_3) / 2` on the first fold, and so on. The copy of the third fold
    learns :math:`\frac12 ((m_1 + m_2) / 2 - m_3)`, which is wrong exactly where the mean of its fold differs by chance.
    Small gains drown in that. Once the agent's own votes are taken out, nothing of the kind is left of them.
    """

    what, least_weight = "a correction", -np.inf

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        return probabilities(self.votes(rows, **options))


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


@dataclass(frozen=True)
class Bagged:
    """Models that answer with the mean of their probabilities."""

    models: Sequence[Model]
    n_classes: int

    @property
    def classes_(self) -> NDArray[np.intp]:
        return np.arange(self.n_classes)

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        total = np.zeros(1)
        for model in self.models:
            total = total + model.say(rows, **options)
        return total / len(self.models)

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        codes: NDArray[np.intp] = self.predict_proba(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        if not isinstance(self.models, list) or not self.models or type(self.n_classes) is not int:
            raise UntrustedFileError(f"{source}: a bagged model has no list of models, or no number of classes.")
        for model in self.models:
            if not isinstance(model, Model) or model.front is not None or model.n_classes != self.n_classes:
                raise UntrustedFileError(
                    f"{source}: a bagged model contains something that is not a model of one turn with its classes."
                )
            if hasattr(model.estimator, "check_kept"):
                raise UntrustedFileError(f"{source}: a bagged model contains another model made of several.")


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
        return Model(front, Boosted(parts, self._weights(), self.n_classes), self.n_classes)

    def _weights(self) -> list[float]:
        return [step.weight for step in self.steps]


def bag(
    learner: Learner, codes: Codes, turn: Private, n_models: int, fold_of: NDArray[np.intp] | None = None
) -> tuple[list[Model], Said]:
    """Return models fitted to samples drawn at random, and what they say about the samples that they have not drawn.

    A fully grown tree memorises its samples, so there is nothing left to boost. But many such trees, each fitted to
    another draw, are far better than one, and what a tree says about samples outside its draw is honest at no cost. A
    drawn sample counts by its ignorance. For a sample that all models have drawn, all classes are equally likely. A
    draw with a single class gives no model.

    Where several samples are about the same person, ``fold_of`` is the fold of each. Then each draw leaves out a fold,
    and says something about its samples only: other samples that are not drawn may be about somebody who is.
    """
    ignorance, n_classes, seeds = turn.state.ignorance(), turn.state.n_classes, TurnSeeds(turn.seed)
    models: list[Model] = []
    n_folds = 1 if fold_of is None else int(fold_of.max()) + 1
    said, asked = np.zeros((len(codes), n_classes)), np.zeros(len(codes))
    for number in range(1, n_models + 1):
        seed = seeds.of(number)
        drawn = np.bincount(np.random.RandomState(seed).randint(len(codes), size=len(codes)), minlength=len(codes))
        if fold_of is not None:
            drawn[fold_of == number % n_folds] = 0
        weights = ignorance * drawn
        if len(np.unique(codes[weights > 0.0])) < 2:
            continue  # nothing to tell apart
        model = learner.fit_only(weights / weights.sum(), seed, turn.when, n_classes)
        unseen = drawn == 0 if fold_of is None else fold_of == number % n_folds
        said[unseen] += learner.in_sample(model, turn.when)[unseen]
        asked += unseen
        models.append(replace(model, front=None))
    return models, np.where(asked[:, np.newaxis] > 0, said / np.maximum(asked, 1)[:, np.newaxis], 1.0 / n_classes)
