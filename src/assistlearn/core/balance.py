"""Sample weights: their scale, and weights under which every class counts equally."""

from __future__ import annotations

import numpy as np

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes


def without_scale(sample_weight: Floats) -> Floats | None:
    """Return sample weights without their scale, which means nothing; None where all are equal.

    They are divided by a power of two, so that the largest is between one and two: no digit changes.

    >>> without_scale(np.array([2.0, 2.0])), without_scale(np.array([12.0, 4.0]))
    (None, array([1.5, 0.5]))
    """
    largest = sample_weight.max()
    if largest == sample_weight.min() > 0.0:
        return None
    return np.ldexp(sample_weight, 1 - int(np.frexp(largest)[1]))


def balanced(labels: Codes, n_classes: int, sample_weight: Floats | None = None) -> Floats:
    r"""Return each sample's weight times :math:`n / (K n_k)`, where :math:`n_k` is the number of samples of its class.

    If samples have weights, :math:`n` and :math:`n_k` are sums of weights. scikit-learn calls the result "balanced".

    Parameters
    ----------
    labels : ndarray of int of shape (n_samples,)
        The class of each sample.
    n_classes : int
        The number of classes, :math:`K`.
    sample_weight : ndarray of shape (n_samples,), optional
        The weights so far; equal by default.

    Examples
    --------
    >>> balanced(np.array([0, 0, 0, 1]), 2).round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """
    mass = np.bincount(labels, weights=sample_weight, minlength=n_classes)
    factor = np.zeros(n_classes)
    np.divide(mass.sum(), n_classes * mass, out=factor, where=mass > 0.0)
    return weighted_by_class(labels, factor, sample_weight)


def weighted_by_class(labels: Codes, factor: Floats, sample_weight: Floats | None = None) -> Floats:
    """Return each sample's weight times the factor of its class.

    >>> weighted_by_class(np.array([0, 1, 1]), np.array([3.0, 1.0]))
    array([3., 1., 1.])
    """
    return factor[labels] if sample_weight is None else sample_weight * factor[labels]
