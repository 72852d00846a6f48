"""Losses and right answers of every set of helpers, where a set's decision is the sum of its members' scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes
from assistlearn.evaluation.difference import LEAST
from assistlearn.evaluation.score_calibration import ScoreCalibration
from assistlearn.evaluation.shapley import coefficients
from assistlearn.evaluation.sureness import SUREST, UNCHANGED, lowering

CELLS = 2**15
"""The number of sets times samples in memory at a time: a quarter of a megabyte stays in a processor's cache."""

MOST_LOSS = -float(np.log(LEAST))
FARTHEST = 40.0
"""The largest gap that is computed. Beyond it, the loss is at its maximum anyway."""


class SumsOfSets:
    """Computes the values of sets of helpers, from how far each class is ahead of the true one.

    Parameters
    ----------
    own : array of shape (n_samples, n_classes)
        The initiator's scores.
    scores : sequence of arrays of shape (n_samples, n_classes)
        The helpers' scores.
    codes : array of int of shape (n_samples,)
        The true classes.
    calibration : ScoreCalibration or None
        Turns a sum into probabilities; for None, the formula of :func:`assistlearn.core.votes.probabilities` does.
    """

    def __init__(
        self, own: Floats, scores: Sequence[Floats], codes: Codes, calibration: ScoreCalibration | None
    ) -> None:
        n_classes = own.shape[1]
        others = _other_classes(codes, n_classes)
        self._votes = [_ahead(each, codes, others) for each in (own, *scores)]
        self._exponents: list[Floats] | None = None
        self._factor = (n_classes - 1) / n_classes
        self._sureness = UNCHANGED if calibration is None else calibration.sureness
        if calibration is not None:
            scaled = [calibration.exponents(own), *(each * np.array(calibration.factors) for each in scores)]
            self._exponents = [_ahead(each, codes, others) for each in scaled]
        ties = np.where(codes < others, 0.0, -np.finfo(np.float64).smallest_subnormal)  # the first of equals wins
        self._most = ties[:, np.newaxis, :]

    def add_all(self, loss: Floats, right: Floats, dropped_loss: Floats, dropped_right: Floats) -> None:
        """Write the exact shares, and what is lost without each helper, into these arrays (helpers x samples)."""
        n_helpers = len(self._votes) - 1
        by_set = coefficients(n_helpers)
        without = 2**n_helpers - 1 - 2 ** np.arange(n_helpers)
        step = max(1, CELLS >> n_helpers)
        for start in range(0, loss.shape[1], step):
            block = slice(start, start + step)
            exponents = None if self._exponents is None else _sums(self._exponents, block)
            losses, rights = self._judged(_sums(self._votes, block), exponents, self._most[:, :, block])
            loss[:, block] = -(by_set @ losses)
            right[:, block] = by_set @ rights
            dropped_loss[:, block] = losses[without] - losses[-1]
            dropped_right[:, block] = rights[-1] - rights[without]

    def of(self, members: Bools) -> tuple[Floats, Floats]:
        """Return the losses of all samples with these helpers, and 1.0 where the answer is right."""
        return self._on_the_way([[0, *(np.flatnonzero(members) + 1)]])[0]

    def on_the_way(self, order: NDArray[np.intp]) -> list[tuple[Floats, Floats]]:
        """Return losses and right answers while helpers join in this order: before the first, and after each."""
        return self._on_the_way([[0], *([helper + 1] for helper in order)])

    def _on_the_way(self, steps: Sequence[Sequence[int]]) -> list[tuple[Floats, Floats]]:
        """Return losses and right answers after each step. In a step, some agents join."""
        votes = np.zeros_like(self._votes[0])
        exponents = None if self._exponents is None else np.zeros_like(votes)
        found = []
        for joining in steps:
            for agent in joining:
                votes += self._votes[agent]
                if exponents is not None and self._exponents is not None:
                    exponents += self._exponents[agent]
            now = None if exponents is None else exponents[:, np.newaxis].copy()
            losses, rights = self._judged(votes[:, np.newaxis].copy(), now, self._most)
            found.append((losses[0], rights[0]))
        return found

    def _judged(self, gaps: Floats, exponents: Floats | None, most: Floats) -> tuple[Floats, Floats]:
        """Return losses and right answers, sets x samples. Overwrites ``gaps`` and ``exponents``."""
        right = _right(gaps, most)
        if exponents is None:
            gaps *= self._factor
            exponents = gaps
        elif len(gaps) > 1:
            _hold_winner(exponents, gaps, right)
        else:
            _hold_winner_of_two(exponents[0], right)
        if self._sureness != UNCHANGED:
            return np.minimum(_losses(exponents, right, self._sureness), MOST_LOSS), right
        np.minimum(exponents, FARTHEST, out=exponents)
        np.exp(exponents, out=exponents)
        loss = exponents[0]
        for more in exponents[1:]:
            loss += more
        loss += 1.0
        np.log(loss, out=loss)
        return np.minimum(loss, MOST_LOSS, out=loss), right


def _right(gaps: Floats, most: Floats) -> Floats:
    """Return 1.0 where the true class wins: no other class is ahead of it, and no earlier class is equal to it."""
    right: Bools = gaps[0] <= most[0]
    for gap, limit in zip(gaps[1:], most[1:], strict=True):
        right &= gap <= limit
    return right.astype(np.float64)


def _hold_winner(exponents: Floats, gaps: Floats, right: Floats) -> None:
    """Keep the class with the most votes the likeliest, as a calibration does; in place.

    Exponents are relative to the true class. Where the true class has won, the others stay at or below it. Elsewhere
    all classes, the true one included, stay at or below the winner.
    """
    best, top = gaps[0].copy(), exponents[0].copy()
    for gap, exponent in zip(gaps[1:], exponents[1:], strict=True):
        ahead = gap > best
        np.copyto(best, gap, where=ahead)
        np.copyto(top, exponent, where=ahead)
    top *= 1.0 - right
    exponents -= np.minimum(top, 0.0)
    np.minimum(exponents, np.maximum(top, 0.0, out=top), out=exponents)


def _losses(exponents: Floats, right: Floats, sureness: tuple[float, float, float]) -> Floats:
    """Return the losses after the correction of the winner's sureness. Exponents are those from _hold_winner."""
    first, second = np.zeros_like(right), np.full_like(right, -np.inf)  # the two highest; the true class has 0
    for each in exponents:
        np.maximum(second, np.minimum(first, each), out=second)
        np.maximum(first, each, out=first)
    others = np.exp(-first) - 1.0  # add the true class, leave out the winner
    for each in exponents:
        others += np.exp(each - first)
    lower = lowering(-np.log(np.maximum(others, np.exp(-SUREST))), first - second, sureness)
    of_truth = np.minimum(-first - lower, 0.0)
    total = 1.0 + np.exp(of_truth) - np.exp(np.minimum(-lower, 0.0))
    for each in exponents:
        total += np.exp(np.minimum(each - first - lower, 0.0))
    losses: Floats = np.log(total) - (1.0 - right) * of_truth
    return losses


def _hold_winner_of_two(exponents: Floats, right: Floats) -> None:
    """Do the same for two classes: the other class's exponent is at most 0 if the true class won, else at least 0."""
    sign = 1.0 - 2.0 * right
    exponents *= sign
    np.maximum(exponents, 0.0, out=exponents)
    exponents *= sign


def _sums(parts: Sequence[Floats], block: slice) -> Floats:
    """Return the gaps of every set: classes x sets x samples. Each helper doubles the sets that are there."""
    own, *helpers = (each[:, block] for each in parts)
    sums = np.empty((own.shape[0], 2 ** len(helpers), own.shape[1]))
    sums[:, 0] = own
    for j, gaps in enumerate(helpers):
        np.add(sums[:, : 2**j], gaps[:, np.newaxis], out=sums[:, 2**j : 2 ** (j + 1)])
    return sums


def _other_classes(codes: Codes, n_classes: int) -> NDArray[np.intp]:
    """Return the classes but the true one, in order: (n_classes - 1) x samples.

    >>> _other_classes(np.array([0, 1, 2]), 3)
    array([[1, 0, 0],
           [2, 2, 1]])
    """
    places = np.arange(n_classes - 1)[:, np.newaxis]
    others: NDArray[np.intp] = places + (places >= codes)
    return others


def _ahead(scores: Floats, codes: Codes, others: NDArray[np.intp]) -> Floats:
    """Return by how much the other classes are ahead of the true one: (n_classes - 1) x samples."""
    rows = np.arange(len(codes))
    gaps: Floats = scores[rows, others] - scores[rows, codes]
    return np.ascontiguousarray(gaps)
