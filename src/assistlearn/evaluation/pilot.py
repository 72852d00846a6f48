"""A pilot: what is asked of it, and which samples it trains on and opens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.votes import Codes
from assistlearn.errors import SettingsError
from assistlearn.evaluation.sample_loss import SampleLoss, greatest

MOST_TRAINING = 5_000
"""Samples that are trained on at the most, where a share is asked for."""

MOST_OPENED = 10_000
"""Samples that are opened at the most."""

STREAM = 5
"""Which of the streams of chance that follow from a seed is the pilot's; the others are those of the run."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is asked of a pilot.

    Attributes
    ----------
    at_least : float
        How much lower the mean loss must be for assistance to be worth it. 0.02 of the 0/1 loss are 2 points of
        accuracy.
    alpha : float
        The chance that any of the answers is wrong, at the most, however often one looks.
    loss : {"zero-one", "log"}
        What is compared.
    block : int
        How many samples are opened at a time.
    train_size : float or int
        The share of the labelled samples that are trained on, at most 5,000; or their number.
    each_helper : bool
        Whether to go on until there is an answer for every helper, not just for all together.

    Examples
    --------
    >>> Terms(at_least=2.0)
    Traceback (most recent call last):
        ...
    assistlearn.errors.SettingsError: at_least=2.0 must lie between -1 and 1, as a difference in 'zero-one' loss does.
    """

    at_least: float = 0.0
    alpha: float = 0.05
    loss: SampleLoss = "zero-one"
    block: int = 50
    train_size: float = 0.5
    each_helper: bool = False

    def __post_init__(self) -> None:
        most = greatest(self.loss)
        if not -most < self.at_least < most:
            raise SettingsError(
                f"at_least={self.at_least!r} must lie between -{most:.3g} and {most:.3g}, as a difference in "
                f"{self.loss!r} loss does."
            )
        if not 0.0 < self.alpha < 1.0:
            raise SettingsError(f"alpha={self.alpha!r} must lie between 0 and 1. Use 0.05, say.")
        if not isinstance(self.block, Integral) or self.block < 1:
            raise SettingsError(f"block={self.block!r} must be a whole number of at least 1.")
        share = not isinstance(self.train_size, Integral)
        if not (0.0 < self.train_size < 1.0 if share else self.train_size >= 1):
            raise SettingsError(
                f"train_size={self.train_size!r} must be a share between 0 and 1, or a whole number of samples."
            )


def drawn(terms: Terms, labels: Codes, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions of the samples to train on, and of those that may be opened, in the order of opening.

    Chance alone decides, not the labels: what is opened later must be as likely as what was seen before.

    Parameters
    ----------
    terms : Terms
        How many to train on.
    labels : ndarray of shape (n,)
        The samples' labels, of any kind. Every class must be among those to train on.
    seed : int
        Where chance comes from.

    Examples
    --------
    >>> training, pool = drawn(Terms(train_size=4), np.array([0, 0, 0, 1] * 2), seed=1)
    >>> training, pool
    (array([1, 3, 5, 6]), array([4, 0, 7, 2]))
    """
    order = np.random.RandomState([seed, STREAM]).permutation(len(labels))
    n_training = _n_training(terms.train_size, len(labels))
    if not 0 < n_training < len(labels):
        raise SettingsError(
            f"train_size={terms.train_size!r} of {len(labels)} labelled samples leaves {n_training} to train on and "
            f"{max(len(labels) - n_training, 0)} to open. Both are needed: use another size, or more samples."
        )
    training, pool = np.sort(order[:n_training]), order[n_training : n_training + MOST_OPENED]
    lost = np.setdiff1d(labels, labels[training])
    if len(lost):
        rare = int(np.count_nonzero(labels == lost[0]))
        raise SettingsError(
            f"None of the {n_training} samples to train on has the label {lost[0]}; {rare} of all {len(labels)} have. "
            "Train on more samples, with another seed, or leave labels out that are so rare."
        )
    return training, pool


def _n_training(size: float, n: int) -> int:
    return int(size) if isinstance(size, Integral) else min(math.floor(size * n), MOST_TRAINING)
