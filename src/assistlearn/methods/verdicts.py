"""Check that a verdict follows from the reward that came with it. Everybody who has the state can compute that."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assistlearn.core import Reward, RunState, SoftReward, Verdict
from assistlearn.core.ignorance import Bools
from assistlearn.errors import ProtocolError
from assistlearn.methods.method import Method

TOLERANCE = 1e-6
"""How far a number may differ from the one computed here, relative to it: other machines round differently."""


@dataclass(frozen=True)
class Standpoint:
    """What is known about the agent whose verdict is checked.

    Attributes
    ----------
    held : ndarray of bool or None, default=None
        The samples that the agent holds; None for all.
    unsure : bool, default=False
        Whether the agent may hold fewer samples, and nobody has said which. It is judged on the samples that it holds,
        so only an upper limit of its model weight is known.
    trusting : bool, default=False
        Whether rewards are ``"auto"``: an agent then may cut its model weight, or judge a forest afresh.
    """

    held: Bools | None = None
    unsure: bool = False
    trusting: bool = False

    @property
    def exact(self) -> bool:
        """Whether only one model weight is possible."""
        return not (self.unsure or self.trusting)


def check_model_weight(
    method: Method, state: RunState, reward: Reward, model_weight: float, seen: Standpoint
) -> list[Verdict]:
    """Raise ``ProtocolError`` for a model weight that does not follow from the reward; return the verdicts that do.

    Parameters
    ----------
    method : Method
        How models are judged.
    state : RunState
        The state when the agent took its turn.
    reward : Reward
        The reward of its model.
    model_weight : float
        The weight that the agent claims for its model.
    seen : Standpoint
        What is known about the agent.

    Examples
    --------
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
    fits = any(_close(model_weight, weight) for weight in weights)
    if not fits and not (not seen.exact and model_weight <= max(weights)):
        most = "" if seen.exact else "at most "
        raise ProtocolError(
            f"a model weight of {model_weight} does not follow from the reward, which is worth {most}"
            f"{max(weights):.5g}."
        )
    return verdicts


def check_verdict(method: Method, state: RunState, reward: Reward, verdict: Verdict, seen: Standpoint) -> None:
    """Raise ``ProtocolError`` for a verdict that does not follow from the reward that it came with.

    Parameters
    ----------
    method, state, reward, seen
        As in :func:`check_model_weight`.
    verdict : Verdict
        The agent's verdict. The gain is not checked: agents do not send it.
    """
    if verdict.useless and _is_silence(reward):
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


def _is_silence(reward: Reward) -> bool:
    return not reward.levels.any() if isinstance(reward, SoftReward) else bool(np.all(reward))
