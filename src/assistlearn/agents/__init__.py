"""Agents: a private table, a learner and the models it keeps."""

from assistlearn.agents.agent import Agent, Answer, KeptModel, Turn

__all__ = ["Agent", "Answer", "KeptModel", "Turn"]
