"""Compare two methods on the same replications, and test whether chance explains their difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student
from scipy.stats import ttest_rel

from assistlearn.core.ignorance import Floats

LEVEL = 0.05
"""A difference counts as real if chance alone would cause it with a smaller probability than this."""


@dataclass(frozen=True)
class Comparison:
    """How much two methods differ on the same replications.

    Attributes
    ----------
    difference : float
        The mean difference in accuracy.
    p : float
        The p-value of a two-sided paired t-test; 1 if all differences are zero, or there is only one.
    p_resplit : float, optional
        The same, corrected for replications that split the same samples again and again (Nadeau and Bengio, 2003).
    """

    difference: float
    p: float
    p_resplit: float | None = None

    @property
    def better(self) -> bool:
        """Whether the first is better by more than chance explains."""
        return self.difference > 0.0 and self._sure

    @property
    def worse(self) -> bool:
        """Whether the first is worse by more than chance explains."""
        return self.difference < 0.0 and self._sure

    @property
    def _sure(self) -> bool:
        return max(self.p, self.p_resplit or 0.0) < LEVEL

    def __str__(self) -> str:
        text = f"{self.difference:+.3f}, {_chance(self.p)}"
        return text if self.p_resplit is None else f"{text} (corrected {_chance(self.p_resplit)})"


def compare(first: Floats, second: Floats, resplit: float = 0.0) -> Comparison:
    """Compare two methods by their accuracies on the same replications.

    Parameters
    ----------
    first, second : ndarray of shape (n_replications,)
        The accuracies.
    resplit : float, default=0.0
        If every replication splits the same samples again: the size of the test part divided by that of the training
        part. Such replications share samples, so their spread is too small. The correction adds this ratio to one over
        the number of replications.

    Examples
    --------
    >>> compare(np.array([0.8, 0.9, 0.85]), np.array([0.7, 0.82, 0.74])).better
    True
    >>> str(compare(np.array([0.5, 0.5]), np.array([0.5, 0.5])))
    '+0.000, p = 1'
    """
    difference = first - second
    mean, n = float(difference.mean()), len(difference)
    if n < 2 or np.ptp(difference) == 0.0:  # no spread, no test
        p = 0.0 if n > 1 and mean != 0.0 else 1.0
        return Comparison(mean, p, p if resplit else None)
    p = float(ttest_rel(first, second).pvalue)
    if not resplit:
        return Comparison(mean, p)
    t = mean / float(np.sqrt((1.0 / n + resplit) * difference.var(ddof=1)))
    return Comparison(mean, p, float(2.0 * student.sf(abs(t), n - 1)))


def _chance(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.9995 else "p = 1"
