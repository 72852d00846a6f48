"""Scores of agents that each know something, made from a seed."""

from __future__ import annotations

import numpy as np

from assistlearn.core import votes


def scores_and_codes(n=300, n_classes=3, agents=("a", "b", "c"), seed=0, know=1.0):
    """Return what agents say who each see the truth through noise of their own, and the truth."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    knows = dict(zip(agents, np.broadcast_to(know, len(agents)), strict=True))
    scores = {
        agent: centred(rng.normal(size=(n, n_classes)) + knows[agent] * np.eye(n_classes)[codes]) for agent in agents
    }
    return scores, codes


def centred(numbers):
    return numbers - numbers.mean(axis=1, keepdims=True)


def total(shares):
    return np.sum([*shares.values()], axis=0)


def log_loss(decision, codes):
    return -np.log(votes.probabilities(decision)[np.arange(len(codes)), codes])
