"""The bounded loss of a decision on each sample: zero-one loss, or log loss with a clipped probability."""

from __future__ import annotations

import numpy as np

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.evaluation.terms import CLIP, SampleLoss


def losses(loss: SampleLoss, codes: Codes, decided: Codes, probabilities: Floats) -> Floats:
    """Return the loss on each sample.

    Parameters
    ----------
    loss : {"zero-one", "log"}
        The kind of loss.
    codes : ndarray of shape (n,)
        The true class codes.
    decided : ndarray of shape (n,)
        The predicted class codes.
    probabilities : ndarray of shape (n, K)
        The class probabilities.

    Examples
    --------
    >>> p = np.array([[0.75, 0.25], [0.001, 0.999]])
    >>> losses("zero-one", np.array([0, 0]), p.argmax(axis=1), p)
    array([0., 1.])
    >>> losses("log", np.array([0, 0]), p.argmax(axis=1), p).round(3)
    array([0.288, 4.605])
    """
    if loss == "zero-one":
        return np.asarray(decided != codes, dtype=np.float64)
    of_truth = probabilities[np.arange(len(codes)), codes]
    return np.asarray(-np.log(np.clip(of_truth, CLIP, 1.0)), dtype=np.float64)
