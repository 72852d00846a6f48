"""Ignorance: how much help each sample still needs; and the model weight that follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from assistlearn.types import Bools, Floats

BLOCK_ROWS = 65_536
"""Long arrays are worked on in blocks of so many rows, so that temporary arrays stay in the processor's cache. Another
number changes the last digits of sums."""


def blocks(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    for log_start_of in range(0, n_rows, size):
        yield slice(log_start_of, min(log_start_of + size, n_rows))


# The ignorance :math:`w` of the samples is a distribution (non-negative, sums to one). The program computes with its
# logarithm, up to an additive constant, so that thousands of rounds neither overflow nor underflow. An update adds to
# the samples that were wrong and changes nothing else. The constant disappears in :func:`ignorance_of`.


def log_start_of(n_samples: int, sample_weight: Floats | None = None) -> Floats:
    """Return the log-ignorance before the first turn: uniform, or that of ``sample_weight``."""
    if sample_weight is None:
        return np.zeros(n_samples)
    with np.errstate(divide="ignore"):
        return np.log(sample_weight)


def ignorance_of(log_ignorance: Floats, out: Floats | None = None) -> Floats:
    """Return the ignorance itself, which sums to one."""
    out = np.subtract(log_ignorance, log_ignorance.max(), out=out)
    np.exp(out, out=out)
    out /= out.sum()
    return out


def add_where_wrong(amount: Floats, reward: Bools, model_weight: float) -> None:
    r"""Add :math:`\alpha (1 - r_i)` to ``amount``, in place.

    This is the update of the ignorance, equations (10) and (12), in logarithms. The same sum over the turns of one
    round is the ``u`` of equation (13).
    """
    # A product and a sum over all samples are six times faster than a masked sum, and give the same bits.
    for block in blocks(len(amount)):
        amount[block] += ~reward[block] * np.float64(model_weight)


def sum_where(values: Floats, mask: Bools, wanted: bool = True) -> float:
    parts = blocks(len(values))
    return math.fsum((values[part] * (mask[part] if wanted else ~mask[part])).sum() for part in parts)


def effective_size(ignorance: Floats) -> float:
    r"""Return on how many samples the ignorance lies, :math:`(\sum w)^2 / \sum w^2`."""
    squares = float(np.dot(ignorance, ignorance))
    return float(ignorance.sum()) ** 2 / squares if squares > 0.0 else 0.0


# The weight of a model: how loud its vote is, from where it was right and wrong. With :math:`v_i` the importance of
# sample :math:`i`, it is
#
# .. math:: \alpha = \log \frac{\sum_{r_i = 1} v_i}{\sum_{r_i = 0} v_i} + \log(K - 1).
#
# In ASCII-Simple (and AdaBoost) :math:`v = w`, the ignorance. In ASCII, equations (11) and (13) of the paper,
# :math:`v_i = w_i \exp(\kappa u_i)` with :math:`\kappa = K / (K-1)^2` and :math:`u_i` the sum of the weights of the
# models that were wrong about sample :math:`i` **earlier in the same round**.


NEGLIGIBLE = 1e-10
"""A model weight up to this is a rounding error. In exact numbers it is zero: the model is no better than chance."""

LARGEST = 1e6
"""The largest absolute value of a model weight. Odds of e to the power of a million are as good as certainty.

Without this bound ASCII's weights can double in every round, and overflow after a thousand rounds. It happens with two
classes and two agents, each right where the other is wrong: equation (13) counts the first one's errors twice.
"""


def kappa(n_classes: int) -> float:
    """Return the factor of ``u`` in the exponent of equation (13)."""
    return n_classes / (n_classes - 1) ** 2


def log_importance(log_ignorance: Floats, earlier: Floats, n_classes: int, out: Floats | None = None) -> Floats:
    """Return ``log v``, up to a constant; ``earlier`` is ``u``."""
    out = np.multiply(earlier, kappa(n_classes), out=out)
    out += log_ignorance
    return out


def log_odds(right: float, wrong: float) -> float:
    """Return the log of (importance where the model is right / importance where it is wrong).

    It is infinite for a perfect model, minus infinity for one that is never right, and not a number if no sample has
    any importance.
    """
    return _log(right) - _log(wrong)


def log_odds_of_logs(log_importance: Floats, right: Bools, wrong: Bools) -> float:
    """Return :func:`log_odds` where the importance itself has underflowed to zero."""
    return _log_sum(log_importance[right]) - _log_sum(log_importance[wrong])


def model_weight(odds: float, n_classes: int) -> float:
    """Return the model weight for a model with these log-odds of being right.

    The weight is positive if the model is better than chance (a share of ``1 / n_classes`` right), up to rounding
    (:data:`NEGLIGIBLE`), and only then. Its absolute value is at most :data:`LARGEST`.

    >>> model_weight(0.0, 2), round(model_weight(math.log(0.6 / 0.4), 3), 6), model_weight(-math.inf, 2)
    (0.0, 1.098612, -1000000.0)
    """
    return min(max(odds + math.log(n_classes - 1), -LARGEST), LARGEST)


def perfect_model_weight(n_samples: int, n_classes: int) -> float:
    """Return the finite weight of a model that is right everywhere.

    The formula would give infinity. The model gets the weight of one that errs on half a sample's ignorance, a share of
    ``1 / (2 n)``, where ``n`` counts the samples with any ignorance at all.
    """
    return math.log(max(2 * n_samples - 1, 2)) + math.log(n_classes - 1)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


def _log_sum(logs: Floats) -> float:
    top = float(logs.max(initial=-math.inf))
    if top == -math.inf:
        return -math.inf
    return top + math.log(float(np.exp(logs - top).sum()))


# Losses of the soft methods: they decide a sample's ignorance and the best model weight.

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
        wrong = _log_sums(logits[:, 1:])
        return np.asarray(wrong - np.logaddexp(logits[:, 0], wrong), dtype=np.float64)

    def value(self, votes: Floats) -> Floats:
        if votes.ndim == 1:
            out: Floats = np.logaddexp(0.0, -votes)
            return out
        logits = _logits(votes)
        return np.asarray(np.logaddexp(0.0, _log_sums(logits[:, 1:]) - logits[:, 0]), dtype=np.float64)

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


def _log_sums(logits: Floats) -> Floats:
    top = logits.max(axis=1)
    out: Floats = top + np.log(np.exp(logits - top[:, np.newaxis]).sum(axis=1))
    return out
