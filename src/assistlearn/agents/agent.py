"""An agent: a private table, a learner, and the models it has kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn.core import votes
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.state import State, Verdict
from assistlearn.core.votes import Codes
from assistlearn.errors import LearnerError
from assistlearn.learners import Learner, Model


@dataclass(frozen=True)
class Turn:
    """What an agent is told when it is its turn: when it is, and the seed of its chance."""

    number: int
    round: int
    seed: int

    def __str__(self) -> str:
        return f"round {self.round}"


@dataclass(frozen=True)
class Answer:
    """What an agent says after its turn.

    Attributes
    ----------
    reward : ndarray of bool of shape (n_samples,)
        Where its new model is right.
    verdict : Verdict
        What the model is worth. A useless one is not kept.
    holdout : ndarray of int, optional
        The class codes that the model answers for the hold-out samples.
    """

    reward: Bools
    verdict: Verdict
    holdout: Codes | None = None


@dataclass(frozen=True)
class KeptModel:
    """A model that votes, its weight, and the round it was made in."""

    round: int
    model_weight: float
    model: Model


class Agent:
    """A private table, a learner and kept models, on the samples of one task.

    Parameters
    ----------
    name : str
        What the others call it.
    estimator : scikit-learn classifier
        Its private learner.
    """

    def __init__(self, name: str, estimator: Any) -> None:
        self.name = name
        self.models: list[KeptModel] = []
        self._learner = Learner(estimator, name)
        self._codes: Codes = np.empty(0, dtype=np.int64)
        self._holdout: Any = None

    def begin(self, table: Any, codes: Codes, seed: int, holdout: Any = None) -> None:
        """Take the training rows, their class codes and the rows of the hold-out samples, if there are any."""
        self.models = []
        self._codes = codes
        self._holdout = holdout
        self._learner.prepare(table, codes, seed)

    def take_turn(self, turn: Turn, state: State) -> Answer:
        """Fit a model under the present ignorance; keep it unless it is useless."""
        ignorance = state.ignorance()
        model, answers = self._learner.fit(ignorance, turn.seed, str(turn))
        reward = answers == self._codes
        verdict = state.judge(reward, ignorance)
        if verdict.useless:
            return Answer(reward, verdict)
        self.models.append(KeptModel(turn.round, verdict.model_weight, model))
        if self._holdout is None:
            return Answer(reward, verdict)
        with self._learner.named(f"predict the hold-out samples in {turn}"):
            return Answer(reward, verdict, model.predict(self._holdout))

    def end(self, n_rounds: int) -> None:
        """Cut back to the models of the first ``n_rounds`` rounds, and let go of the training rows."""
        self.models = [kept for kept in self.models if kept.round <= n_rounds]
        self._learner.release()
        self._codes = np.empty(0, dtype=np.int64)
        self._holdout = None

    @property
    def total_weight(self) -> float:
        """The sum of the weights of its kept models."""
        return sum(kept.model_weight for kept in self.models)

    def answers(self, table: Any, n_classes: int) -> Iterator[tuple[KeptModel, Codes]]:
        """Yield each kept model with the class codes it answers for these rows."""
        if not self.models:
            return
        with self._learner.named("transform the rows to predict"):
            rows = self.models[0].model.transform(table)
        for kept in self.models:
            with self._learner.named(f"predict with its model of round {kept.round}"):
                codes = kept.model.answer(rows)
            _check_codes(codes, n_classes, self.name, kept.round)
            yield kept, codes

    def scores(self, table: Any, n_samples: int, n_classes: int) -> Floats:
        """Return the sum of its weighted votes, ``n_samples x n_classes``."""
        total = np.zeros((n_samples, n_classes))
        for kept, codes in self.answers(table, n_classes):
            votes.add_vote(total, codes, kept.model_weight)
        return total


def _check_codes(codes: Codes, n_classes: int, agent: str, round: int) -> None:
    """Refuse answers that are no class codes."""
    for code in (codes.min(initial=0), codes.max(initial=0)):
        if not 0 <= code < n_classes:
            raise LearnerError(
                f"Agent {agent!r}: its model of round {round} answered class code {int(code)}, "
                f"but there are {n_classes} classes."
            )
