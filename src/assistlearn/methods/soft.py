"""The soft method: a model's reward is how sure it is of the true class, or of every class, in a few bits each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from assistlearn.core import Reward, RunState, ScoreVectors, SoftReward, SoftState, state, votes
from assistlearn.errors import ProtocolError
from assistlearn.methods.method import HoldoutAnswer, Method, spread
from assistlearn.types import Bools, Codes, Floats, Said

BITS_OF_TWO, BITS_OF_MORE = 8, 4
"""The bits of a score where the plan leaves them open: with two classes (one score per sample), and with more (K)."""

LEAST_VOTE_BITS = 8
"""The bits of a vote in prediction at the least; it is the sum of many scores."""


@dataclass(frozen=True)
class Soft(Method):
    """Agents say how sure they are, and vote with their probabilities.

    Attributes
    ----------
    shrinkage : float
        The share of its best model weight that a model gets. Where agents make several models in a turn, it is that of
        the first round alone: later, an agent corrects what it has said before, and does so in full.
    score_bits : int
        The bits in which an agent says a score; zero for :data:`BITS_OF_TWO` or :data:`BITS_OF_MORE`.
    """

    summary: ClassVar[str] = (
        "recommended. Agents say how sure they are, not only where they are right. They vote with probabilities, or "
        "with labels if their learner gives no probabilities"
    )
    wants_probabilities: ClassVar[bool] = True
    advised: ClassVar[Mapping[str, Any]] = {"reward": "auto", "models_per_turn": 20, "combine": "auto"}
    loss: str
    shrinkage: float
    score_bits: int
    models_per_turn: int = field(default=1, kw_only=True, repr=False)

    def start(self, n_samples: int, n_classes: int, weights: Floats | None = None) -> RunState:
        later = 1.0 if self.models_per_turn > 1 else self.shrinkage
        return SoftState.start(
            n_samples, n_classes, weights, loss=self.loss, shrinkage=self.shrinkage, later_shrinkage=later
        )

    def reward(self, said: Said, codes: Codes, held: Bools | None, n_classes: int) -> Reward:
        """Return how sure a model is of the true class, or of every class, the true one first; zero: it abstains."""
        if n_classes == 2:
            return state.quantise(spread(votes.score_of_truth(said, codes, 2), held, 0.0), self.bits(2))
        return state.quantise_vectors(
            state.truth_first(votes.heights(said, n_classes), codes), self.bits(n_classes), held
        )

    def silence(self, n_samples: int, n_classes: int) -> Reward:
        if n_classes == 2:
            return state.quantise(np.zeros(n_samples), self.bits(2))
        return state.quantise_vectors(np.zeros((0, n_classes)), self.bits(n_classes), np.zeros(n_samples, dtype=bool))

    def bits(self, n_classes: int) -> int:
        return self.score_bits or (BITS_OF_TWO if n_classes == 2 else BITS_OF_MORE)

    def in_private(self) -> Soft:
        return replace(self, score_bits=state.FINEST_BITS)

    def check_reward(self, reward: Reward, n_classes: int) -> None:
        if not isinstance(reward, SoftReward):
            raise ProtocolError("A soft method exchanges levels, not bits.")
        if reward.bits != self.bits(n_classes):
            raise ProtocolError(f"Expected {self.bits(n_classes)} bits, got {reward.bits}.")

    def holdout_answer(self, said: Said, held: Bools | None, n_classes: int) -> HoldoutAnswer:
        """Return votes of weight one, rounded as in prediction: so the votes on a sample are the same there."""
        _, most = self.vote_range(n_classes)
        said_of_held = state.quantise_votes(votes.confidences(said, n_classes), most, self.vote_bits(n_classes))
        return replace(said_of_held, levels=spread(said_of_held.levels, held, 0))

    def check_holdout(self, answer: HoldoutAnswer | None, n_classes: int) -> None:
        if answer is None:
            raise ProtocolError("the answers for the hold-out samples are missing.")
        if not isinstance(answer, SoftReward):
            raise ProtocolError("the answers for the hold-out samples are class codes; a soft method exchanges levels.")
        if answer.bits != self.vote_bits(n_classes):
            raise ProtocolError(f"Expected {self.vote_bits(n_classes)} bits, got {answer.bits}.")

    def class_votes(self, reward: Reward, codes: Codes) -> Floats:
        assert isinstance(reward, SoftReward)
        return state.by_class(reward.values(), codes)

    def add_holdout(self, scores: Floats, answer: Any, model_weight: float) -> None:
        scores += model_weight * state.votes_of(answer)

    def reward_losses(self, reward: Reward, n_classes: int) -> Floats:
        assert isinstance(reward, SoftReward)
        values = reward.values()
        if not isinstance(reward, ScoreVectors):  # with two classes only the score of the true one is told
            values = np.column_stack([values, -values])
        return _log_losses(values, np.zeros(len(values), dtype=np.intp))

    def holdout_losses(self, answer: Any, codes: Codes, n_classes: int) -> Floats:
        return _log_losses(state.votes_of(answer), codes)

    def loss_of_guessing(self, n_classes: int) -> float:
        return math.log(n_classes)

    def vote_range(self, n_classes: int) -> tuple[float, float]:
        return math.log(votes.LEAST), -math.log(votes.LEAST)

    def vote_bits(self, n_classes: int) -> int:
        """Return the bits of a vote: at least 8, as it sums many scores. The initiator's own have the finest levels."""
        return state.FINEST_BITS if self.at_home else max(LEAST_VOTE_BITS, self.bits(n_classes))


def _log_losses(said: Floats, codes: Codes) -> Floats:
    lost: Floats = -np.log(votes.probabilities(said)[np.arange(len(codes)), codes])
    lost[~said.any(axis=1)] = np.nan
    return lost
