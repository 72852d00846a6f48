r"""Ignorance: how much help each sample still needs.

The ignorance :math:`w` of the samples is a distribution (non-negative, sums to one). The program computes with its
logarithm, up to an additive constant, so that thousands of rounds neither overflow nor underflow. An update adds to
the samples that were wrong and changes nothing else. The constant disappears in :func:`ignorance_of`.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.blocks import blocks

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


def start(n_samples: int, sample_weight: Floats | None = None) -> Floats:
    """Return the log-ignorance before the first turn: uniform, or that of ``sample_weight``.

    >>> start(3)
    array([0., 0., 0.])
    >>> start(3, np.array([1.0, 0.0, 1.0]))
    array([  0., -inf,   0.])
    """
    if sample_weight is None:
        return np.zeros(n_samples)
    with np.errstate(divide="ignore"):
        return np.log(sample_weight)


def ignorance_of(log_ignorance: Floats, out: Floats | None = None) -> Floats:
    """Return the ignorance itself: non-negative, sums to one.

    >>> ignorance_of(np.log([1.0, 1.0, 2.0]))
    array([0.25, 0.25, 0.5 ])
    """
    out = np.subtract(log_ignorance, log_ignorance.max(), out=out)
    np.exp(out, out=out)
    out /= out.sum()
    return out


def add_where_wrong(amount: Floats, reward: Bools, model_weight: float) -> None:
    r"""Add :math:`\alpha (1 - r_i)` to ``amount``, in place.

    This is the update of the ignorance, equations (10) and (12), in logarithms. The same sum over the turns of one
    round is the ``u`` of equation (13).

    >>> amount = np.zeros(3)
    >>> add_where_wrong(amount, np.array([True, False, True]), 0.5)
    >>> amount
    array([0. , 0.5, 0. ])
    """
    # A product and a sum over all samples are six times faster than a masked sum, and give the same bits.
    for block in blocks(len(amount)):
        amount[block] += ~reward[block] * np.float64(model_weight)


def sum_where(values: Floats, mask: Bools, wanted: bool = True) -> float:
    """Return the sum of the values where the mask equals ``wanted``, block by block to save memory.

    >>> sum_where(np.array([1.0, 2.0, 4.0]), np.array([True, False, True]))
    5.0
    >>> sum_where(np.array([1.0, 2.0, 4.0]), np.array([True, False, True]), wanted=False)
    2.0
    """
    parts = blocks(len(values))
    return math.fsum((values[part] * (mask[part] if wanted else ~mask[part])).sum() for part in parts)


def effective_size(ignorance: Floats) -> float:
    r"""Return the effective sample size: on how many samples the ignorance lies, :math:`(\sum w)^2 / \sum w^2`.

    >>> effective_size(np.array([1.0, 1.0, 1.0, 1.0])), effective_size(np.array([0.5, 0.5, 0.0, 0.0]))
    (4.0, 2.0)
    """
    squares = float(np.dot(ignorance, ignorance))
    return float(ignorance.sum()) ** 2 / squares if squares > 0.0 else 0.0
