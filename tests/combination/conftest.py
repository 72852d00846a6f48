"""Scores of agents that each know something, made from a seed, and combinations that are fitted once."""

from __future__ import annotations

import numpy as np
import pytest

from assistlearn import combination
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


def problem_for_trees(n=500, seed=0):
    """The helper is right where the initiator's column is positive, and wrong elsewhere: no sum can say that.

    Another column of the initiator says nothing, and has holes.
    """
    rng = np.random.default_rng(seed)
    codes, own = rng.integers(3, size=n), rng.normal(size=(n, 1))
    right = np.where(own > 0, 2.0, -2.0) * np.eye(3)[codes]
    scores = {"a": centred(rng.normal(size=(n, 3))), "b": centred(right + 0.3 * rng.normal(size=(n, 3)))}
    return scores, codes, np.concatenate([own, np.where(rng.random((n, 1)) < 0.5, np.nan, 1.0)], axis=1)


@pytest.fixture(scope="session")
def boosted():
    scores, codes, own = problem_for_trees()
    return combination.fit("learned", scores, codes, initiator="a", own=own)


@pytest.fixture(scope="session")
def linear():
    scores, codes = scores_and_codes(300, 3, know=(1.0, -1.0, 0.5))
    return combination.fit("learned", scores, codes, initiator="a")
