"""What people do instead: McNemar's test after every block, until it says yes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

ALPHA = 0.05


def first_alarm(differences: NDArray[np.float64], block: int, *, exact: bool) -> int | None:
    """Return after how many samples the test first finds a difference at the 5 % level; None if it never does.

    Parameters
    ----------
    differences : ndarray
        1 where help put a sample right, -1 where it put one wrong, 0 elsewhere.
    block : int
        After how many samples each one looks.
    exact : bool
        By the binomial distribution; otherwise by the normal one, as the test was first written.
    """
    for n in range(block, len(differences) + 1, block):
        better, worse = np.count_nonzero(differences[:n] > 0), np.count_nonzero(differences[:n] < 0)
        if p_value(better, worse, exact=exact) < ALPHA:
            return n
    return None


def p_value(better: int, worse: int, *, exact: bool) -> float:
    """Return the p-value of McNemar's test, two-sided.

    >>> round(p_value(8, 1, exact=True), 4), round(p_value(8, 1, exact=False), 4)
    (0.0391, 0.0196)
    """
    if better + worse == 0:
        return 1.0
    if exact:
        return float(min(1.0, 2.0 * binom.cdf(min(better, worse), better + worse, 0.5)))
    return float(2.0 * norm.sf(abs(better - worse) / np.sqrt(better + worse)))
