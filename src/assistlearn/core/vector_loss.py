r"""Losses of the soft methods with more than two classes. They depend on the votes for all classes.

Let :math:`f_i` be the votes for the classes of sample :math:`i`, the truth first, and
:math:`p_i = \mathrm{softmax}(\frac{K-1}{K} f_i)` the probabilities that they represent
(:func:`assistlearn.core.votes.probabilities`).

- logistic: the multinomial log loss, :math:`-\log p_{i0}`. Its ignorance is :math:`1 - p_{i0}`, the probability that
  the vote gives to all wrong classes together. It is at most one.
- exponential: :math:`\exp(-\frac{K-1}{K} f_{i0})`, AdaBoost's. Its ignorance has no upper bound.

Both losses are convex in every direction: a weight between zero and the best one never raises them.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from assistlearn.core.blocks import blocks
from assistlearn.core.ignorance import Floats
from assistlearn.core.loss import Exponential, lowest


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
