"""Boosting in private: what an agent does by itself inside a turn, before it answers.

The agent copies the state of the samples that it learns from. In the copy, it boosts as a session with no other agent
would: it fits a model under the ignorance, judges its answers for the samples that it has seen, and updates the state.
The others only hear the one answer that the models give together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

import numpy as np

from assistlearn.core import RunState
from assistlearn.core.confidence import Said, add_answers
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.learners.boosted import Boosted, mean_probabilities
from assistlearn.learners.model import Model
from assistlearn.learners.seeding import TurnSeeds
from assistlearn.methods.method import Method

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
