"""Average shares over several runs, so that it matters less which agent was the first by chance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assistlearn.core.means import mean_and_error
from assistlearn.errors import SettingsError
from assistlearn.evaluation.shares import Estimate, GainShare, GainShares

NORMAL = 1.959963984540054  # the 97.5 % point of the standard normal distribution


def mean_shares(runs: Iterable[GainShares]) -> GainShares:
    """Return the mean shares of several runs that differ only by chance, with errors that include this chance.

    If two helpers know the same, the one that comes first gets the larger share. With ``order="random"`` this is chance
    alone, and a single run cannot show how large its influence is. Several runs with different seeds can.

    Parameters
    ----------
    runs : iterable of GainShares
        Two or more, of the same helpers on the same samples, by models fitted with different ``random_state``.

    Returns
    -------
    shares : GainShares
        The means. The standard errors include the chance of the samples, which all runs share, and the chance of the
        runs. The second is larger if there are few runs, so that 1.96 errors still make an interval of about 95 %.

    Examples
    --------
    >>> one = Estimate(0.25, 0.0)
    >>> first, second = (
    ...     GainShares(one, one, (GainShare("lab", Estimate(value, 0.0), one, one, one),), 100, None)
    ...     for value in (0.125, 0.375)
    ... )
    >>> mean_shares([first, second]).helpers[0].loss.value
    0.25
    """
    found = list(runs)
    names = [tuple(share.helper for share in each.helpers) for each in found]
    if len(found) < 2 or len(set(names)) > 1 or len({each.n_samples for each in found}) > 1:
        raise SettingsError(
            "A mean over runs needs at least two runs with the same helpers and the same samples; here are "
            f"{len(found)} with the helpers {sorted(set(names))} and {sorted({each.n_samples for each in found})} "
            "samples."
        )
    helpers = tuple(_share(parts) for parts in zip(*(each.helpers for each in found), strict=True))
    loss, accuracy = _mean([each.loss for each in found]), _mean([each.accuracy for each in found])
    return GainShares(loss, accuracy, helpers, found[0].n_samples, found[0].n_orders)


def _share(parts: Sequence[GainShare]) -> GainShare:
    return GainShare(
        parts[0].helper,
        _mean([part.loss for part in parts]),
        _mean([part.accuracy for part in parts]),
        _mean([part.loss_if_dropped for part in parts]),
        _mean([part.accuracy_if_dropped for part in parts]),
    )


def _mean(parts: Sequence[Estimate]) -> Estimate:
    mean, error = mean_and_error(np.array([part.value for part in parts]))
    of_samples = float(np.mean([part.error for part in parts]))
    from scipy import stats

    of_runs = error * stats.t.ppf(0.975, len(parts) - 1) / NORMAL
    return Estimate(mean, float(np.hypot(of_samples, of_runs)))
