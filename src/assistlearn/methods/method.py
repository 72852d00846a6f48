"""What a method decides, and the check that a verdict follows from the reward that came with it."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.core import Reward, RunState, SoftReward, Verdict, votes
from assistlearn.core.state import quantise_votes, votes_of
from assistlearn.errors import ProtocolError, SettingsError
from assistlearn.types import Bools, Codes, Floats, Said

ABSTAINS = -1
"""In place of a class code: the agent does not hold this sample."""

VOTE_BITS = 16
"""The bits of a vote in prediction: enough that rounding should not change the predicted classes."""

HoldoutAnswer: TypeAlias = Codes | SoftReward
"""What a model answers for hold-out samples: class codes (or :data:`ABSTAINS`), or quantised votes: one level for each
sample with two classes, else one for each class."""


PAPER: Mapping[str, Any] = {"reward": "in-sample", "models_per_turn": 1, "combine": "sum"}
"""The settings that go with the methods of the paper."""


@dataclass(frozen=True)
class Method(ABC):
    """How agents' models are rewarded, judged and put together. A method has settings and no state.

    The fields of a method are those settings of a plan that it needs.

    Attributes
    ----------
    summary : str
        What the method does, in a sentence or two, for users who have to choose.
    adds_up : bool
        Whether the decision is the sum of the agents' votes, and class probabilities are its softmax.
    shares_state : bool
        Whether all agents share one ignorance; otherwise each agent boosts alone.
    wants_probabilities : bool
        Whether models answer with class probabilities, where their learner has them.
    keeps_labels : bool
        Whether the true labels stay with the initiator: helpers are told labels that chance has changed.
    advised : mapping of str to object
        The values of the settings that a plan leaves open.
    at_home : bool
        Whether it is the initiator's own agent that goes by it. Its votes never leave, so they are not rounded.
    """

    summary: ClassVar[str] = ""
    adds_up: ClassVar[bool] = True
    shares_state: ClassVar[bool] = True
    wants_probabilities: ClassVar[bool] = False
    keeps_labels: ClassVar[bool] = False
    most_rounds: ClassVar[int] = sys.maxsize
    advised: ClassVar[Mapping[str, Any]] = PAPER
    at_home: bool = field(default=False, kw_only=True, repr=False)

    def of_initiator(self) -> Self:
        return replace(self, at_home=True)

    # -- the state

    @abstractmethod
    def start(self, n_samples: int, n_classes: int, weights: Floats | None = None) -> RunState:
        """Return the state before the first turn; ``weights`` are those of the samples, uniform by default."""

    def states(
        self, agents: Sequence[str], n_samples: int, n_classes: int, weights: Floats | None = None
    ) -> dict[str, RunState]:
        """Return each agent's state: the same object for all agents, or an object for each."""
        if self.shares_state:
            return dict.fromkeys(agents, self.start(n_samples, n_classes, weights))
        return {agent: self.start(n_samples, n_classes, weights) for agent in agents}

    @property
    def label_epsilon(self) -> float:
        """The epsilon of the labels that an agent is told; infinity if they are the true ones."""
        return math.inf

    # -- the reward

    @abstractmethod
    def reward(self, said: Said, codes: Codes, held: Bools | None, n_classes: int) -> Reward:
        """Return a model's reward on all samples, from what it said about the samples that its agent holds."""

    @abstractmethod
    def silence(self, n_samples: int, n_classes: int) -> Reward:
        """Return the reward of an agent that abstains everywhere."""

    @abstractmethod
    def check_reward(self, reward: Reward, n_classes: int) -> None:
        """Raise ``ProtocolError`` for a reward of a form that this method does not exchange."""

    def class_votes(self, reward: Reward, codes: Codes) -> Floats:
        """Return the votes for all classes that a reward means, ``n x K``. A combination is learned from them."""
        raise SettingsError(
            "a combination is learned from what agents say about every class; with this method they say where they are "
            'right. Use method="soft".'
        )

    def in_private(self) -> Method:
        """Return the method with the finest rewards that it has, for models that never leave an agent."""
        return self

    # -- the judgement

    def judge(self, state: RunState, reward: Reward, ignorance: Floats, held: Bools | None) -> Verdict:
        """Return what a model with this reward is worth. The array ``ignorance`` may be overwritten."""
        return state.judge(reward, ignorance, held, overwrite=True)

    def judge_afresh(self, state: RunState, reward: Reward, held: Bools | None) -> Verdict:
        """Return what a forest is worth that was fitted under the initial weights (:meth:`~.Learner.fit`)."""
        return state.judge(reward, None, held)

    # -- hold-out samples

    @abstractmethod
    def holdout_answer(self, said: Said, held: Bools | None, n_classes: int) -> HoldoutAnswer:
        """Return a model's answer for all hold-out samples, from what it said about those that its agent holds."""

    @abstractmethod
    def check_holdout(self, answer: HoldoutAnswer | None, n_classes: int) -> None:
        """Raise ``ProtocolError`` for answers of a form that this method does not exchange."""

    @abstractmethod
    def add_holdout(self, scores: Floats, answer: Any, model_weight: float) -> None:
        """Add a model's weighted votes on the hold-out samples to ``scores`` (n x K), in place."""

    def add_votes(self, scores: Floats, said: Said, model_weight: float) -> None:
        """Add a model's weighted votes to ``scores`` (n x K), in place, by what it said about these samples.

        In prediction a model votes as it does on hold-out samples. So what these show is what will be predicted.
        """
        self.add_holdout(scores, self.holdout_answer(said, None, scores.shape[1]), model_weight)

    @abstractmethod
    def reward_losses(self, reward: Reward, n_classes: int) -> Floats:
        """Return a model's loss on each training sample, by its reward; NaN where the reward shows an abstention.

        Bits do not show one: there, an abstention has the loss of a right answer.
        """

    @abstractmethod
    def holdout_losses(self, answer: Any, codes: Codes, n_classes: int) -> Floats:
        """Return a model's loss on each hold-out sample, by its answers; NaN where its agent abstains."""

    @abstractmethod
    def loss_of_guessing(self, n_classes: int) -> float: ...

    # -- the answer

    def combine(self, scores: Mapping[str, Floats], total_weights: Mapping[str, float]) -> dict[str, Floats]:
        return dict(scores)

    def vote_range(self, n_classes: int) -> tuple[float, float]:
        """Return the smallest and the largest vote of a model of weight one for a class; here those of a label."""
        return -1.0 / (n_classes - 1), 1.0

    def vote_bits(self, n_classes: int) -> int:
        """Return the bits of one vote in prediction. With two classes there is one vote, else one for each class."""
        return VOTE_BITS

    def released_votes(self, votes: Floats, total_weight: float) -> SoftReward:
        """Return an agent's votes (n x K) as they are released: rounded. All know its total weight."""
        n_classes = votes.shape[1]
        _, most = self.vote_range(n_classes)
        return quantise_votes(votes, total_weight * most, self.vote_bits(n_classes))

    def received_votes(self, votes: Floats, total_weight: float) -> Floats:
        """Return an agent's votes (n x K) as the initiator gets them: those of its own agent are not rounded."""
        return votes if self.at_home else votes_of(self.released_votes(votes, total_weight))

    def probabilities(self, total: Floats, n_voting: int) -> Floats:
        return votes.probabilities(total)


def spread(values: NDArray[Any], held: Bools | None, otherwise: Any) -> NDArray[Any]:
    if held is None:
        return values
    out = np.full((len(held), *values.shape[1:]), otherwise, dtype=values.dtype)
    out[held] = values
    return out


# Everybody who has the state can check that a verdict follows from the reward that came with it.


TOLERANCE = 1e-6
"""How far a number may differ from the one computed here, relative to it: other machines round differently."""


@dataclass(frozen=True)
class Standpoint:
    """What is known about the agent whose verdict is checked: the samples that it holds (None: all).

    If ``unsure``, it may hold fewer, and nobody has said which. It is judged on the samples that it holds, so only an
    upper limit of its model weight is known. If ``trusting``, rewards are ``"auto"``: it then may cut its model weight,
    or judge a forest afresh.
    """

    held: Bools | None = None
    unsure: bool = False
    trusting: bool = False


def check_model_weight(
    method: Method, state: RunState, reward: Reward, model_weight: float, seen: Standpoint
) -> list[Verdict]:
    """Raise ``ProtocolError`` for a model weight that does not follow from the reward; return the verdicts that do.

    ``state`` is that when the agent took its turn.

    >>> from assistlearn.methods import method_named
    >>> simple = method_named("simple", {})
    >>> reward = np.array([True, True, True, False])
    >>> check_model_weight(simple, simple.start(4, 2), reward, 3.0, Standpoint())
    Traceback (most recent call last):
        ...
    assistlearn.errors.ProtocolError: a model weight of 3.0 does not follow from the reward, which is worth 1.0986.
    """
    verdicts = [method.judge(state, reward, state.ignorance(), seen.held)]
    if seen.trusting:
        verdicts.append(method.judge_afresh(state, reward, seen.held))
    weights = [verdict.model_weight for verdict in verdicts]
    exact = not (seen.unsure or seen.trusting)  # only one model weight is possible
    fits = any(_close(model_weight, weight) for weight in weights)
    if not fits and (exact or not model_weight <= max(weights)):  # also refuses what is not a number
        most = "" if exact else "at most "
        raise ProtocolError(
            f"a model weight of {model_weight} does not follow from the reward, which is worth {most}"
            f"{max(weights):.5g}."
        )
    return verdicts


def check_verdict(method: Method, state: RunState, reward: Reward, verdict: Verdict, seen: Standpoint) -> None:
    """Raise ``ProtocolError`` for a verdict that does not follow from its reward. Agents do not send the gain."""
    silent = not reward.levels.any() if isinstance(reward, SoftReward) else bool(np.all(reward))
    if verdict.useless and silent:
        return  # the agent abstains: nobody uses the model, and the agent does not say where it is right
    verdicts = check_model_weight(method, state, reward, verdict.model_weight, seen)
    if seen.unsure:
        return
    if not any(_close(verdict.mean_reward, ours.mean_reward) for ours in verdicts):
        raise ProtocolError(
            f"a mean reward of {verdict.mean_reward} does not follow from the reward, which has "
            f"{verdicts[0].mean_reward:.5g}."
        )
    if not any(verdict.perfect == ours.perfect for ours in verdicts):
        raise ProtocolError(f"the model is said to be {'' if verdict.perfect else 'not '}perfect, against its reward.")


def _close(said: float, ours: float) -> bool:
    return math.isclose(said, ours, rel_tol=TOLERANCE, abs_tol=TOLERANCE * 1e-3)
