"""Agents: a private table, a learner and the models it keeps."""

from assistlearn.agents.agent import Agent, KeptModel, Retold
from assistlearn.agents.own_votes import OwnVotes
from assistlearn.agents.retelling import Retelling
from assistlearn.agents.training_samples import TrainingSamples
from assistlearn.agents.turns import Answer, Turn

__all__ = ["Agent", "Answer", "KeptModel", "OwnVotes", "Retelling", "Retold", "TrainingSamples", "Turn"]
