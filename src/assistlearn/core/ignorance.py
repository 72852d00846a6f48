"""Ignorance: how much help each sample still needs; and the model weight that follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from assistlearn.types import Bools, Floats

BLOCK_ROWS = 65_536
"""Long arrays are worked on in blocks of so many rows, so that temporary arrays stay in the processor's cache. Another
number changes the last digits of sums."""


def blocks(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


# The ignorance :math:`w` of the samples is a distribution (non-negative, sums to one). The program computes with its
# logarithm, up to an additive constant, so that thousands of rounds neither overflow nor underflow. An update adds to
# the samples that were wrong and changes nothing else. The constant disappears in :func:`ignorance_of`.


def start(n_samples: int, sample_weight: Floats | None = None) -> Floats:
    """Return the log-ignorance before the first turn: uniform, or that of ``sample_weight``."""
    if sample_weight is None:
        return np.zeros(n_samples)
    with np.errstate(divide="ignore"):
        return np.log(sample_weight)


def ignorance_of(log_ignorance: Floats, out: Floats | None = None) -> Floats:
    """Return the ignorance itself, which sums to one."""
    out = np.subtract(log_ignorance, log_ignorance.max(), out=out)
    np.exp(out, out=out)
    out /= out.sum()
    return out


def add_where_wrong(amount: Floats, reward: Bools, model_weight: float) -> None:
    r"""Add :math:`\alpha (1 - r_i)` to ``amount``, in place.

    This is the update of the ignorance, equations (10) and (12), in logarithms. The same sum over the turns of one
    round is the ``u`` of equation (13).
    """
    # A product and a sum over all samples are six times faster than a masked sum, and give the same bits.
    for block in blocks(len(amount)):
        amount[block] += ~reward[block] * np.float64(model_weight)


def sum_where(values: Floats, mask: Bools, wanted: bool = True) -> float:
    parts = blocks(len(values))
    return math.fsum((values[part] * (mask[part] if wanted else ~mask[part])).sum() for part in parts)


def effective_size(ignorance: Floats) -> float:
    r"""Return on how many samples the ignorance lies, :math:`(\sum w)^2 / \sum w^2`."""
    squares = float(np.dot(ignorance, ignorance))
    return float(ignorance.sum()) ** 2 / squares if squares > 0.0 else 0.0


# The weight of a model: how loud its vote is, from where it was right and wrong. With :math:`v_i` the importance of
# sample :math:`i`, it is
#
# .. math:: \alpha = \log \frac{\sum_{r_i = 1} v_i}{\sum_{r_i = 0} v_i} + \log(K - 1).
#
# In ASCII-Simple (and AdaBoost) :math:`v = w`, the ignorance. In ASCII, equations (11) and (13) of the paper,
# :math:`v_i = w_i \exp(\kappa u_i)` with :math:`\kappa = K / (K-1)^2` and :math:`u_i` the sum of the weights of the
# models that were wrong about sample :math:`i` **earlier in the same round**.


NEGLIGIBLE = 1e-10
"""A model weight up to this is a rounding error. In exact numbers it is zero: the model is no better than chance."""

LARGEST = 1e6
"""The largest absolute value of a model weight. Odds of e to the power of a million are as good as certainty.

Without this bound ASCII's weights can double in every round, and overflow after a thousand rounds. It happens with two
classes and two agents, each right where the other is wrong: equation (13) counts the first one's errors twice.
"""


def kappa(n_classes: int) -> float:
    """Return the factor of ``u`` in the exponent of equation (13)."""
    return n_classes / (n_classes - 1) ** 2


def log_importance(log_ignorance: Floats, earlier: Floats, n_classes: int, out: Floats | None = None) -> Floats:
    """Return ``log v``, up to a constant; ``earlier`` is ``u``."""
    out = np.multiply(earlier, kappa(n_classes), out=out)
    out += log_ignorance
    return out


def log_odds(right: float, wrong: float) -> float:
    """Return the log of (importance where the model is right / importance where it is wrong).

    It is infinite for a perfect model, minus infinity for one that is never right, and not a number if no sample has
    any importance.
    """
    return _log(right) - _log(wrong)


def log_odds_of_logs(log_importance: Floats, right: Bools, wrong: Bools) -> float:
    """Return :func:`log_odds` where the importance itself has underflowed to zero."""
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

    The formula would give infinity. The model gets the weight of one that errs on half a sample's ignorance, a share of
    ``1 / (2 n)``, where ``n`` counts the samples with any ignorance at all.
    """
    return math.log(max(2 * n_samples - 1, 2)) + math.log(n_classes - 1)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _log_sum(logs: Floats) -> float:
    top = float(logs.max(initial=-math.inf))
    if top == -math.inf:
        return -math.inf
    return top + math.log(float(np.exp(logs - top).sum()))
