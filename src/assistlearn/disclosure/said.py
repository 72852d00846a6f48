"""What a reward says about a sample, as numbers that an attacker learns from: how much a model favours each class.

With the labels, a reward can be turned into classes. If a model was wrong and there are two classes, it answered the
other class. So the numbers speak of classes, not of right and wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assistlearn.core import Reward, ScoreVectors, SoftReward
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.truth_first import in_order
from assistlearn.core.votes import Codes


def said_of_classes(reward: Reward, codes: Codes, n_classes: int) -> Floats:
    """Return what a reward says about each sample: with two classes one number (for the second), else one per class.

    Parameters
    ----------
    reward : ndarray of bool, or SoftReward
        The reward as it was released.
    codes : ndarray of shape (n_samples,)
        The labels that it is about.
    n_classes : int
        The number of classes.

    Examples
    --------
    >>> said_of_classes(np.array([True, False]), np.array([1, 1]), 2)
    array([[ 1.],
           [-1.]])
    >>> said_of_classes(np.array([True, False]), np.array([2, 2]), 3)
    array([[0. , 0. , 1. ],
           [0.5, 0.5, 0. ]])
    """
    if isinstance(reward, ScoreVectors):
        return in_order(reward.values(), codes)
    if isinstance(reward, SoftReward):
        return _for_the_second(reward.values(), codes)
    if n_classes == 2:
        return _for_the_second(np.where(reward, 1.0, -1.0), codes)
    return _answers(reward, codes, n_classes)


def of_labels(codes: Codes, n_classes: int) -> Floats:
    """Return labels as columns of zeros and ones: one column if there are two classes, else one for each class.

    >>> of_labels(np.array([0, 1]), 2).tolist(), of_labels(np.array([0, 2]), 3).tolist()
    ([[0.0], [1.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    """
    numbers: Floats = np.eye(n_classes)[codes]
    return numbers[:, 1:] if n_classes == 2 else numbers


def beside(parts: Sequence[Floats], n_samples: int) -> Floats:
    """Return the columns of all parts in one array, without columns that have the same value for every sample.

    >>> beside([np.array([[1.0, 2.0], [1.0, 3.0]])], 2)
    array([[2.],
           [3.]])
    """
    columns: Floats = np.column_stack([np.zeros((n_samples, 0)), *parts])
    known = np.isfinite(columns)
    low, high = (f(np.where(known, columns, at), axis=0) for f, at in ((np.min, np.inf), (np.max, -np.inf)))
    differs = (low < high) | (known.any(axis=0) & ~known.all(axis=0))
    return columns[:, differs]


def _for_the_second(towards_truth: Floats, codes: Codes) -> Floats:
    return np.where(codes == 1, towards_truth, -towards_truth)[:, np.newaxis]


def _answers(right: Bools, codes: Codes, n_classes: int) -> Floats:
    """Return how likely each class was the answer: the label where the model was right, else any other class."""
    truth = np.eye(n_classes)[codes]
    return np.where(right[:, np.newaxis], truth, (1.0 - truth) / (n_classes - 1))
