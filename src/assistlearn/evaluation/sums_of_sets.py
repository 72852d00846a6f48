"""Losses and right answers of every set of helpers, where a set's decision is the sum of its members' scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes
from assistlearn.evaluation.difference import LEAST
from assistlearn.evaluation.shapley import coefficients

CELLS = 2**17
"""Sets times samples that are in memory at a time: a megabyte, which stays in a processor's cache."""

MOST_LOSS = -float(np.log(LEAST))
FARTHEST = 40.0
"""A gap beyond which the loss is at its most anyway."""


class SumsOfSets:
    """The values of all sets, from how far each class is ahead of the true one.

    Parameters
    ----------
    own : array of shape (n_samples, n_classes)
        The initiator's scores.
    scores : sequence of arrays of shape (n_samples, n_classes)
        The helpers'.
    codes : array of int of shape (n_samples,)
        The true classes.
    sharpness : float
        What sums are multiplied by before the softmax.
    """

    def __init__(self, own: Floats, scores: Sequence[Floats], codes: Codes, sharpness: float) -> None:
        others = _other_classes(codes, own.shape[1])
        self._own = _ahead(own, codes, others)
        self._gaps = [_ahead(each, codes, others) for each in scores]
        ties = np.where(codes < others, 0.0, -np.finfo(np.float64).smallest_subnormal)  # the first of equals wins
        self._most = ties[:, np.newaxis, :]
        self._sharpness = sharpness

    def add_all(self, loss: Floats, right: Floats, dropped_loss: Floats, dropped_right: Floats) -> None:
        """Write the exact shares of every sample, and what is lost without each helper (helpers x samples)."""
        n_sets = 2 ** len(self._gaps)
        by_set = coefficients(len(self._gaps))
        without = n_sets - 1 - 2 ** np.arange(len(self._gaps))
        step = max(1, CELLS // n_sets)
        for start in range(0, self._own.shape[1], step):
            block = slice(start, start + step)
            losses, rights = self._judged(self._sums(block), self._most[:, :, block])
            loss[:, block] = -(by_set @ losses)
            right[:, block] = by_set @ rights
            dropped_loss[:, block] = losses[without] - losses[-1]
            dropped_right[:, block] = rights[-1] - rights[without]

    def of(self, members: Bools) -> tuple[Floats, Floats]:
        """Return the losses of all samples with these helpers, and 1.0 where the answer is right."""
        total = self._own.copy()
        for gaps, there in zip(self._gaps, members, strict=True):
            if there:
                total += gaps
        losses, rights = self._judged(total[:, np.newaxis, :], self._most)
        return losses[0], rights[0]

    def on_the_way(self, order: NDArray[np.intp]) -> list[tuple[Floats, Floats]]:
        """Return the values while helpers join in this order, before the first one and after each."""
        total, found = self._own.copy(), []
        for helper in (None, *order):
            if helper is not None:
                total += self._gaps[helper]
            losses, rights = self._judged(total[:, np.newaxis, :].copy(), self._most)
            found.append((losses[0], rights[0]))
        return found

    def _sums(self, block: slice) -> Floats:
        """Return the gaps of every set: classes x sets x samples. Each helper doubles the sets that are there."""
        own = self._own[:, block]
        sums = np.empty((own.shape[0], 2 ** len(self._gaps), own.shape[1]))
        sums[:, 0] = own
        for j, gaps in enumerate(self._gaps):
            np.add(sums[:, : 2**j], gaps[:, np.newaxis, block], out=sums[:, 2**j : 2 ** (j + 1)])
        return sums

    def _judged(self, gaps: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Return losses and right answers, sets x samples; the memory of the gaps is used again."""
        right = np.asarray((gaps <= most).all(axis=0), dtype=np.float64)
        gaps *= self._sharpness
        np.minimum(gaps, FARTHEST, out=gaps)
        np.exp(gaps, out=gaps)
        loss = np.asarray(gaps.sum(axis=0) if len(gaps) > 1 else gaps[0])
        loss += 1.0
        np.log(loss, out=loss)
        return np.minimum(loss, MOST_LOSS, out=loss), right


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
