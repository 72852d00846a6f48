r"""A linear combination: every agent's scores pass through a matrix of its own, and a bias is added.

.. math:: f = \sum_m S_m + \sum_m S_m W_m + b

Zero matrices and a zero bias are the plain sum of the votes. Two classes need one number in place of a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assistlearn.combination.evidence import Evidence
from assistlearn.combination.multinomial import Samples, fit_multinomial
from assistlearn.core import votes
from assistlearn.core.ignorance import Floats

PLAIN_SUM = math.inf
"""The penalty under which nothing is learned: the votes are added up."""


@dataclass(frozen=True)
class Linear:
    """A linear combination: a matrix for each agent, and a bias.

    Attributes
    ----------
    agents : tuple of str
        The agents that it listens to.
    weights : array of shape (number of agents, K, K); (number of agents, 1, 1) for two classes
        The matrix of each agent. The agent's scores times this matrix are added to its scores.
    bias : array of shape (K,); (1,) for two classes
        Added to the decision for every sample. It sums to zero over the classes.
    """

    agents: tuple[str, ...]
    weights: Floats
    bias: Floats

    def shares(self, scores: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return each agent's share, without the bias; zeros for an agent that this combination does not listen to."""
        return {agent: self._share(agent, said) for agent, said in scores.items()}

    def _share(self, agent: str, said: Floats) -> Floats:
        if agent not in self.agents:
            return np.zeros_like(said)
        weights = self.weights[self.agents.index(agent)]
        if not weights.any():
            return said  # the very same numbers
        columns = outputs(said)
        return whole(columns + columns @ weights)


def plain_sum(agents: tuple[str, ...], n_classes: int) -> Linear:
    """Return the combination that adds up the votes of these agents without changing them."""
    n_outputs = n_classes if n_classes > 2 else 1
    return Linear(agents, np.zeros((len(agents), n_outputs, n_outputs)), np.zeros(n_outputs))


def prior(evidence: Evidence) -> Linear:
    """Return the combination that ignores all scores: its decision follows from how often each class occurs."""
    counts = np.bincount(evidence.codes, evidence.weights, minlength=evidence.n_classes)
    often = (counts * len(evidence.codes) + 1.0) / (len(evidence.codes) + evidence.n_classes)
    n_outputs = evidence.n_classes if evidence.n_classes > 2 else 1
    return Linear((), np.zeros((0, n_outputs, n_outputs)), outputs(votes.scores_of(often[None]))[0])


def outputs(scores: Floats) -> Floats:
    """Return the columns of scores that are needed: all of them, or with two classes that of class 1."""
    return scores if scores.shape[-1] > 2 else scores[..., 1:]


def whole(columns: Floats) -> Floats:
    """Return the scores of all classes from the columns that are needed: the inverse of :func:`outputs`."""
    return columns if columns.shape[-1] > 1 else np.concatenate([-columns, columns], axis=-1)


def size(evidence: Evidence) -> float:
    """Return the common standard deviation of the scores, which have the mean zero; one where all are zero."""
    squares = np.einsum("mnk,mnk,n->", evidence.scores, evidence.scores, evidence.weights)
    found = math.sqrt(squares / (len(evidence.agents) * evidence.n_classes))
    return found if found > 0.0 else 1.0


def samples_of(evidence: Evidence, unit: float) -> Samples:
    """Return the samples that the model is fitted to: scores in this unit as inputs, and their sum as offset."""
    columns = outputs(evidence.scores)
    n = columns.shape[1]
    inputs = np.concatenate([*(columns / unit), np.ones((n, 1))], axis=1)
    return Samples(inputs, columns.sum(axis=0), evidence.codes, evidence.weights)


def fit_linear(evidence: Evidence, penalty: float, tolerance: float = 1e-8) -> Linear:
    """Return the linear combination under a penalty; with :data:`PLAIN_SUM`, the plain sum."""
    if math.isinf(penalty):
        return plain_sum(evidence.agents, evidence.n_classes)
    unit = size(evidence)
    return linear_of(evidence.agents, fit_multinomial(samples_of(evidence, unit), penalty, None, tolerance), unit)


def linear_of(agents: tuple[str, ...], parameters: Floats, unit: float) -> Linear:
    """Return the linear combination with these parameters of inputs in this unit, centred over the classes."""
    n_outputs = parameters.shape[1]
    if n_outputs > 1:
        parameters = parameters - parameters.mean(axis=1, keepdims=True)
    weights = (parameters[:-1] / unit).reshape(len(agents), n_outputs, n_outputs)
    return Linear(agents, weights, parameters[-1].copy())
