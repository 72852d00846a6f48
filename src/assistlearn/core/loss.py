"""Losses of the soft methods: they decide a sample's ignorance and the best model weight."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from assistlearn.core.ignorance import blocks
from assistlearn.types import Floats

# Losses of the soft methods. They decide a sample's ignorance and the best model weight.
#
# Let :math:`f_i` be the sum of the weighted scores that the models so far gave to the true class of sample :math:`i`.
#
# - exponential: :math:`\exp(-\frac{K-1}{K} f)`, AdaBoost's. Its ignorance has no upper bound.
# - logistic: :math:`\log(1 + (K-1) e^{-f})`. Its ignorance, :math:`1 / (1 + e^f / (K-1))`, is the probability of being
#   wrong. It is at most one, so that a mislabelled sample cannot dominate the others.


MOST_STEPS = 100
TOLERANCE = 1e-12


class Loss(Protocol):
    """A loss that depends on the score of the true class. It is convex and falls as the score rises."""

    def log_ignorance(self, scores: Floats, n_classes: int) -> Floats:
        """Return the logarithm of minus the loss's slope, up to a constant: how much each sample still matters."""
        ...

    def value(self, scores: Floats, n_classes: int) -> Floats:
        """Return the loss of each sample."""
        ...

    def bend(self, scores: Floats, n_classes: int) -> Floats:
        """Return the loss's second derivative divided by minus its first."""
        ...


class Exponential:
    """AdaBoost's loss.

    >>> Exponential().log_ignorance(np.array([0.0, 2.0]), 2)
    array([-0., -1.])
    """

    def log_ignorance(self, scores: Floats, n_classes: int) -> Floats:
        """Return ``-(K - 1) / K`` times the scores."""
        return scores * (-(n_classes - 1) / n_classes)

    def value(self, scores: Floats, n_classes: int) -> Floats:
        """Return the loss of each sample."""
        out: Floats = np.exp(self.log_ignorance(scores, n_classes))
        return out

    def bend(self, scores: Floats, n_classes: int) -> Floats:
        """Return the constant ``(K - 1) / K``."""
        return np.full_like(scores, (n_classes - 1) / n_classes)


class Logistic:
    """The logistic loss, whose ignorance is bounded.

    >>> np.exp(Logistic().log_ignorance(np.array([-50.0, 0.0]), 4)).round(3)
    array([1.  , 0.75])
    """

    def log_ignorance(self, scores: Floats, n_classes: int) -> Floats:
        """Return the log of the probability of being wrong."""
        out: Floats = -np.logaddexp(0.0, scores - math.log(n_classes - 1))
        return out

    def value(self, scores: Floats, n_classes: int) -> Floats:
        """Return the loss of each sample."""
        out: Floats = np.logaddexp(0.0, math.log(n_classes - 1) - scores)
        return out

    def bend(self, scores: Floats, n_classes: int) -> Floats:
        """Return the probability of being right."""
        out: Floats = -np.expm1(self.log_ignorance(scores, n_classes))
        return out


LOSSES: dict[str, Loss] = {"exponential": Exponential(), "logistic": Logistic()}


def best_weight(
    loss: Loss, log_start: Floats | None, scores: Floats, said: Floats, n_classes: int, cap: float
) -> float:
    """Return the weight between zero and ``cap`` that lowers the loss most, by Newton's method within a bracket.

    The loss is convex in the weight, so its slope has at most one root.

    Parameters
    ----------
    loss : Loss
        The loss to lower.
    log_start : ndarray or None
        The logarithms of the initial weights of the samples.
    scores : ndarray
        The scores of the truth so far.
    said : ndarray
        The model's own scores of the truth.
    n_classes : int
        The number of classes.
    cap : float
        The largest weight.

    Examples
    --------
    A model that is right on three samples and wrong on one gets AdaBoost's weight, log 3.

    >>> said = np.array([1.0, 1.0, 1.0, -1.0])
    >>> round(best_weight(Exponential(), None, np.zeros(4), said, 2, cap=10.0), 6)
    1.098612
    """

    def slope_and_bend(weight: float) -> tuple[float, float]:
        return _slope_and_bend(loss, log_start, scores, said, n_classes, weight)

    return lowest(slope_and_bend, cap)


def lowest(slope_and_bend: Callable[[float], tuple[float, float]], cap: float) -> float:
    """Return where a convex function is lowest between zero and ``cap``, from its first two derivatives."""
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


def _slope_and_bend(
    loss: Loss, log_start: Floats | None, scores: Floats, said: Floats, n_classes: int, weight: float
) -> tuple[float, float]:
    """Return the first two derivatives of the loss along ``said``, up to a common positive factor."""
    top = max(
        (float(_logs(loss, log_start, scores, said, n_classes, weight, block).max()) for block in blocks(len(said))),
        default=0.0,
    )
    slopes, bends = [], []
    for block in blocks(len(said)):
        matters = np.exp(_logs(loss, log_start, scores, said, n_classes, weight, block) - top)
        matters *= said[block]
        slopes.append(float(matters.sum()))
        matters *= said[block]
        matters *= loss.bend(scores[block] + weight * said[block], n_classes)
        bends.append(float(matters.sum()))
    return -math.fsum(slopes), math.fsum(bends)


def _logs(
    loss: Loss, log_start: Floats | None, scores: Floats, said: Floats, n_classes: int, weight: float, block: slice
) -> Floats:
    logs = loss.log_ignorance(scores[block] + weight * said[block], n_classes)
    if log_start is not None:
        logs += log_start[block]
    return logs


# Losses of the soft methods with more than two classes. They depend on the votes for all classes.
#
# Let :math:`f_i` be the votes for the classes of sample :math:`i`, the truth first, and :math:`p_i =
# \mathrm{softmax}(\frac{K-1}{K} f_i)` the probabilities that they represent
# (:func:`assistlearn.core.votes.probabilities`).
#
# - logistic: the multinomial log loss, :math:`-\log p_{i0}`. Its ignorance is :math:`1 - p_{i0}`, the probability that
#   the vote gives to all wrong classes together. It is at most one.
# - exponential: :math:`\exp(-\frac{K-1}{K} f_{i0})`, AdaBoost's. Its ignorance has no upper bound.
#
# Both losses are convex in every direction: a weight between zero and the best one never raises them.


class VectorLoss(Protocol):
    """A convex loss that depends on the votes for all classes, the truth first."""

    def log_ignorance(self, votes: Floats) -> Floats:
        """Return the logarithm, up to a constant, of how much each sample still matters."""
        ...

    def value(self, votes: Floats) -> Floats:
        """Return the loss of each sample."""
        ...

    def slope_and_bend(self, votes: Floats, said: Floats) -> tuple[Floats, Floats]:
        """Return the first two derivatives of each sample's loss along ``said``."""
        ...


class VectorLogistic:
    """The multinomial log loss of the vote.

    >>> np.exp(VectorLogistic().log_ignorance(np.zeros((1, 4)))).round(3)
    array([0.75])
    """

    def log_ignorance(self, votes: Floats) -> Floats:
        """Return the log of the probability of being wrong."""
        logits = _logits(votes)
        wrong = _log_sum(logits[:, 1:])
        out: Floats = wrong - np.logaddexp(logits[:, 0], wrong)
        return out

    def value(self, votes: Floats) -> Floats:
        """Return minus the log of the probability of the truth."""
        logits = _logits(votes)
        out: Floats = np.logaddexp(0.0, _log_sum(logits[:, 1:]) - logits[:, 0])
        return out

    def slope_and_bend(self, votes: Floats, said: Floats) -> tuple[Floats, Floats]:
        """Return the mean of the scaled ``said`` minus its value for the truth, and its variance.

        Mean and variance are taken over the classes, by their probabilities.
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


class VectorExponential:
    """AdaBoost's loss of the vote for the truth.

    >>> VectorExponential().log_ignorance(np.array([[2.0, -1.0, -1.0]])).round(3)
    array([-1.333])
    """

    def log_ignorance(self, votes: Floats) -> Floats:
        """Return ``-(K - 1) / K`` times the votes for the truth."""
        return Exponential().log_ignorance(votes[:, 0], votes.shape[1])

    def value(self, votes: Floats) -> Floats:
        """Return the loss of each sample."""
        return Exponential().value(votes[:, 0], votes.shape[1])

    def slope_and_bend(self, votes: Floats, said: Floats) -> tuple[Floats, Floats]:
        """Return the first two derivatives of each sample's loss along ``said``: those of an exponential function."""
        along = -_logits(said)[:, 0]
        slope = along * self.value(votes)
        return slope, along * slope


VECTOR_LOSSES: dict[str, VectorLoss] = {"exponential": VectorExponential(), "logistic": VectorLogistic()}


def best_vector_weight(loss: VectorLoss, start: Floats | None, votes: Floats, said: Floats, cap: float) -> float:
    """Return the weight between zero and ``cap`` with which a model's votes lower the loss most.

    Parameters
    ----------
    loss : VectorLoss
        The loss to lower.
    start : ndarray or None
        The initial weights of the samples; None if all are equal.
    votes, said : ndarray of shape (n_samples, n_classes)
        The votes so far, and those of the model, the truth first.
    cap : float
        The largest weight.

    Examples
    --------
    With three classes, a model answers three samples right and one wrong. Its vote then means a probability of 3/4.

    >>> said = np.array([[1.0, -0.5, -0.5]] * 3 + [[-0.5, 1.0, -0.5]])
    >>> weight = best_vector_weight(VectorLogistic(), None, np.zeros((4, 3)), said, cap=10.0)
    >>> round(weight, 6), round(float(np.log(3 / (1 / 2))), 6)
    (1.791759, 1.791759)
    """

    def slope_and_bend(weight: float) -> tuple[float, float]:
        slopes, bends = [], []
        for block in blocks(len(said)):
            slope, bend = loss.slope_and_bend(votes[block] + weight * said[block], said[block])
            if start is not None:
                slope, bend = slope * start[block], bend * start[block]
            slopes.append(float(slope.sum()))
            bends.append(float(bend.sum()))
        return math.fsum(slopes), math.fsum(bends)

    return lowest(slope_and_bend, cap)


def _logits(votes: Floats) -> Floats:
    n_classes = votes.shape[1]
    out: Floats = votes * ((n_classes - 1) / n_classes)
    return out


def _log_sum(logits: Floats) -> Floats:
    top = logits.max(axis=1)
    out: Floats = top + np.log(np.exp(logits - top[:, np.newaxis]).sum(axis=1))
    return out
