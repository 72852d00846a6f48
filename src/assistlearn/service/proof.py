"""Proof that labels have to do with an agent's columns, without which its owner may have it say nothing of a turn."""

from __future__ import annotations

import math

import numpy as np

from assistlearn.core import Reward, ScoreVectors, SoftReward, votes
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes

DOUBT = 5.0
"""By how many standard errors a model must be better than chance."""

MOST_MODELS = 3
"""Of how many models something is told in one run: what chance adds to each of them could be told from many."""


def proved(
    reward: Reward, codes: Codes, ignorance: Floats, n_classes: int, held: Bools | None = None, doubt: float = DOUBT
) -> bool:
    r"""Whether a model is better than chance beyond doubt, on samples that it was not fitted to.

    What is looked at is how likely it finds the truth (or whether it is right), under the ignorance, in each class by
    itself; then the mean over the classes. A model whose answers have nothing to do with the labels comes to
    :math:`1/K` there, however unevenly labels or weights are spread: one that always answers the same, too.

    The variance within a class is drawn to the mean square deviation from chance, as if there were ``doubt`` squared
    more samples of that kind. So a class in which few people count proves nothing.

    Parameters
    ----------
    reward : Reward
        What the model got on samples that it was not fitted to.
    codes : ndarray of shape (n_samples,)
        The class codes.
    ignorance : ndarray of shape (n_samples,)
        Under which the model was fitted.
    n_classes : int
        The number of classes.
    held : ndarray of bool, optional
        The samples that the agent holds; None for all.
    doubt : float, default=DOUBT
        By how many standard errors it must be better than chance.

    Examples
    --------
    >>> codes, even = np.arange(100) % 2, np.full(100, 0.01)
    >>> right = np.arange(100) < 85
    >>> proved(right, codes, even, 2), proved(codes == 1, codes, even, 2)
    (True, False)
    """
    truth = _likelihood(reward, n_classes)
    if held is not None:
        truth, codes, ignorance = truth[held], codes[held], ignorance[held]
    chance = 1.0 / n_classes
    weight = float(ignorance.sum())
    if weight <= 0.0:
        return False
    spread = float(ignorance @ (truth - chance) ** 2) / weight
    means, variances = [], []
    for code in np.unique(codes[ignorance > 0.0]):
        own, weights = truth[codes == code], ignorance[codes == code] / ignorance[codes == code].sum()
        mean, size = float(weights @ own), 1.0 / float(weights @ weights)
        within = size * float(weights @ (own - mean) ** 2) + doubt**2 * spread
        means.append(mean)
        variances.append(within / (size + doubt**2) / size)
    advantage = sum(means) / n_classes - chance  # a class without anybody counts as never found
    return advantage > doubt * math.sqrt(sum(variances)) / n_classes


def _likelihood(reward: Reward, n_classes: int) -> Floats:
    """Return how likely a model finds the truth: one or nothing where it says a class, else from the log-odds."""
    if not isinstance(reward, SoftReward):
        return reward.astype(np.float64)
    if isinstance(reward, ScoreVectors):
        return votes.probabilities(reward.values())[:, 0]
    out: Floats = 1.0 / (1.0 + (n_classes - 1) * np.exp(-reward.values()))
    return out
