"""A turn: what an agent is told when its turn begins, and what it says when the turn is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assistlearn.core import Reward, Verdict
from assistlearn.methods.method import HoldoutAnswer


@dataclass(frozen=True)
class Turn:
    """What an agent is told when its turn begins: the number of the turn, the round, and the seed for all chance.

    A turn ``apart`` is taken as if nobody had spoken before.
    """

    number: int
    round: int
    seed: int
    apart: bool = False

    def __str__(self) -> str:
        return f"round {self.round}"


@dataclass(frozen=True)
class Answer:
    """What an agent says after its turn.

    Attributes
    ----------
    reward : ndarray of bool of shape (n_samples,), or SoftReward
        Where its new model is right; true where the agent abstains. Or how sure the model is of the true class (with
        more than two classes: of every class); zero where the agent abstains.
    verdict : Verdict
        What the model is worth. A useless one is not kept.
    holdout : ndarray of int, or SoftReward, optional
        The class codes that the model answers for the hold-out samples (``ABSTAINS`` where the agent does); or its
        votes of weight one, in levels (zero where it abstains).
    packed : optional
        The reward as the agent packed it, to be passed on unchanged; None if it did not come in a message.
    why : str, default=""
        Why the agent has sat the turn out, if it gives a reason.
    """

    reward: Reward
    verdict: Verdict
    holdout: HoldoutAnswer | None = None
    packed: Any = None
    why: str = ""
