"""A contribution: the record of one kept model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Contribution:
    """What every agent may know about one kept model: its agent, its turn and its weight, never the model itself.

    Attributes
    ----------
    turn : int
        The number of the turn, from 1. Turns that an agent sat out count, too.
    round : int
        The number of the round, from 1. In a round every agent has one turn.
    agent : str
        Whose model it is.
    model_weight : float
        The weight of its votes; positive and finite.
    mean_reward : float
        The share of the ignorance on which the model is right.
    accuracy : float
        The share of the samples on which the model is right.
    perfect : bool
        The model is right about every sample that needs help; its weight is limited.
    """

    turn: int
    round: int
    agent: str
    model_weight: float
    mean_reward: float
    accuracy: float
    perfect: bool
