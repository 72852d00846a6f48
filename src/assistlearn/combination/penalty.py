"""Choose the penalty of a linear combination: penalties are tried one after the other, each in all folds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assistlearn.combination.cross_validation import N_FOLDS, Tried
from assistlearn.combination.evidence import Evidence
from assistlearn.combination.linear import PLAIN_SUM, samples_of, size
from assistlearn.combination.multinomial import Samples, fit_multinomial, losses
from assistlearn.core.ignorance import Floats

PATH = (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
"""Penalties, tried one after the other until the loss has risen twice."""
STRONGER = (0.3, 1.0, 3.0, 10.0)
"""Stronger penalties, which are tried only where the first one of :data:`PATH` is its best."""
TOLERANCE = 1e-4
"""A fit in a fold stops at this relative change of the loss, far less than what makes a penalty better than another."""


class _Path:
    """Fits in all folds. Each fit starts from the parameters that the penalty before it gave."""

    def __init__(self, samples: Samples, folds: NDArray[np.intp]) -> None:
        self._samples = samples
        self._held = [folds == fold for fold in np.unique(folds)]
        self._parts = [samples.rows(~held) for held in self._held]
        self._at: list[Floats | None] = [None] * len(self._held)

    def back_to_start(self) -> None:
        self._at = [None] * len(self._held)

    def losses(self, penalty: float) -> Floats:
        """Return the loss of each sample, by the model of the folds that it is not in."""
        out = np.empty(len(self._samples.codes))
        for number, (held, part) in enumerate(zip(self._held, self._parts, strict=True)):
            at = fit_multinomial(part, penalty, self._at[number], TOLERANCE, most_steps=100)
            self._at[number] = at
            decision = self._samples.offset[held] + self._samples.inputs[held] @ at
            out[held] = losses(decision, self._samples.codes[held])
        return out


def losses_under(evidence: Evidence, penalty: float, folds: NDArray[np.intp]) -> Tried:
    """Return the cross-validated losses under one penalty."""
    samples = samples_of(evidence, size(evidence))
    lost = losses(samples.offset, samples.codes) if penalty == PLAIN_SUM else _Path(samples, folds).losses(penalty)
    return Tried(lost, samples.weights)


def choose_penalty(evidence: Evidence, folds: NDArray[np.intp]) -> tuple[float, Tried]:
    """Return the penalty with the lowest cross-validated log loss, and its losses.

    The plain sum, which is the strongest penalty of all, is among the candidates.
    """
    samples = samples_of(evidence, size(evidence))
    tried = {PLAIN_SUM: Tried(losses(samples.offset, samples.codes), samples.weights)}
    if np.bincount(folds, samples.weights, minlength=N_FOLDS).min() <= 0.0:
        return PLAIN_SUM, tried[PLAIN_SUM]  # too few samples to learn anything from
    path = _Path(samples, folds)
    rises, last = 0, np.inf
    for penalty in PATH:
        tried[penalty] = Tried(path.losses(penalty), samples.weights)
        rises = rises + 1 if tried[penalty].loss > last else 0
        last = tried[penalty].loss
        if rises == 2:
            break
    path.back_to_start()
    best = min(PATH[: len(tried) - 1], key=lambda each: tried[each].loss)
    for penalty in STRONGER if best == PATH[0] else ():
        tried[penalty] = Tried(path.losses(penalty), samples.weights)
        if tried[penalty].loss > tried[best].loss:
            break
        best = penalty
    best = min(tried, key=lambda each: tried[each].loss)
    return best, tried[best]
