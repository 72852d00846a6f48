r"""Correct how sure the likeliest class is, if there are more than two classes.

A factor and an offset per class say well which classes are likelier than others. They say less well how often the
winner is right: with 26 classes this depends on the scores of all others. So the logarithm of the winner's odds gets a
correction :math:`b_0 + b_1 z + b_2 d`, where :math:`z` is that logarithm and :math:`d` is how far the second class is
behind. The other classes keep their proportions.
"""

from __future__ import annotations

import numpy as np

from assistlearn.core.ignorance import Bools, Floats

PULL_TO_NO_CHANGE = (0.3, 10.0, 10.0)
"""Penalties on the squares of the three numbers. With few samples, they keep the correction small."""

SUREST = 14.0
"""Larger odds than ``exp(14)`` count as ``exp(14)``: samples cannot show how to correct them further."""

UNCHANGED = (0.0, 0.0, 0.0)


def lowering(odds: Floats, lead: Floats, sureness: tuple[float, float, float]) -> Floats:
    """Return what to subtract from the exponents of all classes except the winner.

    Parameters
    ----------
    odds : array
        The logarithm of the winner's odds.
    lead : array of the same shape
        How far, in the exponent, the second class is behind the winner.
    sureness : tuple of float
        The three numbers of the correction.

    Examples
    --------
    >>> lowering(np.array([2.0]), np.array([3.0]), (0.5, 0.1, 0.0))
    array([0.7])
    """
    offset, by_odds, by_lead = sureness
    return offset + by_odds * np.minimum(odds, SUREST) + by_lead * np.minimum(lead, SUREST)


def odds_and_lead(behind: Floats) -> tuple[Floats, Floats]:
    """Return the winner's log-odds and its lead for every sample, from the exponents relative to the winner's.

    >>> odds_and_lead(np.log(np.array([[1.0, 0.25, 0.25]])))
    (array([0.69314718]), array([1.38629436]))
    """
    others = np.partition(behind, -2, axis=1)[:, :-1]  # all but the highest, which is the winner's
    lead = -others[:, -1]
    odds = lead - np.log(np.exp(others + lead[:, np.newaxis]).sum(axis=1))
    return odds, lead


def fit_sureness(behind: Floats, right: Bools, counts: Floats) -> tuple[float, float, float]:
    """Return the correction under which the winners are right as often as they say.

    Parameters
    ----------
    behind : array of shape (n_samples, n_classes)
        Exponents relative to the winner's, by a calibration that was not fitted to the same samples.
    right : array of bool of shape (n_samples,)
        Where the winner is the true class.
    counts : array of shape (n_samples,)
        How much each sample counts.
    """
    from scipy.optimize import minimize  # late, because `show` reads calibrations and must start fast

    odds, lead = odds_and_lead(behind)
    seen = np.column_stack([np.ones(len(odds)), np.minimum(odds, SUREST), np.minimum(lead, SUREST)])
    pulls = np.array(PULL_TO_NO_CHANGE)

    def loss_and_slope(change: Floats) -> tuple[float, Floats]:
        corrected = odds + seen @ change
        losses = np.logaddexp(0.0, corrected) - right * corrected
        errors = np.exp(-np.logaddexp(0.0, -corrected)) - right
        return float(counts @ losses + pulls @ change**2), seen.T @ (counts * errors) + 2.0 * pulls * change

    offset, by_odds, by_lead = minimize(loss_and_slope, np.zeros(3), jac=True, method="L-BFGS-B").x.tolist()
    return offset, by_odds, by_lead
