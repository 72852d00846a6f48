"""Attribute inference: how well a column is guessed by somebody who knows it for a share of the samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from assistlearn.core.ignorance import Floats
from assistlearn.disclosure.guesser import LEAST_OF_A_KIND, auc, best_guess
from assistlearn.disclosure.target import Target

LEAST_KNOWN = 10
"""Samples below which nothing is tried."""
MOST_KNOWN, MOST_ASKED = 3_000, 5_000
"""Samples that an attack learns from, and is tried on, at the most: minutes instead of hours."""

SHARES = (0.01, 0.05, 0.3)
"""The shares of the samples for which the attacker knows the column."""


@dataclass(frozen=True)
class Inferred:
    """How well a column was guessed, as means over repeats with their standard errors.

    Attributes
    ----------
    share : float
        For which share of the samples the attacker knew the column.
    n_known : int
        How many samples these were.
    auc, auc_error : float
        With the transcript: the area under the curve on samples that it did not know. One half is a blind guess.
    without, without_error : float
        The same attacker without the transcript.
    rank, rank_without : float or None
        The rank correlation (Spearman) of the guess with the values, where they are numbers; with and without.
    """

    share: float
    n_known: int
    auc: float
    auc_error: float
    without: float
    without_error: float
    rank: float | None = None
    rank_without: float | None = None


def attribute_inference(
    target: Target, has: Floats, transcript: Floats, share: float, seeds: Sequence[int]
) -> Inferred | None:
    """Return how well a column is guessed; None where too few of either answer are known to learn anything.

    Parameters
    ----------
    target : Target
        The column.
    has : ndarray of shape (n_samples, any)
        What the attacker has anyway: labels, columns of its own.
    transcript : ndarray of shape (n_samples, any)
        What was released about each sample.
    share : float
        The share of the samples whose values it knows.
    seeds : sequence of int
        A repeat for each: which samples it knows, and which it is asked about.

    Examples
    --------
    >>> from assistlearn.disclosure.target import target_of
    >>> rng = np.random.default_rng(0)
    >>> column, labels = rng.normal(size=1_000), rng.normal(size=(1_000, 1))
    >>> found = attribute_inference(target_of(column), labels, column[:, np.newaxis], 0.1, [0, 1])
    >>> found.auc > 0.99, round(abs(found.without - 0.5), 1)
    (True, 0.0)
    """
    views = [has, np.column_stack([has, transcript])] if transcript.shape[1] else [has, has]
    repeats = [_repeat(target, views, known, asked, seed) for seed, known, asked in _draws(target, share, seeds)]
    if len(repeats) < min(2, len(seeds)):
        return None
    table = np.array(repeats)
    means, errors = table.mean(axis=0), _errors(table)
    ranks = (None, None) if target.numbers is None else (float(means[1]), float(means[3]))
    return Inferred(
        share, _n_known(target, share), float(means[0]), errors[0], float(means[2]), errors[2], ranks[0], ranks[1]
    )


def _draws(
    target: Target, share: float, seeds: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield each repeat: its seed, the samples that are known, and those asked about; none where too few are known."""
    present = np.flatnonzero(target.present)
    n_known = _n_known(target, share)
    for seed in seeds if n_known >= LEAST_KNOWN else ():
        order = np.random.default_rng(seed).permutation(present)
        known, asked = order[:n_known], order[n_known : n_known + MOST_ASKED]
        yes = int(np.count_nonzero(target.positive[known]))
        some = np.count_nonzero(target.positive[asked])
        if min(yes, len(known) - yes) >= LEAST_OF_A_KIND and 0 < some < len(asked):
            yield seed, known, asked


def _n_known(target: Target, share: float) -> int:
    return min(round(share * int(np.count_nonzero(target.present))), MOST_KNOWN)


def _repeat(
    target: Target, views: Sequence[Floats], known: NDArray[np.intp], asked: NDArray[np.intp], seed: int
) -> tuple[float, float, float, float]:
    """Return the area under the curve and the rank correlation with the transcript, and without."""
    without, with_it = best_guess(views, known, target.positive[known], asked, seed)
    figures = []
    for guess in (with_it, without):
        constant = np.ptp(guess.scores) == 0.0
        numbers = target.numbers
        rank = 0.0 if numbers is None or constant else float(spearmanr(guess.scores, numbers[asked]).statistic)
        figures += [auc(guess.scores, target.positive[asked]), rank]
    return figures[0], figures[1], figures[2], figures[3]


def _errors(table: Floats) -> list[float]:
    """Return the standard errors of the means; zero for a single repeat."""
    if len(table) < 2:
        return [0.0] * table.shape[1]
    return [float(error) for error in table.std(axis=0, ddof=1) / np.sqrt(len(table))]
