"""Compare the metrics of two sets of answers on many draws of the same samples, with replacement and class by class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.groups import Groups, rarest_classes
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.evaluation.metrics import Answers

DRAWS, LEAST_DRAWS = 1000, 200
"""The largest and the smallest number of draws. The more samples there are, the fewer draws."""

MOST_CELLS = 4e6
"""Samples times draws times curves that take about a second. With more than two classes, each class has a curve."""

BLOCK = 20
"""The number of draws in memory at a time."""


def resampled(
    one: Answers, other: Answers, names: Sequence[str], seed: int, groups: Groups | None = None
) -> dict[str, Floats]:
    """Return the difference of each metric between two sets of answers, in every draw.

    Every draw has as many samples of each class as the original samples. Where several samples are about the same
    person, persons are drawn, each with all samples; a person counts for the rarest of their classes.

    Parameters
    ----------
    one, other : Answers
        Two sets of answers on the same samples.
    names : sequence of str
        Some of ``balanced_accuracy``, ``roc_auc`` and ``average_precision``.
    seed : int
        The seed of the draws.
    groups : ndarray of int of shape (n_samples,), optional
        Which samples are about the same person; by default no two are.
    """
    first, second = _Drawn(one), _Drawn(other)
    found: dict[str, list[Floats]] = {name: [] for name in names}
    for counts in _drawn_counts(one, np.random.default_rng(seed), groups):
        figures, others = first.figures(counts, names), second.figures(counts, names)
        for name in names:
            found[name].append(figures[name] - others[name])
    return {name: np.concatenate(blocks) for name, blocks in found.items()}


def _drawn_counts(answers: Answers, rng: np.random.Generator, groups: Groups | None) -> Iterator[Floats]:
    """Yield by how much each sample counts in each draw: how often it was drawn, times its weight.

    Where persons are drawn, a draw that lacks a class is left out.
    """
    n_against_rest = 1 if answers.n_classes == 2 else answers.n_classes
    affordable = int(MOST_CELLS / max(len(answers.codes) * n_against_rest, 1))
    draws = min(DRAWS, max(LEAST_DRAWS, affordable))
    kinds = answers.codes if groups is None else rarest_classes(answers.codes, groups)[0]
    members = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    for start in range(0, draws, BLOCK):
        block = min(BLOCK, draws - start)
        counts = np.zeros((block, len(kinds)))
        for rows in members:
            picked = rng.integers(0, len(rows), (block, len(rows))) + np.arange(block)[:, np.newaxis] * len(rows)
            drawn = np.bincount(picked.ravel(), minlength=block * len(rows))
            counts[:, rows] = drawn.reshape(block, len(rows))
        if groups is not None:
            counts = counts[:, groups]
            whole = [counts[:, answers.codes == code].any(axis=1) for code in answers.occurring]
            counts = counts[np.all(whole, axis=0)]
        yield counts * answers.weights


class _Drawn:
    """The metrics of some answers in many draws at once.

    Parameters
    ----------
    answers : Answers
        The answers about all samples.
    """

    def __init__(self, answers: Answers) -> None:
        self._members = [answers.codes == code for code in answers.occurring]
        self._right = (answers.predicted == answers.codes).astype(np.float64)
        self._answers = answers

    def figures(self, counts: Floats, names: Sequence[str]) -> dict[str, Floats]:
        """Return the metrics, given by how much each sample counts in each draw (draws x samples)."""
        found = {name: np.zeros(len(counts)) for name in names}
        if "balanced_accuracy" in found:
            recalls = [(counts[:, rows] @ self._right[rows]) / counts[:, rows].sum(axis=1) for rows in self._members]
            found["balanced_accuracy"] = np.mean(recalls, axis=0)
        curves = [name for name in names if name in _OF_CURVE]
        if curves:
            for ranked in self._curves:
                sums = ranked.sums(counts)
                for name in curves:
                    found[name] += _OF_CURVE[name](*sums) / len(self._curves)
        return found

    @cached_property
    def _curves(self) -> list[_Ranked]:
        said, codes = self._answers.probabilities, self._answers.codes
        known = [1] if self._answers.n_classes == 2 else range(self._answers.n_classes)
        return [_Ranked(said[:, code], codes == code) for code in known]


class _Ranked:
    """Samples from the highest score to the lowest, equal scores together.

    Parameters
    ----------
    scores : array of shape (n_samples,)
        How likely a sample is said to be of the class.
    positive : array of bool of shape (n_samples,)
        Whether the sample is of the class.
    """

    def __init__(self, scores: Floats, positive: Bools) -> None:
        self._order = np.argsort(-scores, kind="stable")
        ranked = scores[self._order]
        self._last: NDArray[np.intp] = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
        self._positive = positive[self._order]

    def sums(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return the weight of the positive samples, and of all samples, down to each score (draws x scores)."""
        ranked = counts[:, self._order]
        positive = np.cumsum(ranked * self._positive, axis=1)
        every = np.cumsum(ranked, axis=1, out=ranked)
        if len(self._last) == counts.shape[1]:
            return positive, every
        return positive[:, self._last], every[:, self._last]


def _area(positive: Floats, every: Floats) -> Floats:
    """Return the area under the ROC curve, by trapezoids."""
    negative = every - positive
    steps = np.diff(negative, axis=1)
    area = negative[:, 0] * positive[:, 0] + np.einsum("ij,ij->i", steps, positive[:, 1:] + positive[:, :-1])
    whole: Floats = area / (2.0 * positive[:, -1] * negative[:, -1])
    return whole


def _precision(positive: Floats, every: Floats) -> Floats:
    """Return the average precision: the precision at each score, weighed by the recall that it adds."""
    precision = np.divide(positive, every, out=np.zeros_like(positive), where=every > 0.0)
    added = np.diff(positive, axis=1)
    found: Floats = positive[:, 0] * precision[:, 0] + np.einsum("ij,ij->i", added, precision[:, 1:])
    return found / positive[:, -1]


_OF_CURVE = {"roc_auc": _area, "average_precision": _precision}
