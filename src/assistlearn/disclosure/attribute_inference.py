"""Attribute inference: how well an attacker guesses a column if it knows the values of a share of the samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from assistlearn.core.ignorance import Floats
from assistlearn.core.means import means_and_errors
from assistlearn.disclosure.guesser import LEAST_OF_A_KIND, auc, better_guess
from assistlearn.disclosure.target import Target

LEAST_KNOWN = 10
"""If the attacker would know fewer samples than this, nothing is tried."""
MOST_KNOWN, MOST_ASKED = 3_000, 5_000
"""The most samples that an attack learns from, and the most that it is tried on: it takes minutes instead of hours."""

SHARES = (0.01, 0.05, 0.3)
"""The shares of the samples for which the attacker knows the column."""


@dataclass(frozen=True)
class Inferred:
    """How well a column was guessed, as means over repeats with their standard errors.

    After a single repeat the errors are infinite.

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
    """Return how well a column is guessed; None where the attacker knows too few samples of either answer.

    Parameters
    ----------
    target : Target
        The column.
    has : ndarray of shape (n_samples, any)
        What the attacker has anyway: labels, columns of its own.
    transcript : ndarray of shape (n_samples, any)
        What was released about each sample.
    share : float
        The share of the samples whose values the attacker knows.
    seeds : sequence of int
        One for each repeat. A seed decides which samples the attacker knows and which it is asked about.

    Examples
    --------
    >>> from assistlearn.disclosure.target import target_of
    >>> rng = np.random.default_rng(0)
    >>> column, labels = rng.normal(size=1_000), rng.normal(size=(1_000, 1))
    >>> found = attribute_inference(target_of(column), labels, column[:, np.newaxis], 0.1, [0, 1])
    >>> found.auc > 0.99, round(abs(found.without - 0.5), 1)
    (True, 0.0)
    """
    found = attribute_inferences(target, has, [transcript], share, seeds)
    return found[0] if found else None


def attribute_inferences(
    target: Target, has: Floats, transcripts: Sequence[Floats], share: float, seeds: Sequence[int]
) -> list[Inferred]:
    """Return what :func:`attribute_inference` finds, for each transcript by itself; an empty list in place of None.

    The guess without a transcript is made only once.
    """
    repeats = [_repeat(target, has, transcripts, *drawn) for drawn in _draws(target, share, seeds)]
    if len(repeats) < min(2, len(seeds)):
        return []
    figures = np.array(repeats)  # repeats x (without, transcripts) x (area, rank)
    means, errors = means_and_errors(figures)
    return [
        Inferred(
            share=share,
            n_known=_n_known(target, share),
            auc=float(means[place, 0]),
            auc_error=float(errors[place, 0]),
            without=float(means[0, 0]),
            without_error=float(errors[0, 0]),
            rank=None if target.numbers is None else float(means[place, 1]),
            rank_without=None if target.numbers is None else float(means[0, 1]),
        )
        for place in range(1, len(transcripts) + 1)
    ]


def _draws(
    target: Target, share: float, seeds: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield for each repeat its seed, the known samples and those asked about; skip repeats that know too few."""
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
    target: Target,
    has: Floats,
    transcripts: Sequence[Floats],
    seed: int,
    known: NDArray[np.intp],
    asked: NDArray[np.intp],
) -> list[tuple[float, float]]:
    """Return the area under the curve and the rank correlation without a transcript, and with each."""
    answers = target.positive[known]
    without = better_guess(None, has, known, answers, asked, seed)
    guesses = [without]
    for transcript in transcripts:
        view = np.column_stack([has, transcript])
        guesses.append(without if not transcript.size else better_guess(without, view, known, answers, asked, seed))
    return [(auc(guess.scores, target.positive[asked]), _rank(guess.scores, target, asked)) for guess in guesses]


def _rank(scores: Floats, target: Target, asked: NDArray[np.intp]) -> float:
    if target.numbers is None or np.ptp(scores) == 0.0:
        return 0.0
    return float(spearmanr(scores, target.numbers[asked]).statistic)
