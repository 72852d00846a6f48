r"""An interval for a mean that holds at any time you stop to look, by betting.

Somebody bets against a candidate mean :math:`m` of variables in [0, 1]: before every value a share :math:`l` of the
capital is put on "it will be above", at odds that are fair if :math:`m` is the mean. After the values
:math:`x_1, \dots, x_n` a capital of 1 has become

.. math:: K_n(m) = \prod_{i \le n} \Bigl(1 - l + l \, \frac{x_i}{m}\Bigr).

If :math:`m` is the mean, this is a fair game, and the chance that the capital *ever* reaches :math:`1 / \alpha` is at
most :math:`\alpha` (Ville's inequality). So a candidate against which it was reached can be left out for good, and one
may look after every value. This is the capital of Waudby-Smith and Ramdas (2023), with the capital spread over many
bets at the beginning in place of a bet that is changed on the way: there is nothing to tune, and the order of the
values does not matter.

The capital falls with :math:`m`. So the candidates that are left out lie below one limit, which is found by halving.
The upper limit is one less the lower limit of :math:`1 - x`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from assistlearn.core.ignorance import Floats
from assistlearn.errors import SettingsError

Side: TypeAlias = Literal["both", "lower", "upper"]

N_BETS = 32
BETS: Floats = (np.arange(1, N_BETS + 1) / (N_BETS + 1)) ** 2
"""The shares of the capital that are put on "above", each with an equal part of it. Squares, so that many are small:
small differences need small bets. They are no setting: none has looked at data."""

HALVINGS = 32
"""How often the place of a limit is halved: it is exact to 3e-10 of the range, and never too tight."""

NOTHING = 1e-12
"""A mean of the values below this is not told from none: no limit is looked for."""


class MeanLimits(NamedTuple):
    """An interval: the least and the greatest mean that is not left out."""

    lower: float
    upper: float


class ConfidenceSequence:
    """Limits of a mean that hold at all times together, with probability ``1 - alpha``.

    Parameters
    ----------
    alpha : float
        The chance that the mean is ever outside, at the most.
    low, high : float
        What the values lie between.
    side : {"both", "lower", "upper"}
        Which limits are wanted. For both, each has half of ``alpha``.

    Attributes
    ----------
    n : int
        How many values were heard.
    mean : float
        Their mean; not a number before the first.
    limits : MeanLimits
        What is left after every look so far: they never get wider.

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
            raise SettingsError(f"alpha={alpha!r} must lie between 0 and 1. Use 0.05, say.")
        self._low, self._range = low, high - low
        self._side = side
        self._log_threshold = float(np.log((2.0 if side == "both" else 1.0) / alpha))
        self._values: Floats = np.empty(0)
        self._counts: Floats = np.empty(0)
        self._lower, self._upper = 0.0, 1.0

    @property
    def n(self) -> int:
        """How many values were heard."""
        return int(self._counts.sum())

    @property
    def mean(self) -> float:
        """The mean of the values; not a number before the first."""
        return self._low + self._range * float(self._values @ self._counts) / self.n if self.n else float("nan")

    @property
    def limits(self) -> MeanLimits:
        """The limits after every look so far."""
        return MeanLimits(self._low + self._range * self._lower, self._low + self._range * self._upper)

    def hear(self, values: Floats) -> MeanLimits:
        """Take values in, and return the limits; where one looks is for the caller to choose, at any time."""
        scaled = (np.asarray(values, dtype=np.float64) - self._low) / self._range
        if not np.all((scaled >= 0.0) & (scaled <= 1.0)):  # not a number is outside, too
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
    """Return the greatest candidate mean against which the capital has reached a threshold.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Between 0 and 1.
    counts : ndarray of shape (n_values,)
        How often each was seen.
    log_threshold : float
        The logarithm of the capital that leaves a candidate out.
    least : float
        Candidates below are out already; it is returned where no more are.
    """
    greatest = float(values @ counts / counts.sum()) if len(values) else 0.0
    if greatest <= max(least, NOTHING) or (least > 0.0 and log_capital(values, counts, least) < log_threshold):
        return least
    out, left = least, greatest  # against the mean of the values themselves nothing is won
    for _ in range(HALVINGS):
        middle = 0.5 * (out + left)
        if log_capital(values, counts, middle) >= log_threshold:
            out = middle
        else:
            left = middle
    return out


def log_capital(values: Floats, counts: Floats, candidate: float) -> float:
    """Return the logarithm of what a capital of 1 has become by bets that the mean lies above a candidate.

    >>> round(float(np.exp(log_capital(np.array([0.5]), np.array([7.0]), 0.5))), 12)
    1.0
    """
    grown = np.log((1.0 - BETS)[:, None] + np.outer(BETS, values / candidate)) @ counts
    most = grown.max()
    return float(most + np.log(np.mean(np.exp(grown - most))))
