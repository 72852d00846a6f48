"""An agent: a private table, a learner, and the models it has kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.core import Reward, RunState, SoftReward, SoftState, Verdict
from assistlearn.core.blocks import blocks
from assistlearn.core.confidence import Said, add_answers, confidences, score_of_truth
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.quantise import quantise
from assistlearn.core.votes import Codes
from assistlearn.errors import LearnerError
from assistlearn.learners import Honesty, Learner, Model, Panel
from assistlearn.learners.weighting import take_rows

ABSTAINS = -1
"""In place of a class code: the agent does not hold this sample."""


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
    reward : ndarray of bool of shape (n_samples,), or SoftReward
        Where its new model is right, true where the agent abstains; or how sure it is of the truth, zero where the
        agent abstains.
    verdict : Verdict
        What the model is worth. A useless one is not kept.
    holdout : ndarray of int, or SoftReward, optional
        The class codes that the model answers for the hold-out samples (:data:`ABSTAINS` where the agent does); or its
        votes of weight one, ``n x K`` levels (zero where it abstains).
    """

    reward: Reward
    verdict: Verdict
    holdout: Codes | SoftReward | None = None


@dataclass(frozen=True)
class KeptModel:
    """A model that votes, its weight, and the round it was made in."""

    round: int
    model_weight: float
    model: Model


_Tried: TypeAlias = tuple[Model, Reward, Verdict]


class Agent:
    """A private table, a learner and kept models, on the samples of one task.

    Parameters
    ----------
    name : str
        What the others call it.
    estimator : scikit-learn classifier
        Its private learner.
    honesty : Honesty, optional
        How it finds out where its model is right; on the training samples by default.
    """

    def __init__(self, name: str, estimator: Any, honesty: Honesty | None = None) -> None:
        self.name = name
        self.models: list[KeptModel] = []
        self._learner = Learner(estimator, name, honesty)
        self._codes: Codes = np.empty(0, dtype=np.int64)
        self._held: Bools | None = None
        self._holdout: Any = None
        self._holdout_held: Bools | None = None
        self._candidate: KeptModel | None = None

    def begin(
        self,
        table: Any,
        codes: Codes,
        seed: int,
        holdout: Any = None,
        held: Bools | None = None,
        holdout_held: Bools | None = None,
    ) -> None:
        """Take the task.

        Parameters
        ----------
        table : table
            The agent's rows of the training samples that it holds.
        codes : ndarray of shape (n_samples,)
            The class codes of all training samples.
        seed : int
            For chance in the preparation.
        holdout : table, optional
            The agent's rows of the hold-out samples that it holds.
        held, holdout_held : ndarray of bool, optional
            Which of the training and hold-out samples it holds; all by default. It abstains on the others.
        """
        self.models = []
        self._codes = codes if held is None else codes[held]
        self._held = held
        self._holdout = holdout
        self._holdout_held = holdout_held
        self._candidate = None
        if not self._has_nothing_to_tell_apart():
            self._learner.prepare(table, self._codes, seed)

    def take_turn(self, turn: Turn, state: RunState, keep: bool = True) -> Answer:
        """Fit a model under the present ignorance, and keep it unless it is useless.

        The state decides whether the answer is hard or soft. With ``keep=False`` a model that is not useless becomes a
        candidate instead, which :meth:`keep_candidate` keeps.
        """
        self._candidate = None
        soft = state if isinstance(state, SoftState) else None
        ignorance = state.ignorance()
        if self._has_nothing_to_tell_apart():
            return self._sit_out(state, ignorance)
        tried: _Tried | None = None
        if soft is not None or not self._learner.strong:
            tried = self._try(turn, state, ignorance)
        if self._learner.strong:
            tried = self._try_afresh(turn, state, tried)
        assert tried is not None
        model, reward, verdict = tried
        if verdict.useless:
            return Answer(reward, verdict)
        self._candidate = KeptModel(turn.round, verdict.model_weight, model)
        if keep:
            self.keep_candidate()
        if self._holdout is None:
            return Answer(reward, verdict)
        with self._learner.named(f"predict the hold-out samples in {turn}"):
            said = model.say(model.transform(self._holdout))
        return Answer(reward, verdict, self._holdout_answer(said, soft))

    def _try(self, turn: Turn, state: RunState, ignorance: Floats) -> _Tried:
        """Fit a model under the present ignorance, whose memory may be used again, and judge it."""
        model, reward = self._fitted(turn, state, ignorance)
        verdict = state.judge(reward, ignorance, self._held, overwrite=True)
        return model, reward, verdict.trusted(self._learner.trust)

    def _try_afresh(self, turn: Turn, state: RunState, boosted: _Tried | None) -> _Tried:
        """Fit a model as if nobody had spoken yet, and return it, or the boosted one where that is better.

        A forest that knows its samples by heart errs on little but mislabelled ones and those that its columns cannot
        tell; to boost it on these makes it worse. Soft models are compared by how much they lower the loss. Hard ones
        are always fitted and weighed afresh, which is a vote of the forests: the exponential loss would prefer the
        boosted ones even where they are worse.
        """
        beginning = state.beginning()
        if boosted is not None and np.array_equal(beginning.ignorance(), state.ignorance()):
            return boosted
        model, reward = self._fitted(turn, state, beginning.ignorance())
        verdict = state.judge(reward, None, self._held)
        if boosted is not None and isinstance(state, SoftState):
            return boosted if boosted[2].gain >= verdict.gain else (model, reward, verdict)
        alone = beginning.judge(reward, None, self._held)
        return model, reward, replace(alone, mean_reward=verdict.mean_reward, gain=verdict.gain)

    def _fitted(self, turn: Turn, state: RunState, ignorance: Floats) -> tuple[Model, Reward]:
        """Return a model fitted under an ignorance, and its reward."""
        soft = state if isinstance(state, SoftState) else None
        n_classes = None if soft is None else soft.n_classes
        model, said = self._learner.fit(self._own(ignorance), turn.seed, str(turn), n_classes)
        return model, self._reward(said, soft)

    def keep_candidate(self) -> None:
        """Keep the model of the last turn, if it was useful and is not kept yet."""
        if self._candidate is not None:
            self.models.append(self._candidate)
            self._candidate = None

    @property
    def honest(self) -> bool:
        """Whether its rewards come from samples that its models have not seen."""
        return self._learner.honest

    def become_honest(self) -> None:
        """Take honest rewards from now on, as before an interruption."""
        self._learner.become_honest()

    def end(self, n_rounds: int) -> None:
        """Cut back to the models of the first ``n_rounds`` rounds, and let go of the training rows."""
        self.models = [kept for kept in self.models if kept.round <= n_rounds]
        self._learner.release()
        self._codes = np.empty(0, dtype=np.int64)
        self._holdout = self._held = self._holdout_held = self._candidate = None

    def _has_nothing_to_tell_apart(self) -> bool:
        """Whether the samples that the agent holds have fewer than two classes, though those of the task have more."""
        return self._held is not None and len(np.unique(self._codes)) < 2

    def _sit_out(self, state: RunState, ignorance: Floats) -> Answer:
        """Return the answer of an agent that knows nothing: it abstains everywhere."""
        n = len(ignorance)
        silence: Reward = np.ones(n, dtype=bool)
        if isinstance(state, SoftState):
            silence = quantise(np.zeros(n), state.score_bits)
        return Answer(silence, state.judge(silence, ignorance, np.zeros(n, dtype=bool)))

    def _reward(self, said: Said, soft: SoftState | None) -> Reward:
        """Return the reward for answers on the samples that the agent holds."""
        if soft is None:
            return self._spread(said == self._codes, self._held, True)
        scores = score_of_truth(said, self._codes, soft.n_classes)
        return quantise(self._spread(scores, self._held, 0.0), soft.score_bits)

    def _holdout_answer(self, said: Said, soft: SoftState | None) -> Codes | SoftReward:
        """Return the answers on all hold-out samples."""
        if soft is None:
            return self._spread(said, self._holdout_held, ABSTAINS)
        return quantise(self._spread(confidences(said, soft.n_classes), self._holdout_held, 0.0), soft.score_bits)

    def _own(self, ignorance: Floats) -> Floats:
        """Return the ignorance of the samples that the agent holds; it sums to one unless there is none."""
        if self._held is None:
            return ignorance
        own = ignorance[self._held]
        total = float(own.sum())
        return own / total if total > 0.0 else np.full(len(own), 1.0 / max(len(own), 1))

    def _spread(self, values: NDArray[Any], held: Bools | None, otherwise: Any) -> NDArray[Any]:
        """Return values for all samples from those that the agent holds."""
        if held is None:
            return values
        out = np.full((len(held), *values.shape[1:]), otherwise, dtype=values.dtype)
        out[held] = values
        return out

    @property
    def total_weight(self) -> float:
        """The sum of the weights of its kept models."""
        return sum(kept.model_weight for kept in self.models)

    def answers(self, table: Any, n_classes: int) -> Iterator[tuple[KeptModel, Said]]:
        """Yield each kept model with what it answers for these rows: class codes, or probabilities (n x K)."""
        return self._answers(self._panel(), table, n_classes)

    def scores(self, table: Any, n_samples: int, n_classes: int) -> Floats:
        """Return the sum of its weighted votes, ``n_samples x n_classes``."""
        total = np.zeros((n_samples, n_classes))
        panel = self._panel()
        for rows in blocks(n_samples):
            for kept, said in self._answers(panel, take_rows(table, rows), n_classes):
                add_answers(total[rows], said, kept.model_weight)
        return total

    def _panel(self) -> Panel:
        return Panel([kept.model for kept in self.models])

    def _answers(self, panel: Panel, table: Any, n_classes: int) -> Iterator[tuple[KeptModel, Said]]:
        if not self.models:
            return
        with self._learner.named("transform the rows to predict"):
            rows = self.models[0].model.transform(table)
        answers = panel.answers(rows)
        for kept in self.models:
            with self._learner.named(f"predict with its model of round {kept.round}"):
                said = next(answers)
            if said.ndim == 1:
                _check_codes(said, n_classes, self.name, kept.round)
            yield kept, said


def _check_codes(codes: Said, n_classes: int, agent: str, round: int) -> None:
    """Refuse answers that are no class codes."""
    for code in (codes.min(initial=0), codes.max(initial=0)):
        if not 0 <= code < n_classes:
            raise LearnerError(
                f"Agent {agent!r}: its model of round {round} answered class code {int(code)}, "
                f"but there are {n_classes} classes."
            )
