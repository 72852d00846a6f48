"""The soft method: a model is rewarded by how sure it is of the truth, in a few bits per sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from assistlearn.core import Reward, RunState, SoftReward, SoftState, Verdict
from assistlearn.core.confidence import LEAST, Said, confidences, score_of_truth
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.quantise import quantise
from assistlearn.core.votes import Codes
from assistlearn.errors import ProtocolError
from assistlearn.methods.method import HoldoutAnswer, Method, spread


@dataclass(frozen=True)
class Soft(Method):
    """Agents say how sure they are, and vote with their probabilities.

    Attributes
    ----------
    loss : str
        What is lowered (see :mod:`assistlearn.core.loss`).
    shrinkage : float
        The share of its best model weight that a model gets.
    score_bits : int
        The bits in which an agent says a score.
    """

    summary: ClassVar[str] = (
        "agents say how sure they are, not just where they are right, and vote with their probabilities (with their "
        'labels, where their learner has none). Goes with ``reward="auto"``'
    )
    wants_probabilities: ClassVar[bool] = True
    loss: str
    shrinkage: float
    score_bits: int

    def start(self, n_samples: int, n_classes: int, weights: Floats | None = None) -> RunState:
        """Return the state before the first turn."""
        return SoftState.start(n_samples, n_classes, weights, loss=self.loss, shrinkage=self.shrinkage)

    def reward(self, said: Said, codes: Codes, held: Bools | None, n_classes: int) -> Reward:
        """Return how sure a model is of the truth; zero where its agent abstains."""
        return quantise(spread(score_of_truth(said, codes, n_classes), held, 0.0), self.score_bits)

    def silence(self, n_samples: int) -> Reward:
        """Return the reward of an agent that abstains everywhere."""
        return quantise(np.zeros(n_samples), self.score_bits)

    def check_reward(self, reward: Reward) -> None:
        """Refuse bits, and levels of another number of bits."""
        if not isinstance(reward, SoftReward):
            raise ProtocolError("A soft method exchanges levels, not bits.")
        self._check_bits(reward)

    @property
    def boosts_strong_learners(self) -> bool:
        """They are: the loss tells which of the two models is better."""
        return True

    def judge_afresh(
        self, state: RunState, reward: Reward, held: Bools | None, boosted: Verdict | None
    ) -> Verdict | None:
        """Compare by how much either model lowers the loss."""
        verdict = state.judge(reward, None, held)
        return None if boosted is not None and boosted.gain >= verdict.gain else verdict

    def holdout_answer(self, said: Said, held: Bools | None, n_classes: int) -> HoldoutAnswer:
        """Return votes of weight one, quantised."""
        return quantise(spread(confidences(said, n_classes), held, 0.0), self.score_bits)

    def check_holdout(self, answer: HoldoutAnswer | None) -> None:
        """Refuse anything but levels of the agreed number of bits."""
        if not isinstance(answer, SoftReward):
            raise ProtocolError("the answers for the hold-out samples are missing.")
        self._check_bits(answer)

    def add_holdout(self, scores: Floats, answer: Any, model_weight: float) -> None:
        """Add the votes."""
        scores += model_weight * answer.values()

    def vote_range(self, n_classes: int) -> tuple[float, float]:
        """Return what a model says that is as sure as one is ever taken to be; its votes have the logarithms' range.

        >>> round(Soft("logistic", 0.5, 8).vote_range(3)[1], 3)
        4.605
        """
        return math.log(LEAST), -math.log(LEAST)

    def _check_bits(self, said: SoftReward) -> None:
        if said.bits != self.score_bits:
            raise ProtocolError(f"Expected {self.score_bits} bits, got {said.bits}.")
