r"""Model weight: how loud a model's vote is, from where it was right and wrong.

With :math:`v_i` the importance of sample :math:`i`, the weight of a model is

.. math:: \alpha = \log \frac{\sum_{r_i = 1} v_i}{\sum_{r_i = 0} v_i} + \log(K - 1).

In ASCII-Simple (and AdaBoost) :math:`v = w`, the ignorance. In ASCII, equations (11) and (13) of the paper,
:math:`v_i = w_i \exp(\kappa u_i)` with :math:`\kappa = K / (K-1)^2` and :math:`u_i` the sum of the weights of the
models that were wrong about sample :math:`i` **earlier in the same round**.
"""

from __future__ import annotations

import math

import numpy as np

from assistlearn.core.ignorance import Bools, Floats

NEGLIGIBLE = 1e-10
"""A model weight up to this is a rounding error. In exact numbers it is zero: the model is no better than chance."""

LARGEST = 1e6
"""The largest absolute value of a model weight. Odds of e to the power of a million are as good as certainty.

Without this bound ASCII's weights can double in every round, and overflow after a thousand rounds. It happens with two
classes and two agents, each right where the other is wrong: equation (13) counts the first one's errors twice.
"""


def kappa(n_classes: int) -> float:
    """Return the factor of ``u`` in the exponent of equation (13).

    >>> kappa(2), kappa(3)
    (2.0, 0.75)
    """
    return n_classes / (n_classes - 1) ** 2


def log_importance(log_ignorance: Floats, earlier: Floats, n_classes: int, out: Floats | None = None) -> Floats:
    """Return ``log v``, up to a constant: the log-ignorance plus kappa times ``u``, which is ``earlier``."""
    out = np.multiply(earlier, kappa(n_classes), out=out)
    out += log_ignorance
    return out


def log_odds(right: float, wrong: float) -> float:
    """Return the log of (importance where the model is right / importance where it is wrong).

    It is infinite for a perfect model, minus infinity for one that is never right, and not a number if no sample has
    any importance.

    >>> round(math.exp(log_odds(0.75, 0.25)), 6)
    3.0
    """
    return _log(right) - _log(wrong)


def log_odds_of_logs(log_importance: Floats, right: Bools, wrong: Bools) -> float:
    """Return :func:`log_odds` where the importance itself has underflowed to zero.

    >>> log_odds_of_logs(np.array([0.0, -2000.0]), np.array([1, 0], bool), np.array([0, 1], bool))
    2000.0
    """
    return _log_sum(log_importance[right]) - _log_sum(log_importance[wrong])


def model_weight(odds: float, n_classes: int) -> float:
    """Return the model weight for a model with these log-odds of being right.

    The weight is positive if the model is better than chance (a share of ``1 / n_classes`` right), up to rounding
    (:data:`NEGLIGIBLE`), and only then. Its absolute value is at most :data:`LARGEST`.

    >>> model_weight(0.0, 2), round(model_weight(math.log(0.6 / 0.4), 3), 6), model_weight(-math.inf, 2)
    (0.0, 1.098612, -1000000.0)
    """
    return min(max(odds + math.log(n_classes - 1), -LARGEST), LARGEST)


def perfect_model_weight(n_samples: int, n_classes: int) -> float:
    """Return the finite weight of a model that is right everywhere.

    The formula would give infinity. Instead, the model gets the weight of one that errs on half a sample's ignorance, a
    share of ``1 / (2 n)``: ``log(2 n - 1) + log(K - 1)``, where ``n`` counts the samples with any ignorance at all.

    >>> round(perfect_model_weight(500, 2), 3)
    6.907
    """
    return math.log(max(2 * n_samples - 1, 2)) + math.log(n_classes - 1)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _log_sum(logs: Floats) -> float:
    """Return ``log(sum(exp(logs)))`` without overflow or underflow; minus infinity for an empty array."""
    top = float(logs.max(initial=-math.inf))
    if top == -math.inf:
        return -math.inf
    return top + math.log(float(np.exp(logs - top).sum()))
