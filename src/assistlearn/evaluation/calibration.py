"""Calibrated probabilities: rescale scores so that answers are right as often as they say, and see whether they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from assistlearn.core.people import deal
from assistlearn.core.votes import winners
from assistlearn.types import Bools, Codes, Floats

# Each class has a factor and an offset, :math:`p \propto \exp(a_k f_k + b_k)`, fitted to scores of samples that no
# model has seen. With more than two classes :func:`lowering` then corrects how sure the winner is. The class with the
# most votes stays the likeliest: no other class may become likelier. One temperature for all classes was worse: answers
# are too sure for some classes, and not sure enough for others (``bench/calibration``).


FLAT = 1.0
"""The weight of artificial samples, which belong to all classes equally. They keep probabilities away from 0 and 1."""

PULL_TO_FORMULA, PULL_TOGETHER, PULL_TO_ZERO = 0.1, 1.0, 1.0
"""Penalties: on the common factor's distance from the method's own formula, on the logarithms of the classes' own
factors, and on offsets. With few samples, they keep the changes small."""

MOST_LOG = 30.0
"""The largest absolute value of a factor's logarithm, so that nothing overflows."""

BEHIND = 1e-12
"""The smallest distance, in the exponent, of another class behind the winner."""

UNCHANGED = (0.0, 0.0, 0.0)

HOLDOUT, OUT_OF_FOLD = "hold-out samples", "out-of-fold scores"
"""What a calibration may be fitted to."""


@dataclass(frozen=True)
class ScoreCalibration:
    """Turns the sum of all votes into probabilities: each class has a positive factor, and an offset added after it.

    It was fitted to ``n_samples`` scores, which were :data:`HOLDOUT` or :data:`OUT_OF_FOLD`. The correction of how sure
    the winner is, ``sureness``, is for :func:`lowering`.
    """

    factors: tuple[float, ...]
    offsets: tuple[float, ...]
    fitted_to: str
    n_samples: int
    sureness: tuple[float, float, float] = UNCHANGED

    @classmethod
    def from_json(cls, kept: dict[str, Any] | None) -> ScoreCalibration | None:
        return None if kept is None else msgspec.convert(kept, cls)

    def probabilities(self, total: Floats) -> Floats:
        """Return class probabilities. The class with the highest score, the first among equals, stays the likeliest."""
        said = self._behind(total)
        if self.sureness != UNCHANGED and len(said):
            _hold(np.subtract(said, lowering(*odds_and_lead(said), self.sureness)[:, np.newaxis], out=said), total)
        np.exp(said, out=said)
        said /= said.sum(axis=1, keepdims=True)
        return said

    def exponents(self, total: Floats) -> Floats:
        """Return the logarithms of the probabilities, up to a constant, before the winner is kept above all others."""
        found: Floats = total * np.array(self.factors) + np.array(self.offsets)
        return found

    def _behind(self, total: Floats) -> Floats:
        found = self.exponents(total)
        found -= found[np.arange(len(total)), winners(total)][:, np.newaxis]
        return _hold(found, total)


def _hold(behind: Floats, total: Floats) -> Floats:
    np.minimum(behind, -BEHIND, out=behind)
    behind[np.arange(len(total)), winners(total)] = 0.0
    return behind


def fit_calibration(
    total: Floats, codes: Codes, weights: Floats | None = None, *, fitted_to: str = HOLDOUT
) -> ScoreCalibration:
    """Return the calibration that makes the true classes of these samples likely. Few samples change little.

    No model may have seen these samples. Uneven weights count as fewer samples.

    >>> rng = np.random.default_rng(0)
    >>> margin = rng.normal(0, 2, 2_000)
    >>> codes = (rng.random(2_000) < 1 / (1 + np.exp(-margin))).astype(int)
    >>> too_sure = 10 * np.column_stack([-margin, margin])
    >>> fit_calibration(too_sure, codes).probabilities(np.array([[-10.0, 10.0]])).round(2)
    array([[0.25, 0.75]])
    """
    n_samples, n_classes = total.shape
    counts = np.ones(n_samples) if weights is None else np.asarray(weights, dtype=np.float64)
    if counts.any():
        counts = counts * (counts.sum() / (counts @ counts))  # now they sum to the effective sample size
    factors, offsets = _by_class(total, codes, counts)
    found = ScoreCalibration(factors, offsets, fitted_to, n_samples)
    if n_classes == 2 or n_samples < 2:
        return found
    behind = np.empty_like(total)
    for held in _folds(codes):
        made = ScoreCalibration(*_by_class(total[~held], codes[~held], counts[~held]), fitted_to, n_samples)
        behind[held] = made._behind(total[held])
    return replace(found, sureness=fit_sureness(behind, winners(total) == codes, counts))


def _by_class(total: Floats, codes: Codes, counts: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    from scipy.optimize import minimize  # late, because `show` reads calibrations and must start fast

    n_samples, n_classes = total.shape
    size = float(np.abs(total).mean()) or 1.0
    scores = np.ascontiguousarray(total / size)
    truths = counts[:, np.newaxis] * (codes[:, np.newaxis] == np.arange(n_classes)) + FLAT / (n_samples * n_classes)
    formula = float(np.log(size * (n_classes - 1) / n_classes))
    fitted = minimize(
        loss_and_slope, np.zeros(1 + 2 * n_classes), (scores, truths, formula), jac=True, method="L-BFGS-B"
    )
    found = fitted.x
    factors = np.exp(np.clip(found[0] + found[1 : 1 + n_classes], -MOST_LOG, MOST_LOG)) / size
    offsets = found[1 + n_classes :]
    return tuple(factors.tolist()), tuple(offsets.tolist())


def loss_and_slope(parameters: Floats, scores: Floats, truths: Floats, formula: float) -> tuple[float, Floats]:
    """Return the loss to minimise and its slope.

    ``parameters`` are the logarithms of the common factor and of the classes' own factors, and the offsets; ``truths``
    how often each class is the truth of each sample, and ``formula`` the logarithm of the formula's factor.
    """
    n_classes = scores.shape[1]
    common, own, offsets = parameters[0], parameters[1 : 1 + n_classes], parameters[1 + n_classes :]
    scaled = np.exp(np.clip(common + own, -MOST_LOG, MOST_LOG)) * scores
    exponents = scaled + offsets
    exponents -= exponents.max(axis=1, keepdims=True)
    logs = exponents - np.log(np.exp(exponents).sum(axis=1, keepdims=True))
    errors = truths.sum(axis=1, keepdims=True) * np.exp(logs) - truths
    by_class = (errors * scaled).sum(axis=0)
    away = common - formula
    loss = -(truths * logs).sum() + PULL_TO_FORMULA * away**2
    loss += PULL_TOGETHER * (own @ own) + PULL_TO_ZERO * (offsets @ offsets)
    slope = np.concatenate(
        [
            [by_class.sum() + 2.0 * PULL_TO_FORMULA * away],
            by_class + 2.0 * PULL_TOGETHER * own,
            errors.sum(axis=0) + 2.0 * PULL_TO_ZERO * offsets,
        ]
    )
    return float(loss), slope


def in_words(calibration: ScoreCalibration | None, *, wanted: bool, learned: bool) -> str:
    """Return whether and how probabilities are calibrated, as words after "probabilities:"."""
    if calibration is not None and calibration.fitted_to == HOLDOUT:
        return f"calibrated by the votes on {calibration.n_samples} hold-out samples"
    if calibration is not None:
        return f"calibrated by the out-of-fold votes on {calibration.n_samples} training samples"
    if learned:
        return "those of the combination, which was chosen by its loss on samples that no model has seen"
    if not wanted:
        return "not calibrated, as you asked"
    return "not calibrated, because no samples are left that no model has seen; hold some out"


def _folds(codes: Codes, n_folds: int = 5) -> Iterator[Bools]:
    """Yield which samples are in each fold. Only the classes and the order of the samples decide."""
    folds = deal(codes, n_folds, np.arange(len(codes)))
    for fold in np.unique(folds):
        yield folds == fold


def cross_fitted(total: Floats, codes: Codes, weights: Floats | None = None) -> Floats:
    """Return calibrated probabilities of these samples, each by a calibration that was not fitted to that sample.

    So they show honestly how good calibrated probabilities are. Folds have about the same share of every class.
    """
    if len(codes) < 2:
        return fit_calibration(total, codes, weights).probabilities(total)
    said = np.empty_like(total)
    for held in _folds(codes):
        found = fit_calibration(total[~held], codes[~held], None if weights is None else weights[~held])
        said[held] = found.probabilities(total[held])
    return said


# With more than two classes, how sure the winner is is corrected as well. A factor and an offset per class say well
# which classes are likelier than others. They say less well how often the winner is right: with 26 classes this depends
# on the scores of all others. So the logarithm of the winner's odds gets a correction :math:`b_0 + b_1 z + b_2 d`,
# where :math:`z` is that logarithm and :math:`d` is how far the second class is behind. The other classes keep their
# proportions.


PULL_TO_NO_CHANGE = (0.3, 10.0, 10.0)
"""Penalties on the squares of the three numbers. With few samples, they keep the correction small."""

SUREST = 14.0
"""Larger odds than ``exp(14)`` count as ``exp(14)``: samples cannot show how to correct them further."""


def lowering(odds: Floats, lead: Floats, sureness: tuple[float, float, float]) -> Floats:
    """Return what to subtract from the exponents of all classes except the winner.

    ``odds`` is the logarithm of the winner's odds, ``lead`` how far, in the exponent, the second class is behind, and
    ``sureness`` the three numbers of the correction.

    >>> lowering(np.array([2.0]), np.array([3.0]), (0.5, 0.1, 0.0))
    array([0.7])
    """
    offset, by_odds, by_lead = sureness
    return offset + by_odds * np.minimum(odds, SUREST) + by_lead * np.minimum(lead, SUREST)


def odds_and_lead(behind: Floats) -> tuple[Floats, Floats]:
    """Return the winner's log-odds and its lead for every sample, from the exponents relative to the winner's."""
    others = np.partition(behind, -2, axis=1)[:, :-1]  # all but the highest, which is the winner's
    lead = -others[:, -1]
    odds = lead - np.log(np.exp(others + lead[:, np.newaxis]).sum(axis=1))
    return odds, lead


def fit_sureness(behind: Floats, right: Bools, counts: Floats) -> tuple[float, float, float]:
    """Return the correction under which the winners are right as often as they say.

    ``behind`` are exponents relative to the winner's, by a calibration that was not fitted to the same samples.
    """
    from scipy.optimize import minimize  # late, because `show` reads calibrations and must start fast

    odds, lead = odds_and_lead(behind)
    seen = np.column_stack([np.ones(len(odds)), np.minimum(odds, SUREST), np.minimum(lead, SUREST)])
    pulls = np.array(PULL_TO_NO_CHANGE)

    def loss_and_slope(change: Floats) -> tuple[float, Floats]:
        corrected = odds + seen @ change
        losses = np.logaddexp(0.0, corrected) - right * corrected
        errors = np.exp(-np.logaddexp(0.0, -corrected)) - right
        return float(counts @ losses + pulls @ change**2), seen.T @ (counts * errors) + 2.0 * pulls * change

    offset, by_odds, by_lead = minimize(loss_and_slope, np.zeros(3), jac=True, method="L-BFGS-B").x.tolist()
    return offset, by_odds, by_lead


MOST_GROUPS = 10

FEWEST = 20
"""The smallest mean number of answers in a group: fewer answers say too little about a share. A single group may have
fewer, because answers that are equally sure are never divided."""


@dataclass(frozen=True)
class Reliability:
    """Answers that claim to be about equally sure: the mean probability of what was answered, and the share right."""

    n_samples: int
    said: float
    right: float

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share that is right."""
        n, z = self.n_samples, 1.959964
        middle = (self.right + z * z / (2 * n)) / (1 + z * z / n)
        reach = z / (1 + z * z / n) * math.sqrt(self.right * (1 - self.right) / n + z * z / (4 * n * n))
        return max(middle - reach, 0.0), min(middle + reach, 1.0)


def reliability(
    codes: Codes, probabilities: Floats, predicted: Codes, weights: Floats | None = None
) -> tuple[Reliability, ...]:
    """Return answers in groups of about equal size, from the least sure to the surest.

    Answers that are equally sure are always in the same group, so there may be fewer groups. Samples of weight zero do
    not count.
    """
    counts = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    rows = np.flatnonzero(counts > 0.0)
    if not len(rows):
        return ()
    said = probabilities[rows, predicted[rows]] / probabilities[rows].sum(axis=1)
    order = np.argsort(said, kind="stable")
    rows, said = rows[order], said[order]
    right = predicted[rows] == codes[rows]
    n_groups = max(1, min(MOST_GROUPS, len(rows) // FEWEST))
    starts = np.searchsorted(said, said[np.arange(n_groups) * len(rows) // n_groups])
    parts = np.split(np.arange(len(rows)), np.unique(starts)[1:])
    return tuple(
        Reliability(len(part), _mean(said[part], counts[rows[part]]), _mean(right[part], counts[rows[part]]))
        for part in parts
    )


def _mean(values: Floats | Bools, counts: Floats) -> float:
    return round(float(np.average(values, weights=counts)), 6)
