"""Proof that labels have to do with an agent's columns. An owner can ask that the agent says nothing without it."""

from __future__ import annotations

import math

import numpy as np

from assistlearn.core import Reward, ScoreVectors, SoftReward, votes
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes

DOUBT = 5.0
"""By how many standard errors a model must be better than chance."""

MOST_MODELS = 3
"""The most models of one run that are told. Chance moves each towards columns that do not matter; many show this."""


def proved(
    reward: Reward, codes: Codes, ignorance: Floats, n_classes: int, held: Bools | None = None, doubt: float = DOUBT
) -> bool:
    r"""Whether a model is better than chance beyond doubt, on samples that it was not fitted to.

    The test uses how likely the model finds the true class (or whether it is right). It computes the mean under the
    ignorance for each class by itself, then the mean over the classes. A model whose answers have nothing to do with
    the labels has :math:`1/K` there, however uneven the labels or the weights are. So has a model that always answers
    the same.

    The variance within a class is moved towards the mean square deviation from chance, as if there were ``doubt``
    squared more samples with that deviation. So a class in which few people count proves nothing.

    Parameters
    ----------
    reward : Reward
        The model's reward on samples that it was not fitted to.
    codes : ndarray of shape (n_samples,)
        The class codes.
    ignorance : ndarray of shape (n_samples,)
        The ignorance under which the model was fitted.
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
    advantage = sum(means) / n_classes - chance  # a class that nobody has counts as always missed
    return advantage > doubt * math.sqrt(sum(variances)) / n_classes


def _likelihood(reward: Reward, n_classes: int) -> Floats:
    """Return how likely a model finds the true class: one or zero if it answers classes, else from its scores."""
    if not isinstance(reward, SoftReward):
        return reward.astype(np.float64)
    if isinstance(reward, ScoreVectors):
        return votes.probabilities(reward.values())[:, 0]
    out: Floats = 1.0 / (1.0 + (n_classes - 1) * np.exp(-reward.values()))
    return out
