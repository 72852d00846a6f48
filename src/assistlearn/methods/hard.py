"""The paper's methods: a model is rewarded where it is right, one bit for each sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from assistlearn.core import Reward, RunState, SoftReward, State, Verdict, votes
from assistlearn.errors import ProtocolError
from assistlearn.methods.method import ABSTAINS, HoldoutAnswer, Method, spread
from assistlearn.types import Bools, Codes, Floats, Said


@dataclass(frozen=True)
class Hard(Method):
    """What the methods of the paper have in common: a model is rewarded where it is right, one bit per sample."""

    interchange: ClassVar[bool] = False
    """Whether a model's weight looks at the errors made earlier in the round."""

    def start(self, n_samples: int, n_classes: int, weights: Floats | None = None) -> RunState:
        return State.start(n_samples, n_classes, weights, interchange=self.interchange)

    def reward(self, said: Said, codes: Codes, held: Bools | None, n_classes: int) -> Reward:
        """Return where a model is right; true where its agent abstains."""
        return spread(said == codes, held, True)

    def silence(self, n_samples: int, n_classes: int) -> Reward:
        return np.ones(n_samples, dtype=bool)

    def check_reward(self, reward: Reward, n_classes: int) -> None:
        if isinstance(reward, SoftReward):
            raise ProtocolError("A hard method exchanges bits, not levels.")

    def judge_afresh(self, state: RunState, reward: Reward, held: Bools | None) -> Verdict:
        """Return what the model is worth by itself, as if it were the first.

        Under the present ignorance a second forest like the first would be worth nothing, though it helps.
        """
        now, alone = state.judge(reward, None, held), state.beginning().judge(reward, None, held)
        return replace(alone, mean_reward=now.mean_reward, gain=now.gain)

    def holdout_answer(self, said: Said, held: Bools | None, n_classes: int) -> HoldoutAnswer:
        return spread(said, held, ABSTAINS)

    def check_holdout(self, answer: HoldoutAnswer | None, n_classes: int) -> None:
        if answer is None:
            raise ProtocolError("the answers for the hold-out samples are missing.")
        if isinstance(answer, SoftReward):
            raise ProtocolError("the answers for the hold-out samples are levels; a hard method exchanges class codes.")

    def add_holdout(self, scores: Floats, answer: Any, model_weight: float) -> None:
        voting = np.flatnonzero(answer != ABSTAINS)
        own = scores[voting]
        votes.add_vote(own, answer[voting], model_weight)
        scores[voting] = own

    def add_votes(self, scores: Floats, said: Said, model_weight: float) -> None:
        votes.add_vote(scores, cast(Codes, said), model_weight)

    def reward_losses(self, reward: Reward, n_classes: int) -> Floats:
        """Return one where a model is wrong, and zero where it is right or its agent abstains, which look the same."""
        assert isinstance(reward, np.ndarray)
        return (~reward).astype(np.float64)

    def holdout_losses(self, answer: Any, codes: Codes, n_classes: int) -> Floats:
        return np.where(answer == ABSTAINS, np.nan, answer != codes)

    def loss_of_guessing(self, n_classes: int) -> float:
        return 1.0 - 1.0 / n_classes


@dataclass(frozen=True)
class Ascii(Hard):
    """ASCII: the model weight is that of equation 13 of the paper."""

    summary: ClassVar[str] = (
        "the paper's method. Agents only say where they are right. A model's weight also depends on what was wrong "
        "earlier in the same round (equation 13 of the paper)"
    )
    interchange: ClassVar[bool] = True


@dataclass(frozen=True)
class Simple(Hard):
    """ASCII-Simple: the model weight is that of AdaBoost."""

    summary: ClassVar[str] = (
        "the paper's ASCII-Simple. As ascii, but a model's weight depends on the ignorance alone: the exact stage-wise "
        "minimiser of the exponential loss"
    )


@dataclass(frozen=True)
class Ensemble(Hard):
    """The paper's baseline, Ensemble-AdaBoost."""

    summary: ClassVar[str] = (
        "agents exchange nothing. Every agent boosts alone, and the majority of their answers counts "
        "(Ensemble-AdaBoost); the agents' confidence decides ties. Use it to compare with"
    )
    adds_up: ClassVar[bool] = False
    shares_state: ClassVar[bool] = False

    def combine(self, scores: Mapping[str, Floats], total_weights: Mapping[str, float]) -> dict[str, Floats]:
        return votes.majority_votes(scores, total_weights)

    def probabilities(self, total: Floats, n_voting: int) -> Floats:
        return votes.vote_shares(total, n_voting)
