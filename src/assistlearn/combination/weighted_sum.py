r"""A weighted sum of the agents' scores: one weight for each agent, and a bias.

.. math:: f = \sum_m a_m S_m + b

It is a linear combination (:mod:`assistlearn.combination.linear`) whose matrices are multiples of the identity. A full
matrix could read an agent's columns out of its K scores, and gain even by scores that say nothing about the labels. One
weight cannot: scores that were fitted to pure chance add next to nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from assistlearn.combination.cross_validation import Tried
from assistlearn.combination.evidence import Evidence
from assistlearn.combination.linear import Linear, outputs, whole
from assistlearn.combination.multinomial import losses, losses_and_slopes
from assistlearn.core.ignorance import Floats

RIDGE = 1e-3
"""The penalty on weights and bias: small, so that they stay finite where classes can be told apart without error."""


def fit_weighted_sum(evidence: Evidence) -> Linear:
    """Return the weighted sum with the least log loss."""
    columns = outputs(evidence.scores)
    n_agents, _, n_outputs = columns.shape

    def lowered(parameters: Floats) -> tuple[float, Floats]:
        decision = np.tensordot(parameters[:n_agents], columns, axes=1) + parameters[n_agents:]
        lost, slopes = losses_and_slopes(decision, evidence.codes)
        slopes *= evidence.weights[:, np.newaxis]
        gradient = np.concatenate([np.einsum("mnk,nk->m", columns, slopes), slopes.sum(axis=0)])
        penalty = 0.5 * RIDGE * float(parameters @ parameters)
        return float(evidence.weights @ lost) + penalty, gradient + RIDGE * parameters

    found: Floats = minimize(lowered, np.zeros(n_agents + n_outputs), jac=True, method="L-BFGS-B").x
    bias = found[n_agents:] - (found[n_agents:].mean() if n_outputs > 1 else 0.0)
    return Linear(evidence.agents, (found[:n_agents, np.newaxis, np.newaxis] - 1.0) * np.eye(n_outputs), bias)


def decision_of(model: Linear, evidence: Evidence) -> Floats:
    """Return the decision of a linear combination of the evidence, n x K."""
    said = dict(zip(evidence.agents, evidence.scores, strict=True))
    shares = model.shares({agent: said[agent] for agent in model.agents})
    start = np.broadcast_to(whole(model.bias[np.newaxis]), evidence.scores.shape[1:])
    return sum(shares.values(), start)


def try_weighted_sum(evidence: Evidence, folds: NDArray[np.intp]) -> Tried:
    """Return the losses of the weighted sum on samples that it was not fitted to."""
    lost = np.empty(len(evidence.codes))
    for fold in np.unique(folds):
        held = folds == fold
        aside = evidence.rows(held)
        lost[held] = losses(outputs(decision_of(fit_weighted_sum(evidence.rows(~held)), aside)), aside.codes)
    return Tried(lost, evidence.weights)
