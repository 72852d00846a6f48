"""A contribution: the record of one kept model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Contribution:
    """One kept model, as everybody may know it: who, when, and how loud; never the model itself.

    Attributes
    ----------
    turn : int
        Counts every agent's step from 1, those of agents that sat out included.
    round : int
        Counts from 1; in a round every agent has its turn.
    agent : str
        Whose model it is.
    model_weight : float
        The weight of its votes; positive and finite.
    mean_reward : float
        The share of the ignorance on which the model is right.
    accuracy : float
        The share of the samples on which the model is right.
    perfect : bool
        The model is right wherever there is ignorance; its weight is capped.
    """

    turn: int
    round: int
    agent: str
    model_weight: float
    mean_reward: float
    accuracy: float
    perfect: bool
