"""Losses of the soft methods: they decide a sample's ignorance and the best model weight."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from assistlearn.core.ignorance import blocks
from assistlearn.types import Floats

# A loss depends on the votes of a sample. With two classes these are one number, :math:`f`, the vote for the true
# class. With more they are a vector, the vote for the true class first, and they stand for the probabilities
# :math:`p = \mathrm{softmax}(\frac{K-1}{K} f)` (:func:`assistlearn.core.votes.probabilities`).
#
# - exponential: :math:`\exp(-\frac{K-1}{K} f_0)`, AdaBoost's. Its ignorance has no upper bound.
# - logistic: :math:`-\log p_0`. Its ignorance, :math:`1 - p_0`, is the probability of being wrong. It is at most one,
#   so that a mislabelled sample cannot dominate the others.
#
# Both are convex in every direction: a weight between zero and the best one never raises them.


MOST_STEPS = 100
TOLERANCE = 1e-12


class Exponential:
    """AdaBoost's loss of the vote for the truth."""

    def log_ignorance(self, votes: Floats) -> Floats:
        of_truth, n_classes = (votes, 2) if votes.ndim == 1 else (votes[:, 0], votes.shape[1])
        return of_truth * (-(n_classes - 1) / n_classes)

    def value(self, votes: Floats) -> Floats:
        out: Floats = np.exp(self.log_ignorance(votes))
        return out

    def bend(self, votes: Floats) -> Floats:
        """Return the second derivative by one vote, divided by minus the first."""
        return np.full_like(votes, 0.5)

    def slope_and_bend(self, votes: Floats, said: Floats) -> tuple[Floats, Floats]:
        along = -_logits(said)[:, 0]
        slope = along * self.value(votes)
        return slope, along * slope


class Logistic:
    """The log loss of the probabilities that the votes stand for.

    >>> np.exp(Logistic().log_ignorance(np.array([-50.0, 0.0]))).round(3)
    array([1. , 0.5])
    >>> np.exp(Logistic().log_ignorance(np.zeros((1, 4)))).round(3)
    array([0.75])
    """

    def log_ignorance(self, votes: Floats) -> Floats:
        """Return the logarithm of the probability of being wrong."""
        if votes.ndim == 1:
            out: Floats = -np.logaddexp(0.0, votes)
            return out
        logits = _logits(votes)
        wrong = _log_sum(logits[:, 1:])
        return np.asarray(wrong - np.logaddexp(logits[:, 0], wrong), dtype=np.float64)

    def value(self, votes: Floats) -> Floats:
        if votes.ndim == 1:
            out: Floats = np.logaddexp(0.0, -votes)
            return out
        logits = _logits(votes)
        return np.asarray(np.logaddexp(0.0, _log_sum(logits[:, 1:]) - logits[:, 0]), dtype=np.float64)

    def bend(self, votes: Floats) -> Floats:
        """Return the probability of being right: the second derivative by one vote, divided by minus the first."""
        out: Floats = -np.expm1(self.log_ignorance(votes))
        return out

    def slope_and_bend(self, votes: Floats, said: Floats) -> tuple[Floats, Floats]:
        """Return the first two derivatives of each sample's loss along the vectors ``said``.

        They are the mean of the scaled ``said`` less its value for the truth, and its variance: both over the classes,
        by their probabilities.
        """
        shares = _logits(votes)
        shares -= shares.max(axis=1, keepdims=True)
        np.exp(shares, out=shares)
        shares /= shares.sum(axis=1, keepdims=True)
        along = _logits(said)
        mean = np.einsum("nk,nk->n", shares, along)
        along -= mean[:, np.newaxis]
        slope: Floats = -along[:, 0].copy()
        along *= along
        return slope, np.einsum("nk,nk->n", shares, along)


Loss: TypeAlias = Exponential | Logistic
LOSSES: dict[str, Loss] = {"exponential": Exponential(), "logistic": Logistic()}


def best_weight(loss: Loss, log_start: Floats | None, votes: Floats, said: Floats, cap: float) -> float:
    """Return the weight between zero and ``cap`` with which a model's votes lower the loss most.

    Votes so far and those of the model are for the truth, or for all classes with the truth first. ``log_start`` are
    the logarithms of the initial weights of the samples; None if all are equal.

    A model that is right on three samples and wrong on one gets AdaBoost's weight, log 3. With three classes its vote
    then means a probability of 3/4, log 3 + log 2.

    >>> round(best_weight(Exponential(), None, np.zeros(4), np.array([1.0, 1.0, 1.0, -1.0]), cap=10.0), 6)
    1.098612
    >>> said = np.array([[1.0, -0.5, -0.5]] * 3 + [[-0.5, 1.0, -0.5]])
    >>> round(best_weight(Logistic(), None, np.zeros((4, 3)), said, cap=10.0), 6)
    1.791759
    """
    if votes.ndim == 1:
        return lowest(lambda weight: _derivatives_of_one(loss, log_start, votes, said, weight), cap)
    start = None if log_start is None else initial_weights(log_start)
    return lowest(lambda weight: _derivatives_of_vectors(loss, start, votes, said, weight), cap)


def initial_weights(log_start: Floats) -> Floats:
    out: Floats = np.exp(log_start - log_start.max())
    return out


def lowest(slope_and_bend: Callable[[float], tuple[float, float]], cap: float) -> float:
    """Return where a convex function is lowest between zero and ``cap``, from its first two derivatives.

    This is Newton's method within a bracket: the slope of a convex function has at most one root.
    """
    low, high = 0.0, cap
    if slope_and_bend(low)[0] >= 0.0:
        return 0.0
    if slope_and_bend(high)[0] <= 0.0:
        return cap
    weight = min(1.0, cap / 2)
    for _ in range(MOST_STEPS):
        slope, bend = slope_and_bend(weight)
        if slope < 0.0:
            low = weight
        else:
            high = weight
        step = weight - slope / bend if bend > 0.0 else math.nan
        following = step if low < step < high else (low + high) / 2
        if abs(following - weight) <= TOLERANCE * max(1.0, weight):
            return following
        weight = following
    return weight


def _derivatives_of_one(
    loss: Loss, log_start: Floats | None, votes: Floats, said: Floats, weight: float
) -> tuple[float, float]:
    """Return the first two derivatives of the loss along ``said``, up to a common positive factor.

    The factor keeps the exponential loss from overflowing: the sample that matters most counts as one.
    """

    def logs(block: slice) -> Floats:
        out = loss.log_ignorance(votes[block] + weight * said[block])
        if log_start is not None:
            out += log_start[block]
        return out

    top = max((float(logs(block).max()) for block in blocks(len(said))), default=0.0)
    slopes, bends = [], []
    for block in blocks(len(said)):
        matters = np.exp(logs(block) - top)
        matters *= said[block]
        slopes.append(float(matters.sum()))
        matters *= said[block]
        matters *= loss.bend(votes[block] + weight * said[block])
        bends.append(float(matters.sum()))
    return -math.fsum(slopes), math.fsum(bends)


def _derivatives_of_vectors(
    loss: Loss, start: Floats | None, votes: Floats, said: Floats, weight: float
) -> tuple[float, float]:
    slopes, bends = [], []
    for block in blocks(len(said)):
        slope, bend = loss.slope_and_bend(votes[block] + weight * said[block], said[block])
        if start is not None:
            slope, bend = slope * start[block], bend * start[block]
        slopes.append(float(slope.sum()))
        bends.append(float(bend.sum()))
    return math.fsum(slopes), math.fsum(bends)


def _logits(votes: Floats) -> Floats:
    n_classes = votes.shape[1]
    out: Floats = votes * ((n_classes - 1) / n_classes)
    return out


def _log_sum(logits: Floats) -> Floats:
    top = logits.max(axis=1)
    out: Floats = top + np.log(np.exp(logits - top[:, np.newaxis]).sum(axis=1))
    return out
