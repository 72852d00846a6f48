"""What the initiator knows about an agent's votes before it sees them: on which samples, and how loud they can be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn.core import SoftReward
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.errors import ProtocolError
from assistlearn.methods.method import Method
from assistlearn.methods.verdicts import TOLERANCE


@dataclass(frozen=True)
class VoteCheck:
    """Refuses votes that an agent's kept models cannot have cast.

    Attributes
    ----------
    agent : str
        The agent's name.
    weight : float
        The sum of the weights of its models in the result.
    least, most : float
        What a model of weight one can say for a class.

    Examples
    --------
    >>> check = VoteCheck("lab", weight=1.1, least=-1.0, most=1.0)
    >>> check.scores(np.array([[1.1, -1.1], [-0.3, 0.3]]))
    >>> check.scores(np.array([[1e300, -1e300]]))
    Traceback (most recent call last):
        ...
    assistlearn.errors.ProtocolError: Agent 'lab' votes 1e+300 for a class; its models weigh 1.1 in all, ...
    """

    agent: str
    weight: float
    least: float
    most: float

    @classmethod
    def of(cls, agent: str, contributions: Iterable[Mapping[str, Any]], method: Method, n_classes: int) -> VoteCheck:
        """Return the check for an agent, from the contributions that a result is made of."""
        weight = sum(each["model_weight"] for each in contributions if each["agent"] == agent)
        return cls(agent, weight, *method.vote_range(n_classes))

    def total_weight(self, said: float) -> None:
        """Refuse another sum of model weights than that of the result."""
        if not math.isclose(said, self.weight, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            raise ProtocolError(
                f"Agent {self.agent!r} says that its models weigh {said:.6g} in all; in the result they weigh "
                f"{self.weight:.6g}. It has lost or changed models, or does not tell the truth."
            )

    def scale(self, said: float, bits: int, agreed: SoftReward) -> None:
        """Refuse votes whose bits, or the worth of a level, are not those that follow from the weight of the models."""
        if bits != agreed.bits or not math.isclose(said, agreed.scale, rel_tol=10 * TOLERANCE):
            raise ProtocolError(
                f"Agent {self.agent!r} sends votes with {bits} bits, in steps of {said:.6g}; the weight of its models "
                f"requires {agreed.bits} bits, in steps of {agreed.scale:.6g}."
            )

    def known(self, said: Bools, held: Bools) -> None:
        """Refuse votes on other samples than those that the matching has found the agent to hold."""
        other = int(np.count_nonzero(said != held))
        if other:
            raise ProtocolError(
                f"Agent {self.agent!r} holds other samples than it said when they were matched: {other:,} differ."
            )

    def scores(self, said: Floats, step: float = 0.0) -> None:
        """Refuse votes that are louder than all models together; ``step`` allows for rounding to levels."""
        slack = TOLERANCE * max(self.weight, 1.0) + step
        low, high = float(said.min(initial=0.0)), float(said.max(initial=0.0))
        if high > self.weight * self.most + slack or low < self.weight * self.least - slack:
            loud = high if high > self.weight * self.most + slack else low
            raise ProtocolError(
                f"Agent {self.agent!r} votes {loud:.6g} for a class; its models weigh {self.weight:.6g} in all, so a "
                f"vote must lie between {self.weight * self.least:.6g} and {self.weight * self.most:.6g}."
            )
