"""Randomised response: labels that are changed at random once, and what they reveal about the true ones.

A label is kept with some probability. Otherwise it is replaced by one that is drawn evenly from all K classes. No
answer is more than ``exp(epsilon)`` times as likely for one true label as for another: this is differential privacy of
the label.

The same label may be asked for with several values of epsilon over time. Independent draws would together reveal it.
But a label for a small epsilon can be made from one for a larger epsilon, by changing it further. So all answers about
a label are links of one chain, from the true label down to the smallest epsilon. Links may be asked for in any order: a
new link is drawn given its neighbours. All links together reveal no more than the one with the largest epsilon.

A chain belongs to one true label. If the true label of a person changes, its chain must not be left for another one by
this person alone: that somebody is drawn anew would then say that the label has changed, without any doubt. Either the
chain goes on from the old label, or everybody begins a new chain, and what both chains say adds up.
"""

from __future__ import annotations

import math

import numpy as np

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes


def kept_share(epsilon: float, n_classes: int) -> float:
    """Return the probability that a label is kept. Otherwise it is drawn evenly from all classes, its own included.

    Examples
    --------
    >>> share = kept_share(1.0, 3)
    >>> right, wrong = share + (1 - share) / 3, (1 - share) / 3
    >>> round(right, 3), round(math.log(right / wrong), 3)
    (0.576, 1.0)
    >>> kept_share(math.inf, 3)
    1.0
    """
    if math.isinf(epsilon):
        return 1.0
    excess = math.expm1(epsilon) if epsilon < 700.0 else math.inf
    return 1.0 if math.isinf(excess) else excess / (excess + n_classes)


def draw(
    above: Codes, below: Codes | None, epsilons: tuple[float, float, float], n_classes: int, uniform: Floats
) -> Codes:
    """Return changed labels, drawn given their neighbours in the chain.

    Parameters
    ----------
    above : ndarray of int of shape (n,)
        The labels to change: the true ones, or labels that were already changed for a larger epsilon.
    below : ndarray of int of shape (n,), or None
        Labels that were drawn earlier for a smaller epsilon; None if there are none.
    epsilons : tuple of three floats
        The epsilon of ``above`` (infinity for true labels), of the labels to draw, and of ``below`` (zero if None).
    n_classes : int
        The number of classes.
    uniform : ndarray of shape (n,)
        Random numbers between zero and one.

    Examples
    --------
    >>> true = np.array([0, 1, 2, 0, 1])
    >>> draw(true, None, (math.inf, 1.0, 0.0), 3, np.array([0.1, 0.5, 0.9, 0.7, 0.95]))
    array([0, 1, 2, 1, 2])
    """
    return picked(likely(above, below, epsilons, n_classes), uniform)


def likely(above: Codes, below: Codes | None, epsilons: tuple[float, float, float], n_classes: int) -> Floats:
    """Return how likely each class is to be drawn (n x K); the arguments are those of :func:`draw`."""
    shares = [kept_share(epsilon, n_classes) for epsilon in epsilons]
    each = chances(above, shares[1] / shares[0], n_classes)
    if below is not None:
        each *= chances(below, shares[2] / shares[1], n_classes)
        each /= each.sum(axis=1, keepdims=True)
    return each


def picked(likely: Floats, uniform: Floats) -> Codes:
    """Return for each row of chances the class that a random number between zero and one stands for.

    >>> picked(np.array([[0.2, 0.8], [0.2, 0.8]]), np.array([0.1, 0.3]))
    array([0, 1])
    """
    steps = likely.cumsum(axis=1)[:, :-1]
    codes: Codes = (uniform[:, np.newaxis] >= steps).sum(axis=1)
    return codes


def chances(labels: Codes, kept: float, n_classes: int) -> Floats:
    """Return the probability that a label changes to each class (n x K). The reverse change is equally likely.

    >>> chances(np.array([1]), kept=0.4, n_classes=3).round(2)
    array([[0.2, 0.6, 0.2]])
    """
    likely = np.full((len(labels), n_classes), (1.0 - kept) / n_classes)
    likely[np.arange(len(labels)), labels] += kept
    return likely
