"""Histogram boosting of scikit-learn's looks for its bins under the sample weights in every fit; coarsen a table once.

With weights, finding the bins of a column takes hundreds of passes over it, far longer than growing the trees. A column
with no more different values than there are bins is done with at once. So values are put into as many bins of equal
counts beforehand, and each stands for its bin's middle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier


def coarsened(estimator: Any, table: Any) -> Any:
    """Return a dense table of numbers as coarse as histogram boosting would see it; anything else as it is.

    >>> table = np.linspace(0.0, 1.0, 10_000).reshape(-1, 1)
    >>> len(np.unique(coarsened(HistGradientBoostingClassifier(), table)))
    255
    >>> few = np.arange(8.0).reshape(-1, 1)
    >>> coarsened(HistGradientBoostingClassifier(), few) is few
    True
    """
    if type(estimator) is not HistGradientBoostingClassifier or not isinstance(table, np.ndarray):
        return table
    if table.dtype.kind != "f" or not isinstance(estimator.categorical_features, str | None):
        return table
    out = table
    for place in range(table.shape[1]):
        column = table[:, place]
        there = np.isfinite(column)
        if len(np.unique(column[there])) > estimator.max_bins:
            if out is table:
                out = table.copy()
            out[there, place] = _middles(column[there], estimator.max_bins)
    return out


def _middles(values: NDArray[np.floating[Any]], n_bins: int) -> NDArray[np.floating[Any]]:
    """Return, for every value, the middle of its bin: halfway between the least and the largest in it."""
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1)[1:-1], method="averaged_inverted_cdf"))
    bins = np.searchsorted(edges, values, side="left")
    least, largest = np.full(len(edges) + 1, np.inf), np.full(len(edges) + 1, -np.inf)
    np.minimum.at(least, bins, values)
    np.maximum.at(largest, bins, values)
    middles: NDArray[np.floating[Any]] = ((least[bins] + largest[bins]) / 2).astype(values.dtype)
    return middles
