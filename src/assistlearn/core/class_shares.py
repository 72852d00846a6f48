"""The shares of the classes among the labels: the answer for a sample that no agent says anything about."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes


def class_shares(codes: Codes, n_classes: int, weights: Floats | None = None) -> Floats:
    """Return the share of each class, by the weights of the samples.

    >>> class_shares(np.array([0, 1, 1, 1]), 3)
    array([0.25, 0.75, 0.  ])
    """
    counts = np.bincount(codes, weights=weights, minlength=n_classes)
    out: Floats = counts / counts.sum()
    return out


def silent(scores: Collection[Floats], n_samples: int) -> Bools:
    """Return the samples about which these agents say nothing: all their scores are zero.

    >>> silent([np.array([[1.0, -1.0], [0.0, 0.0]]), np.zeros((2, 2))], 2)
    array([False,  True])
    """
    out: Bools = np.ones(n_samples, dtype=bool)
    for each in scores:
        out &= ~each.any(axis=1)
    return out
