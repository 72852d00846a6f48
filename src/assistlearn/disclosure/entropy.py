"""How many bits a column holds about a sample: the empirical entropy of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 32
"""If a column has more different numbers than this, they are divided into this many bins of about equal counts."""


def column_entropy(values: NDArray[Any]) -> float:
    """Return the empirical entropy of a column in bits; a missing value counts as one more value.

    Categories are counted one by one, and so are numbers if there are at most :data:`BINS` different ones. Other
    numbers are divided into :data:`BINS` bins of equal counts. So a column of numbers without gaps holds at most five
    bits, however many digits the numbers have; with gaps at most log2(33), or 5.04.

    Parameters
    ----------
    values : ndarray
        Numbers (NaN: missing) or text (None: missing).

    Examples
    --------
    >>> column_entropy(np.array([0.0, 1.0, 0.0, 1.0]))
    1.0
    >>> round(column_entropy(np.arange(10_000.0)), 2)
    5.0
    >>> column_entropy(np.array(["a", "b", "c", None], dtype=object))
    2.0
    """
    if values.dtype.kind in "fiub":
        return _entropy(_binned(values.astype(float)))
    return _entropy(np.array(["0" if value is None else f"1{value}" for value in values]))


def _binned(numbers: NDArray[np.float64]) -> NDArray[Any]:
    present = np.isfinite(numbers)
    if len(np.unique(numbers[present])) <= BINS:
        return np.where(present, numbers, np.inf)
    edges = np.quantile(numbers[present], np.linspace(0.0, 1.0, BINS + 1)[1:-1])
    return np.where(present, np.searchsorted(edges, numbers, side="left"), -1)


def _entropy(values: NDArray[Any]) -> float:
    counts = np.unique(values, return_counts=True)[1]
    shares = counts / max(counts.sum(), 1)
    return max(float(-(shares * np.log2(shares)).sum()), 0.0)
