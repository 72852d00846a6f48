r"""A multinomial logistic model with an offset, fitted by L-BFGS.

The decision for sample :math:`i` is :math:`f_i = o_i + x_i W + b`, and its probabilities are those that
:func:`assistlearn.core.votes.probabilities` reads from a decision, the softmax of :math:`\frac{K-1}{K} f`. The fit
minimises the weighted mean of the log loss plus :math:`\frac{\lambda}{2} \|W\|^2`. With two classes the decision is one
number, that of class 1; that of class 0 is its negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, solve_triangular
from scipy.optimize import minimize

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes

PENALTY_OF_BIAS = 1e-6
"""The penalty on the bias. It is so small that it matters only for a class that no sample has."""


class Samples(NamedTuple):
    """Samples in the form that the model is fitted to.

    ``inputs`` has a last column of ones, for the bias; ``offset`` has K columns, or one for two classes.
    """

    inputs: Floats
    offset: Floats
    codes: Codes
    weights: Floats

    def rows(self, chosen: np.ndarray) -> Samples:
        """Return some of the samples; their weights sum to one again."""
        weights = self.weights[chosen]
        return Samples(self.inputs[chosen], self.offset[chosen], self.codes[chosen], weights / weights.sum())


def losses(decision: Floats, codes: Codes) -> Floats:
    """Return the log loss of each sample.

    >>> losses(np.array([[0.0], [0.0]]), np.array([0, 1])).round(4), losses(np.zeros((1, 4)), np.array([3])).round(4)
    (array([0.6931, 0.6931]), array([1.3863]))
    """
    return losses_and_slopes(decision, codes)[0]


def losses_and_slopes(decision: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """Return the log loss of each sample, and its derivatives with respect to the decision."""
    n_outputs = decision.shape[1]
    if n_outputs == 1:
        towards = np.where(codes == 1, 1.0, -1.0)
        margin = decision[:, 0] * towards
        low = np.exp(-np.abs(margin))
        lost = np.maximum(-margin, 0.0) + np.log1p(low)
        wrong = np.where(margin >= 0.0, low, 1.0) / (1.0 + low)
        return lost, (-towards * wrong)[:, None]
    scale = (n_outputs - 1) / n_outputs
    logits = decision * scale
    logits -= logits.max(axis=1, keepdims=True)
    at = np.arange(len(codes)), codes
    truth = logits[at]
    np.exp(logits, out=logits)
    sums = logits.sum(axis=1)
    logits /= sums[:, None]
    logits[at] -= 1.0
    logits *= scale
    return np.log(sums) - truth, logits


def objective(parameters: Floats, samples: Samples, penalty: float) -> tuple[float, Floats]:
    """Return the penalised mean loss, and its gradient with respect to the weights and the bias (last row)."""
    lost, slopes = losses_and_slopes(samples.offset + samples.inputs @ parameters, samples.codes)
    slopes *= samples.weights[:, None]
    shrunk = parameters * _penalties(parameters, penalty)[:, None]
    gradient: Floats = samples.inputs.T @ slopes
    gradient += shrunk
    return float(samples.weights @ lost) + 0.5 * float((shrunk * parameters).sum()), gradient


def fit_multinomial(
    samples: Samples, penalty: float, start: Floats | None = None, tolerance: float = 1e-8, most_steps: int = 500
) -> Floats:
    """Return the parameters: a row for each input, and the bias in the last row.

    The search uses coordinates in which an upper bound of the Hessian (Böhning's) is the identity. Where the inputs are
    much alike, as scores of agents are, it then needs about ten steps in place of hundreds.
    """
    n_inputs, n_outputs = samples.inputs.shape[1], samples.offset.shape[1]
    start = np.zeros((n_inputs, n_outputs)) if start is None else start
    bound = 0.25 if n_outputs == 1 else 0.5 * ((n_outputs - 1) / n_outputs) ** 2
    hessian = bound * (samples.inputs.T * samples.weights) @ samples.inputs
    hessian[np.diag_indices(n_inputs)] += _penalties(start, penalty)
    root = np.tril(cho_factor(hessian, lower=True)[0])

    def lowered(flat: Floats) -> tuple[float, Floats]:
        parameters = solve_triangular(root, flat.reshape(start.shape), lower=True, trans="T", check_finite=False)
        value, gradient = objective(parameters, samples, penalty)
        return value, solve_triangular(root, gradient, lower=True, check_finite=False).ravel()

    found = minimize(
        lowered,
        (root.T @ start).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": most_steps, "ftol": tolerance, "gtol": 1e-9},
    )
    out: Floats = solve_triangular(root, found.x.reshape(start.shape), lower=True, trans="T")
    return out


def _penalties(parameters: Floats, penalty: float) -> Floats:
    out = np.full(len(parameters), penalty)
    out[-1] = PENALTY_OF_BIAS
    return out
