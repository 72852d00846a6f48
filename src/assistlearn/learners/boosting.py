"""Boosting in private: what an agent does by itself inside a turn, before it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from assistlearn.core import RunState
from assistlearn.core.votes import add_answers, probabilities
from assistlearn.errors import UntrustedFileError
from assistlearn.learners.model import Model
from assistlearn.learners.weighting import TurnSeeds
from assistlearn.methods.method import Method
from assistlearn.types import Codes, Floats, Said

# A boosted model: several models that an agent made in one turn, and that vote as one.


@dataclass(frozen=True)
class Boosted:
    """The weighted models of one turn, behind the same transformers.

    Together they say the mean of their votes, not the sum. The weight of the turn is found later, when the turn is
    judged. The sum of many votes would be surer than a model may be (:data:`assistlearn.core.votes.LEAST`), and
    that would cut off what the models say about all other classes.

    Attributes
    ----------
    models : list of Model
        Without transformers of their own.
    weights : list of float
        The weights of their votes.
    n_classes : int
        The number of classes, all of which it gives probabilities for.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> parts = [Model(None, DecisionTreeClassifier().fit(X, codes), 2) for codes in (y, y[::-1])]
    >>> Boosted(parts, [0.2, 0.1], 2).predict_proba(X).round(2)
    array([[0.82, 0.18],
           [0.01, 0.99],
           [0.18, 0.82]])
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
        """Return the probabilities of the mean vote."""
        return mean_probabilities(self.votes(rows, **options), self.weights)

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        """Return the class codes with the most votes."""
        codes: NDArray[np.intp] = self.votes(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the models themselves, one by one.

        It is called for a boosted model that was read from a file (:mod:`assistlearn.learners.model`).
        """
        whole = isinstance(self.models, list) and isinstance(self.weights, list) and type(self.n_classes) is int
        if not whole or not self.models or len(self.models) != len(self.weights) or self.n_classes < 2:
            raise UntrustedFileError(
                f"{source}: a boosted model does not have one weight for each of its models, or at least two classes."
            )
        for model, weight in zip(self.models, self.weights, strict=True):
            if not isinstance(model, Model) or model.front is not None or isinstance(model.estimator, Boosted):
                raise UntrustedFileError(
                    f"{source}: a boosted model contains something that is not a model of one turn."
                )
            if model.n_classes not in (None, self.n_classes):
                raise UntrustedFileError(f"{source}: a boosted model contains a model with another number of classes.")
            if type(weight) is not float or not 0.0 <= weight < np.inf:
                raise UntrustedFileError(
                    f"{source}: a boosted model has the weight {weight!r}, which is not a finite number of at least 0."
                )


def mean_probabilities(votes: Floats, weights: Sequence[float]) -> Floats:
    """Return the probabilities of the mean vote, given the weighted sum of the votes.

    >>> mean_probabilities(np.array([[2.0, -2.0]]), [0.5, 1.5]).round(3)
    array([[0.731, 0.269]])
    """
    return probabilities(votes / max(sum(weights), np.finfo(np.float64).tiny))


# Boosting in private: what an agent does by itself inside a turn, before it answers.
#
# The agent copies the state of the samples that it learns from. In the copy, it boosts as a session with no other
# agent would: it fits a model under the ignorance, judges its answers for the samples that it has seen, and updates
# the state. The others only hear the one answer that the models give together.


PATIENCE = 2
"""Boosting stops after this many models in a row without further gain on an unseen fold, plus half the best number."""


class Fits(Protocol):
    """What boosting needs from a learner. The learner must be prepared."""

    def fit_only(self, ignorance: Floats, seed: int, when: str, n_classes: int | None = None) -> Model:
        """Return a model fitted under this ignorance."""
        ...

    def in_sample(self, model: Model, when: str) -> Said:
        """Return what a model answers for the samples that it was fitted to."""
        ...


@dataclass(frozen=True)
class Private:
    """What the models of one turn are made from: the state, the method, and the seed of the turn.

    Attributes
    ----------
    state : RunState
        The state of the samples that the agent holds. It is never changed.
    method : Method
        The method of the run, which rewards and judges the models.
    seed : int
        The seed of the turn.
    when : str
        The turn in words, for error messages.
    """

    state: RunState
    method: Method
    seed: int
    when: str


@dataclass(frozen=True)
class Step:
    """One model, what it answers for the samples it has seen, and the weight of its vote."""

    model: Model
    said: Said
    weight: float

    def about(self, rows: Any) -> Said:
        """Return what the model answers for rows that are transformed already."""
        return self.model.say(rows)


@dataclass
class Together:
    """What models say together about one set of samples (:class:`~.boosted.Boosted`); a single model speaks alone."""

    n_classes: int
    steps: list[Step] = field(default_factory=list)
    _votes: Any = None
    _first: Any = None

    def add(self, step: Step, said: Said) -> None:
        """Add one more model, and what it says about the samples."""
        if not self.steps:
            self._votes, self._first = np.zeros((len(said), self.n_classes)), said
        add_answers(self._votes, said, step.weight)
        self.steps.append(step)

    def said(self) -> Said:
        """Return what the models so far say together."""
        return self._first if len(self.steps) == 1 else mean_probabilities(self._votes, self._weights())

    def model(self, front: Any) -> Model:
        """Return the models as the one model of the turn."""
        first = self.steps[0].model
        if len(self.steps) == 1:
            return replace(first, front=front)
        parts = [replace(step.model, front=None) for step in self.steps]
        return Model(front, Boosted(parts, self._weights(), self.n_classes), self.n_classes)

    def _weights(self) -> list[float]:
        return [step.weight for step in self.steps]


def boost(learner: Fits, state: RunState, codes: Codes, turn: Private) -> Iterator[Step]:
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


@dataclass(frozen=True)
class Way:
    """A way to boost in private.

    Attributes
    ----------
    steps : callable
        Yields the models one after another, from a learner, a state (which it may change), class codes and a turn.
    together : callable
        Returns, for a number of classes, an object that puts the answers of models together.
    plain : bool
        Whether a single model is made without boosting: where one model is the best number, the learner is just fitted.
    per_model : int
        How many models made in this way count as one of the models that an agent may make in a turn.
    """

    steps: Callable[[Any, RunState, Codes, Private], Iterator[Any]]
    together: Callable[[int], Any]
    plain: bool
    per_model: int = 1


CLASSIFIERS = Way(boost, Together, plain=True)
"""Models fitted to weighted labels, which say the mean of their votes."""


def together(way: Way, learner: Any, state: RunState, codes: Codes, turn: Private, most: int) -> Any:
    """Return the first ``most`` models, and what they say about the samples that they have seen."""
    out = way.together(state.n_classes)
    for step in islice(way.steps(learner, state, codes, turn), most):
        out.add(step, step.said)
    return out


class Gains:
    """Find the number of models with the largest gain on samples that they have not seen.

    >>> gains = Gains()
    >>> [gains.goes_on(gain) for gain in (0.1, 0.3, 0.2, 0.2, 0.3)], gains.best
    ([True, True, True, True, False], 2)
    """

    def __init__(self) -> None:
        self.best = 0
        self._gain = -np.inf
        self._n = 0

    def goes_on(self, gain: float) -> bool:
        """Whether another model is worth trying, given the gain of the models so far."""
        self._n += 1
        if gain > self._gain:
            self.best, self._gain = self._n, gain
        return self._n - self.best < PATIENCE + self.best // 2


# A bagged model: trees that an agent made in one turn, each from samples drawn at random, and that vote as one.
#
# A fully grown tree memorises its samples, so there is nothing left to boost. But many such trees, each fitted to
# another draw of the samples, are far better than one. What a tree says about samples outside its draw is honest at no
# cost.


@dataclass(frozen=True)
class Bagged:
    """Models that answer with the mean of their probabilities.

    Attributes
    ----------
    models : list of Model
        Without transformers of their own.
    n_classes : int
        The number of classes, all of which it gives probabilities for.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> parts = [Model(None, DecisionTreeClassifier().fit(X, codes), 2) for codes in (y, y, y[::-1], y[::-1])]
    >>> Bagged(parts, 2).predict_proba(X)
    array([[0.5, 0.5],
           [0. , 1. ],
           [0.5, 0.5]])
    """

    models: Sequence[Model]
    n_classes: int

    @property
    def classes_(self) -> NDArray[np.intp]:
        """The class codes, in the order of the probabilities."""
        return np.arange(self.n_classes)

    def predict_proba(self, rows: Any, **options: Any) -> Floats:
        """Return the mean of the models' probabilities."""
        total = np.zeros(1)
        for model in self.models:
            total = total + model.say(rows, **options)
        return total / len(self.models)

    def predict(self, rows: Any, **options: Any) -> NDArray[np.intp]:
        """Return the likeliest class codes."""
        codes: NDArray[np.intp] = self.predict_proba(rows, **options).argmax(axis=1)
        return codes

    def check_kept(self, source: str) -> None:
        """Refuse parts that no learner has made. The audit checks the models themselves, one by one."""
        if not isinstance(self.models, list) or not self.models or type(self.n_classes) is not int:
            raise UntrustedFileError(f"{source}: a bagged model has no list of models, or no number of classes.")
        for model in self.models:
            if not isinstance(model, Model) or model.front is not None or model.n_classes != self.n_classes:
                raise UntrustedFileError(
                    f"{source}: a bagged model contains something that is not a model of one turn with its classes."
                )
            if hasattr(model.estimator, "check_kept"):
                raise UntrustedFileError(f"{source}: a bagged model contains another model made of several.")


def bag(
    learner: Fits, codes: Codes, turn: Private, n_models: int, fold_of: NDArray[np.intp] | None = None
) -> tuple[list[Model], Said]:
    """Return models fitted to samples drawn at random, and what they say about the samples that they have not drawn.

    A drawn sample counts by its ignorance. There is no honest answer for a sample that all models have drawn: all
    classes are then equally likely.

    Parameters
    ----------
    learner : Fits
        A tree that is prepared.
    codes : ndarray of shape (n_samples,)
        The class codes of the samples that the agent holds.
    turn : Private
        The state of these samples, and the seed.
    n_models : int
        How many models to fit. A draw with a single class gives none.
    fold_of : ndarray of int of shape (n_samples,), optional
        The fold of each sample, where several samples are about the same person. Then each draw leaves out a fold, and
        says something about its samples only: other samples that are not drawn may be about somebody who is.
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


# Several models of one agent, which answer in a single pass where their learner can join them.


WORTHWHILE = 4_096
"""The number of rows from which joining models saves more time than it takes."""
MOST_ANSWERS = 2**26
"""The most answers that are held at a time."""
MOST_MODELS = 64
"""The most models that are joined into one."""


@runtime_checkable
class AnswersTogether(Protocol):
    """An estimator whose fitted copies can be joined into one that answers for all of them in a single pass."""

    def join(self, models: Sequence[Any]) -> Joint | None:
        """Return the joint model of these fitted copies of it, or None where they cannot be joined."""
        ...


class Joint(Protocol):
    """What :meth:`AnswersTogether.join` returns."""

    def predict(self, X: Any) -> Codes:
        """Return what each model answers for these rows, of shape (n_models, n_rows)."""
        ...


class Panel:
    """The models of one agent, which answer in the order in which they are given.

    Parameters
    ----------
    models : sequence of Model
        Behind the same transformers, fitted to the same columns and classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> panel = Panel([Model(None, DecisionTreeClassifier().fit(X, codes)) for codes in (y, y[::-1])])
    >>> [codes.tolist() for codes in panel.answers(X)]
    [[0, 1, 1], [1, 1, 0]]
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models
        self._joints: dict[tuple[int, int], Joint | None] = {}

    def answers(self, rows: Any) -> Iterator[Said]:
        """Yield each model's answers for rows that are transformed already: class codes, or probabilities."""
        n_rows = _num_samples(rows)
        size = min(MOST_MODELS, max(1, MOST_ANSWERS // max(n_rows, 1)))
        for start in range(0, len(self._models), size):
            group = self._models[start : start + size]
            joint = self._joint(start, group) if n_rows >= WORTHWHILE else None
            if joint is None:
                yield from (model.say(rows) for model in group)
            else:
                yield from joint.predict(rows)

    def _joint(self, start: int, group: Sequence[Model]) -> Joint | None:
        """Join a group of models, once."""
        first = group[0].estimator
        alike = all(model.n_classes is None and model.classes is None for model in group)
        if len(group) < 2 or not alike or not isinstance(first, AnswersTogether):
            return None
        key = start, len(group)
        if key not in self._joints:
            self._joints[key] = first.join([model.estimator for model in group])
        return self._joints[key]
