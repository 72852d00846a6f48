r"""Calibrate probabilities: rescale scores so that answers are right as often as they say.

Each class has a factor and an offset, :math:`p \propto \exp(a_k f_k + b_k)`, fitted to scores of samples that no model
has seen. With more than two classes :mod:`assistlearn.evaluation.sureness` then corrects how sure the winner is. The
class with the most votes stays the likeliest: no other class may become likelier. One temperature for all classes was
worse: answers are too sure for some classes, and not sure enough for others (``bench/calibration``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes, winners
from assistlearn.evaluation.sureness import UNCHANGED, fit_sureness, lowering, odds_and_lead

FLAT = 1.0
"""The weight of artificial samples, which belong to all classes equally. They keep probabilities away from 0 and 1."""

PULL_TO_FORMULA, PULL_TOGETHER, PULL_TO_ZERO = 0.1, 1.0, 1.0
"""Penalties: on the common factor's distance from the method's own formula, on the logarithms of the classes' own
factors, and on offsets. With few samples, they keep the changes small."""

BEHIND = 1e-12
"""The smallest distance, in the exponent, of another class behind the winner."""

HOLDOUT, OUT_OF_FOLD = "hold-out samples", "out-of-fold scores"
"""What a calibration may be fitted to."""


@dataclass(frozen=True)
class ScoreCalibration:
    """Turns the sum of all votes into probabilities.

    Attributes
    ----------
    factors : tuple of float
        The factor by which the score of each class is multiplied; positive.
    offsets : tuple of float
        The offset that is then added to the score of each class.
    fitted_to : str
        The scores that it was fitted to: :data:`HOLDOUT` or :data:`OUT_OF_FOLD`.
    n_samples : int
        The number of samples that it was fitted to.
    sureness : tuple of float
        The correction of how sure the winner is, for :func:`~assistlearn.evaluation.sureness.lowering`.
    """

    factors: tuple[float, ...]
    offsets: tuple[float, ...]
    fitted_to: str
    n_samples: int
    sureness: tuple[float, float, float] = UNCHANGED

    @classmethod
    def from_json(cls, kept: dict[str, Any] | None) -> ScoreCalibration | None:
        """Return the calibration from the values that :func:`dataclasses.asdict` made of it; None for None."""
        if kept is None:
            return None
        factors, offsets = tuple(map(float, kept["factors"])), tuple(map(float, kept["offsets"]))
        offset, by_odds, by_lead = map(float, kept["sureness"])
        return cls(factors, offsets, str(kept["fitted_to"]), int(kept["n_samples"]), (offset, by_odds, by_lead))

    def probabilities(self, total: Floats) -> Floats:
        """Return class probabilities.

        Parameters
        ----------
        total : array of shape (n_samples, n_classes)
            The sum of all votes. The class with the highest score, the first among equals, stays the likeliest.

        Examples
        --------
        >>> ScoreCalibration((0.5, 0.5), (0.0, 0.0), HOLDOUT, 100).probabilities(np.array([[2.0, -2.0]])).round(2)
        array([[0.88, 0.12]])
        """
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
        """Return the exponents relative to the winner's. No other class may exceed the winner."""
        found = self.exponents(total)
        found -= found[np.arange(len(total)), winners(total)][:, np.newaxis]
        return _hold(found, total)


def _hold(behind: Floats, total: Floats) -> Floats:
    """Keep the class with the most votes the likeliest, in place."""
    np.minimum(behind, -BEHIND, out=behind)
    behind[np.arange(len(total)), winners(total)] = 0.0
    return behind


def fit_calibration(
    total: Floats, codes: Codes, weights: Floats | None = None, *, fitted_to: str = HOLDOUT
) -> ScoreCalibration:
    """Return the calibration that makes the true classes of these samples likely. Few samples change little.

    Parameters
    ----------
    total : array of shape (n_samples, n_classes)
        The sum of all votes on samples that no model has seen.
    codes : array of int of shape (n_samples,)
        Their true classes.
    weights : array of shape (n_samples,), optional
        How much each sample counts; equal by default. Uneven weights count as fewer samples.
    fitted_to : str
        The kind of scores: :data:`HOLDOUT` or :data:`OUT_OF_FOLD`.

    Examples
    --------
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
    """Return a factor and an offset for each class."""
    from scipy.optimize import minimize  # late, because `show` reads calibrations and must start fast

    n_samples, n_classes = total.shape
    size = float(np.abs(total).mean()) or 1.0
    lesson = _Lesson(
        np.ascontiguousarray(total / size),
        counts[:, np.newaxis] * (codes[:, np.newaxis] == np.arange(n_classes)) + FLAT / (n_samples * n_classes),
        float(np.log(size * (n_classes - 1) / n_classes)),
    )
    found = minimize(lesson.loss_and_slope, np.zeros(1 + 2 * n_classes), jac=True, method="L-BFGS-B").x
    factors = np.exp(np.clip(found[0] + found[1 : 1 + n_classes], -MOST_LOG, MOST_LOG)) / size
    offsets = found[1 + n_classes :]
    return tuple(factors.tolist()), tuple(offsets.tolist())


MOST_LOG = 30.0
"""The largest absolute value of a factor's logarithm, so that nothing overflows."""


@dataclass(frozen=True)
class _Lesson:
    """The loss to minimise. It needs scores, how often each class is the truth, and the log of the formula's factor."""

    scores: Floats
    truths: Floats
    formula: float

    def loss_and_slope(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the loss and its slope, given the logs of the common and the classes' own factors, and the offsets."""
        n_classes = self.scores.shape[1]
        common, own, offsets = parameters[0], parameters[1 : 1 + n_classes], parameters[1 + n_classes :]
        scaled = np.exp(np.clip(common + own, -MOST_LOG, MOST_LOG)) * self.scores
        exponents = scaled + offsets
        exponents -= exponents.max(axis=1, keepdims=True)
        logs = exponents - np.log(np.exp(exponents).sum(axis=1, keepdims=True))
        errors = self.truths.sum(axis=1, keepdims=True) * np.exp(logs) - self.truths
        by_class = (errors * scaled).sum(axis=0)
        away = common - self.formula
        loss = -(self.truths * logs).sum() + PULL_TO_FORMULA * away**2
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
    """Return whether and how probabilities are calibrated, as words after "probabilities:".

    Parameters
    ----------
    calibration : ScoreCalibration or None
        The calibration of a run or an estimator.
    wanted : bool
        Whether the plan asks for a calibration.
    learned : bool
        Whether there is a learned combination.

    Examples
    --------
    >>> in_words(ScoreCalibration((0.5, 0.5), (0.0, 0.0), HOLDOUT, 85), wanted=True, learned=False)
    'calibrated by the votes on 85 hold-out samples'
    >>> in_words(None, wanted=True, learned=False)
    'not calibrated, because no samples are left that no model has seen; hold some out'
    >>> in_words(None, wanted=True, learned=True)  # the plain sum may be what was chosen: then nothing was fitted
    'those of the combination, which was chosen by its loss on samples that no model has seen'
    """
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
    folds = np.empty(len(codes), dtype=np.intp)
    folds[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % n_folds
    for fold in np.unique(folds):
        yield folds == fold


def cross_fitted(total: Floats, codes: Codes, weights: Floats | None = None) -> Floats:
    """Return calibrated probabilities of these samples, each by a calibration that was not fitted to that sample.

    So they show honestly how good calibrated probabilities are. Folds have about the same share of every class. Only
    the classes and the order of the samples decide who is in which fold.

    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(0, 2, 50)
    >>> cross_fitted(rng.normal(size=(50, 2)), codes).shape
    (50, 2)
    """
    if len(codes) < 2:
        return fit_calibration(total, codes, weights).probabilities(total)
    said = np.empty_like(total)
    for held in _folds(codes):
        found = fit_calibration(total[~held], codes[~held], None if weights is None else weights[~held])
        said[held] = found.probabilities(total[held])
    return said


def expected_calibration_error(codes: Codes, probabilities: Floats, n_bins: int = 15) -> float:
    """Return the mean gap between how sure answers claim to be and how often they are right.

    The answer is the likeliest class. Answers are put into bins of equal width by how sure they claim to be.

    >>> expected_calibration_error(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1]] * 4))
    0.4
    """
    sure = probabilities.max(axis=1)
    gap = sure - (winners(probabilities) == codes)
    bins = np.minimum((sure * n_bins).astype(np.intp), n_bins - 1)
    return float(np.abs(np.bincount(bins, weights=gap, minlength=n_bins)).sum() / len(codes))
