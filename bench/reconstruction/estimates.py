"""From what models were seen to answer to guesses at the columns behind them. Nothing else is known to the guesser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import rankdata

from assistlearn.types import Codes, Floats

COMPONENTS = 3
SEEDS = 25
LOOSENESS = (0.01, 0.05, 0.15)


def closeness(columns: Floats, guesses: Sequence[Floats]) -> Floats:
    """Return, for each private column, the absolute rank correlation of the guess that comes closest."""
    ranks = [_standard(rankdata(column)) for column in columns.T]
    best = np.zeros(len(ranks))
    for guess in guesses:
        if np.ptp(guess) > 0.0:
            own = _standard(rankdata(guess))
            best = np.maximum(best, [abs(float(own @ rank)) / len(own) for rank in ranks])
    return best


def guesses(answers: Sequence[Codes], n_classes: int, labels: Codes) -> list[Floats]:
    """Return guesses: the labels, each single answer, principal components, and sums of answers that nest."""
    sides = np.array(list(_sides(answers, n_classes)))
    found: list[Floats] = [(labels == code).astype(float) for code in range(min(n_classes, 20))]
    if len(sides) == 0:
        return found
    centred = sides - sides.mean(axis=1, keepdims=True)
    found += list(sides[:: max(1, len(sides) // 100)])
    _, _, components = np.linalg.svd(centred, full_matrices=False)
    return found + list(components[:COMPONENTS]) + list(_chains(sides, centred))


def _sides(answers: Sequence[Codes], n_classes: int) -> Iterator[Floats]:
    """Yield, for each answer and class, whether that class was answered; in between where it is not known."""
    for said in answers:
        codes = [1] if n_classes == 2 else np.unique(said[said >= 0])[:20]
        for code in codes:
            side = np.where(said < 0, 1.0 / n_classes, (said == code).astype(float))
            if np.ptp(side) > 0.0:
                yield side


def _chains(sides: Floats, centred: Floats) -> Iterator[Floats]:
    """Yield sums of answers that nest: two cuts of one column put nobody below the lower and above the upper one."""
    n = sides.shape[1]
    both = sides @ sides.T
    ones = sides.sum(axis=1)
    crossed = np.minimum.reduce(
        [both, ones[:, None] - both, ones[None, :] - both, n - ones[:, None] - ones[None, :] + both]
    )
    signs = np.sign(centred @ centred.T)
    for seed in range(0, len(sides), max(1, len(sides) // SEEDS)):
        for loose in LOOSENESS:
            chain = np.flatnonzero(crossed[seed] <= loose * n)
            yield signs[seed, chain] @ centred[chain]


def _standard(ranks: Floats) -> Floats:
    spread = float(ranks.std())
    return (ranks - ranks.mean()) / spread if spread > 0.0 else np.zeros_like(ranks)
