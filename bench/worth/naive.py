"""What people do instead: McNemar's test after every block, until it says yes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

ALPHA = 0.05


def first_alarm(differences: NDArray[np.float64], block: int, alpha: float = ALPHA) -> int | None:
    """Return after how many samples the exact test first finds a difference; None if it never does.

    Parameters
    ----------
    differences : ndarray
        1 where help put a sample right, -1 where it put one wrong, 0 elsewhere.
    block : int
        After how many samples each one looks.
    alpha : float
        The level that each look is made at.
    """
    for n in range(block, len(differences) + 1, block):
        better, worse = np.count_nonzero(differences[:n] > 0), np.count_nonzero(differences[:n] < 0)
        p = min(1.0, 2.0 * binom.cdf(min(better, worse), better + worse, 0.5))
        if p < alpha:
            return n
    return None
