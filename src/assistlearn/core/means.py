"""A weighted mean, and how far it may be from the mean of all samples like these."""

from __future__ import annotations

import numpy as np

from assistlearn.core.groups import Groups
from assistlearn.core.ignorance import Floats


def mean_and_error(values: Floats, weights: Floats | None = None, groups: Groups | None = None) -> tuple[float, float]:
    r"""Return a weighted mean of samples and its standard error.

    With shares :math:`p_i` of the weights, the mean is :math:`m = \sum_i p_i x_i`, and the square of the error is

    .. math:: \sum_i \frac{p_i^2 (x_i - m)^2}{1 - 2 p_i + \sum_j p_j^2}.

    The denominator is the part of a sample's variance that is left after the mean is subtracted. So with equal spread
    the square is right on average for every number of samples, and for any weights. With equal weights the error is
    the standard deviation divided by the square root of the number of samples.

    Samples of weight zero do not count, and the scale of the weights does not matter. One sample says nothing about the
    spread: its error is infinite. Without a sample the mean is not a number.

    Parameters
    ----------
    values : ndarray of shape (n,)
        A value for each sample.
    weights : ndarray of shape (n,), optional
        The weights of the samples; equal by default.
    groups : ndarray of int of shape (n,), optional
        Which samples are about the same person. The formula then goes by persons: by the weight of all samples of each,
        and by their mean.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 3.0, 1.0, 3.0]))
    (2.0, 0.577...)
    >>> mean_and_error(np.array([1.0, 3.0]), np.array([1.0, 0.0]))
    (1.0, inf)
    >>> mean_and_error(np.array([1.0, 1.0, 3.0, 3.0]), groups=np.array([0, 0, 1, 1]))
    (2.0, 1.0)
    """
    if groups is not None:
        values, weights = of_persons(values, weights, groups)
    means, errors = means_and_errors(values[:, np.newaxis], weights)
    return float(means[0]), float(errors[0])


def means_and_errors(values: Floats, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """Return :func:`mean_and_error` of every column of a table; its samples are the first axis.

    >>> means_and_errors(np.array([[1.0, 5.0], [3.0, 5.0]]))
    (array([2., 5.]), array([1., 0.]))
    """
    if weights is not None:
        values, weights = values[weights > 0.0], weights[weights > 0.0]
    n = len(values)
    if n == 0:
        return np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.inf)
    given = np.ones(n) if weights is None else weights / weights.max()
    shares = given / given.sum()
    means: Floats = np.tensordot(shares, values, axes=1)
    squares = shares**2
    left = (1.0 - shares) ** 2 + np.maximum(squares.sum() - squares, 0.0)
    if n == 1 or not left.min() > 0.0:  # a sample beside which no other has any weight
        return means, np.full(means.shape, np.inf)
    return means, np.sqrt(np.tensordot(squares / left, (values - means) ** 2, axes=1))


def of_persons(values: Floats, weights: Floats | None, groups: Groups) -> tuple[Floats, Floats]:
    """Return the mean value of each person's samples, and their weight in all; zero where nobody has any weight.

    >>> of_persons(np.array([1.0, 4.0, 5.0]), np.array([1.0, 2.0, 1.0]), np.array([0, 0, 1]))
    (array([3., 5.]), array([3., 1.]))
    """
    given = np.ones(len(values)) if weights is None else weights
    whole: Floats = np.bincount(groups, weights=given).astype(np.float64)
    return np.bincount(groups, weights=given * values) / np.where(whole > 0.0, whole, 1.0), whole


def effective_size(weights: Floats) -> float:
    """Return how many samples of equal weight tell as much as these.

    >>> effective_size(np.array([2.0, 2.0, 0.0])), effective_size(np.array([1000.0, 0.0]))
    (2.0, 1.0)
    """
    given = weights / weights.max()
    return float(given.sum() ** 2 / (given**2).sum())
