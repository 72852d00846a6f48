r"""An interval for a mean, found by betting. It stays valid however often you look.

To test a candidate mean :math:`m` of values in [0, 1], somebody bets that the values are above it. Before every value a
share :math:`l` of the capital is bet, at odds that are fair if :math:`m` is the mean. After the values
:math:`x_1, \dots, x_n` a capital of 1 has become

.. math:: K_n(m) = \prod_{i \le n} \Bigl(1 - l + l \, \frac{x_i}{m}\Bigr).

If :math:`m` is the mean, this is a fair game, and the chance that the capital *ever* reaches :math:`1 / \alpha` is at
most :math:`\alpha` (Ville's inequality). So a candidate is excluded for good once the capital reaches this value, and
you may look after every value. This is the method of Waudby-Smith and Ramdas (2023), except that the capital is divided
among many bets at the beginning. Their single bet changes on the way. So here there is nothing to tune, and the order
of the values does not matter.

The capital falls as :math:`m` rises. So all excluded candidates lie below one limit, which is found by bisection. The
upper limit is one minus the lower limit of :math:`1 - x`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from assistlearn.core.ignorance import Floats
from assistlearn.core.means import mean_and_error
from assistlearn.errors import SettingsError

Side: TypeAlias = Literal["both", "lower", "upper"]

N_BETS = 32
BETS: Floats = (np.arange(1, N_BETS + 1) / (N_BETS + 1)) ** 2
"""The shares that are bet. Each gets an equal part of the capital. They are squares, so that many are small: small
differences need small bets. They are not a setting, and were not chosen by looking at data."""

HALVINGS = 32
"""How many steps the bisection takes: the limit is then exact to 3e-10 of the range, and never too tight."""

NOTHING = 1e-12
"""A mean of the values up to this counts as zero: no limit is searched for."""


class MeanLimits(NamedTuple):
    """An interval: the smallest and the largest mean that are not excluded."""

    lower: float
    upper: float


class ConfidenceSequence:
    """Limits of a mean. With probability ``1 - alpha``, the mean is within them at all times.

    Parameters
    ----------
    alpha : float
        The largest chance that the mean is ever outside the limits.
    low, high : float
        The smallest and the largest possible value.
    side : {"both", "lower", "upper"}
        Which limits are wanted. For both, each has half of ``alpha``.

    Attributes
    ----------
    n : int
        The number of values so far.
    mean, error : float
        Their mean, not a number before the first value; and its standard error, which is infinite before the second.
    limits : MeanLimits
        The limits after all values so far. They never get wider.

    Examples
    --------
    >>> sequence = ConfidenceSequence(alpha=0.05, low=-1.0, high=1.0)
    >>> for _ in range(3):
    ...     limits = sequence.hear(np.repeat([1.0, 0.0, -1.0], [8, 41, 1]))
    ...     print(f"{sequence.n}: {limits.lower:+.3f} to {limits.upper:+.3f}")
    50: -0.049 to +0.350
    100: +0.016 to +0.284
    150: +0.041 to +0.256
    """

    def __init__(self, alpha: float, low: float = 0.0, high: float = 1.0, side: Side = "both") -> None:
        if not 0.0 < alpha < 1.0:
            raise SettingsError(f"alpha={alpha!r} must lie between 0 and 1, for example 0.05.")
        self._low, self._range = low, high - low
        self._side = side
        self._log_threshold = float(np.log((2.0 if side == "both" else 1.0) / alpha))
        self._values: Floats = np.empty(0)
        self._counts: Floats = np.empty(0)
        self._lower, self._upper = 0.0, 1.0

    @property
    def n(self) -> int:
        """The number of values so far."""
        return int(self._counts.sum())

    @property
    def mean(self) -> float:
        """The mean of the values; not a number before the first."""
        return self._low + self._range * float(self._values @ self._counts) / self.n if self.n else float("nan")

    @property
    def error(self) -> float:
        """The standard error of this mean."""
        return self._range * mean_and_error(np.repeat(self._values, self._counts.astype(np.intp)))[1]

    @property
    def limits(self) -> MeanLimits:
        """The limits after all values so far."""
        return MeanLimits(self._low + self._range * self._lower, self._low + self._range * self._upper)

    def hear(self, values: Floats) -> MeanLimits:
        """Add values, and return the new limits. They are valid whenever the caller decides to stop."""
        scaled = (np.asarray(values, dtype=np.float64) - self._low) / self._range
        if not np.all((scaled >= 0.0) & (scaled <= 1.0)):  # also refuses what is not a number
            raise SettingsError(f"Values must lie between {self._low} and {self._low + self._range}.")
        every, counts = np.append(self._values, scaled), np.append(self._counts, np.ones(len(scaled)))
        self._values, place = np.unique(every, return_inverse=True)
        self._counts = np.bincount(place, weights=counts).astype(np.float64)
        if self._side != "upper":
            self._lower = lower_limit(self._values, self._counts, self._log_threshold, self._lower)
        if self._side != "lower":
            below = lower_limit(1.0 - self._values, self._counts, self._log_threshold, 1.0 - self._upper)
            self._upper = min(1.0 - below, self._upper)
        return self.limits


def lower_limit(values: Floats, counts: Floats, log_threshold: float, least: float = 0.0) -> float:
    """Return the largest candidate mean that is excluded: against it, the capital has reached a threshold.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The different values, between 0 and 1.
    counts : ndarray of shape (n_values,)
        How often each value was seen.
    log_threshold : float
        The logarithm of the capital that excludes a candidate.
    least : float
        Candidates up to this are already excluded. It is returned if no others are.
    """
    greatest = float(values @ counts / counts.sum()) if len(values) else 0.0
    if greatest <= max(least, NOTHING) or (least > 0.0 and log_capital(values, counts, least) < log_threshold):
        return least
    out, left = least, greatest  # the mean of the values itself is never excluded
    for _ in range(HALVINGS):
        middle = 0.5 * (out + left)
        if log_capital(values, counts, middle) >= log_threshold:
            out = middle
        else:
            left = middle
    return out


def log_capital(values: Floats, counts: Floats, candidate: float) -> float:
    """Return the logarithm of the capital after bets that the mean is above a candidate. It was 1 at first.

    >>> round(float(np.exp(log_capital(np.array([0.5]), np.array([7.0]), 0.5))), 12)
    1.0
    """
    grown = np.log((1.0 - BETS)[:, None] + np.outer(BETS, values / candidate)) @ counts
    most = grown.max()
    return float(most + np.log(np.mean(np.exp(grown - most))))
