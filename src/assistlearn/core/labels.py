"""Labels as class codes: their shares, their balance, and labels that chance has changed."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.types import Bools, Codes, Floats


def classes_and_codes(y: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """Return the sorted classes and each label's position among them, like ``np.unique`` but often without sorting.

    Whole numbers that lie close together are counted, which is ten times faster. The positions have the smallest signed
    type that can hold them. Labels that are already such positions are returned unchanged.
    """
    if y.dtype.kind not in "iu" or len(y) == 0:
        return _sorted(y)
    lowest, highest = int(y.min()), int(y.max())
    if highest - lowest > len(y) or not -(2**62) < lowest <= highest < 2**62:
        return _sorted(y)
    offsets = y.astype(np.intp)
    offsets -= lowest
    present = np.bincount(offsets) > 0
    classes = (np.flatnonzero(present) + lowest).astype(y.dtype)
    small = _type_for(len(classes))
    if lowest == 0 and present.all() and y.dtype == small:
        return classes, y
    return classes, (np.cumsum(present) - 1).astype(small)[offsets]


def _sorted(y: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.reshape(-1).astype(_type_for(len(classes)))


def _type_for(n_classes: int) -> np.dtype[Any]:
    return np.min_scalar_type(-max(n_classes, 1))


def class_shares(codes: Codes, n_classes: int, weights: Floats | None = None) -> Floats:
    """Return the share of each class: the answer for a sample that no agent says anything about."""
    counts = np.bincount(codes, weights=weights, minlength=n_classes)
    out: Floats = counts / counts.sum()
    return out


def silent(scores: Collection[Floats], n_samples: int) -> Bools:
    """Return the samples about which these agents say nothing: all their scores are zero."""
    out: Bools = np.ones(n_samples, dtype=bool)
    for each in scores:
        out &= ~each.any(axis=1)
    return out


def without_scale(sample_weight: Floats) -> Floats | None:
    """Return sample weights without their scale, which means nothing; None where all are equal.

    They are divided by a power of two, so that the largest is between one and two: no digit changes.
    """
    largest = sample_weight.max()
    if largest == sample_weight.min() > 0.0:
        return None
    return np.ldexp(sample_weight, 1 - int(np.frexp(largest)[1]))


def balanced(labels: Codes, n_classes: int, sample_weight: Floats | None = None) -> Floats:
    """Return each sample's weight times :math:`n / (K n_k)`, where :math:`n_k` is the number of samples of its class.

    If samples have weights, :math:`n` and :math:`n_k` are sums of weights. scikit-learn calls the result "balanced".
    """
    mass = np.bincount(labels, weights=sample_weight, minlength=n_classes)
    factor = np.zeros(n_classes)
    np.divide(mass.sum(), n_classes * mass, out=factor, where=mass > 0.0)
    return weighted_by_class(labels, factor, sample_weight)


def weighted_by_class(labels: Codes, factor: Floats, sample_weight: Floats | None = None) -> Floats:
    return factor[labels] if sample_weight is None else sample_weight * factor[labels]


# Randomised response: labels that are changed at random once, and what they reveal about the true ones.
#
# A label is kept with some probability. Otherwise it is replaced by one that is drawn evenly from all K classes. No
# answer is more than ``exp(epsilon)`` times as likely for one true label as for another: this is differential privacy
# of the label.
#
# The same label may be asked for with several values of epsilon over time. Independent draws would together reveal it.
# But a label for a small epsilon can be made from one for a larger epsilon, by changing it further. So all answers
# about a label are links of one chain, from the true label down to the smallest epsilon. A new link is drawn given its
# neighbours, in any order. All links together reveal no more than the one with the largest epsilon.
#
# A chain belongs to one true label. If the true label of a person changes, its chain must not be left for another one
# by this person alone: that somebody is drawn anew would then say that the label has changed, without any doubt.
# Either the chain goes on from the old label, or everybody begins a new chain, and what both chains say adds up.


def kept_share(epsilon: float, n_classes: int) -> float:
    """Return the probability that a label is kept. Otherwise it is drawn evenly from all classes, its own included."""
    if math.isinf(epsilon):
        return 1.0
    excess = math.expm1(epsilon) if epsilon < 700.0 else math.inf
    return 1.0 if math.isinf(excess) else excess / (excess + n_classes)


def draw(
    above: Codes, below: Codes | None, epsilons: tuple[float, float, float], n_classes: int, uniform: Floats
) -> Codes:
    """Return changed labels, drawn given their neighbours in the chain.

    ``above`` are the labels to change: the true ones, or labels that were already changed for a larger epsilon.
    ``below`` were drawn earlier for a smaller one; None if there are none. The ``epsilons`` are that of ``above``
    (infinity for true labels), of the labels to draw, and of ``below`` (zero if None). ``uniform`` are random numbers
    between zero and one.
    """
    return picked(likely(above, below, epsilons, n_classes), uniform)


def likely(above: Codes, below: Codes | None, epsilons: tuple[float, float, float], n_classes: int) -> Floats:
    shares = [kept_share(epsilon, n_classes) for epsilon in epsilons]
    each = chances(above, shares[1] / shares[0], n_classes)
    if below is not None:
        each *= chances(below, shares[2] / shares[1], n_classes)
        each /= each.sum(axis=1, keepdims=True)
    return each


def picked(likely: Floats, uniform: Floats) -> Codes:
    steps = likely.cumsum(axis=1)[:, :-1]
    codes: Codes = (uniform[:, np.newaxis] >= steps).sum(axis=1)
    return codes


def chances(labels: Codes, kept: float, n_classes: int) -> Floats:
    """Return the probability that a label changes to each class (n x K). The reverse change is equally likely."""
    likely = np.full((len(labels), n_classes), (1.0 - kept) / n_classes)
    likely[np.arange(len(labels)), labels] += kept
    return likely
