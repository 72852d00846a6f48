"""By how much one set of answers is better than another on the same samples, with a 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assistlearn.core.groups import Groups, at
from assistlearn.core.ignorance import Floats
from assistlearn.core.means import effective_size, mean_and_error, of_persons
from assistlearn.core.votes import Codes
from assistlearn.evaluation.metrics import METRICS, Answers, Metric, answers_of
from assistlearn.evaluation.resampling import resampled

LEVEL = 0.95
"""How often an interval should contain the true difference."""

ADDED = 0.5
"""How many pairs are added to each of the four kinds of pairs of right or wrong answers (Agresti and Min, 2005)."""

LEAST = float(np.finfo(np.float64).eps)
"""The smallest probability that counts: a smaller one is raised to it, as in scikit-learn's log loss."""


@dataclass(frozen=True)
class Difference:
    """A difference and its interval.

    Attributes
    ----------
    value : float
        The first figure minus the second.
    low, high : float
        The ends of the interval.
    """

    value: float
    low: float
    high: float


def differences(
    codes: Codes,
    assisted: Floats,
    alone: Floats,
    weights: Floats | None = None,
    *,
    predicted: tuple[Codes | None, Codes | None] = (None, None),
    seed: int = 0,
    only: Sequence[str] = tuple(METRICS),
    groups: Groups | None = None,
) -> dict[str, Difference | None]:
    """Return, for every metric, by how much the assisted answers differ from those alone, on the same samples.

    Accuracy, log loss and Brier score are means over samples. Their intervals follow from the difference on each
    sample. For accuracy half a pair of each kind is added first: without this, a few samples without a disagreement
    would look like certainty. The other metrics are computed again on samples that are drawn with replacement, class by
    class. Both sets of answers get the same draws. Where several samples are about the same person, all this goes by
    persons, because these are drawn at random, and not their samples.

    Parameters
    ----------
    codes : array of int of shape (n_samples,)
        The true classes.
    assisted, alone : array of shape (n_samples, n_classes)
        Class probabilities.
    weights : array of shape (n_samples,), optional
        The weights of the samples; equal by default.
    predicted : pair of arrays of int, optional
        The predicted classes, assisted and alone; the likeliest by default.
    seed : int
        The seed of the draws.
    only : sequence of str
        Which metrics; all by default.
    groups : array of int of shape (n_samples,), optional
        Which samples are about the same person; by default no two are.

    Returns
    -------
    differences : dict of str to Difference or None
        Assisted minus alone; None where a metric is not defined, or fewer than two persons have a weight.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(0, 2, 400)
    >>> right = np.where(codes == 1, 0.8, 0.2)
    >>> found = differences(codes, np.column_stack([1 - right, right]), np.full((400, 2), 0.5))["log_loss"]
    >>> round(found.value, 3), found.high < 0
    (-0.47, True)
    """
    one, other = (answers_of(codes, said, weights, own) for said, own in zip((assisted, alone), predicted, strict=True))
    people = groups if weights is None else at(groups, np.flatnonzero(weights > 0.0))
    if len(one.weights) < 2 or (people is not None and people.max() == 0):
        return dict.fromkeys(only)
    asked = {name: METRICS[name] for name in only}
    drawn = [metric for metric in asked.values() if metric.name not in _MEANS and metric.is_defined(one)]
    samples = resampled(one, other, [metric.name for metric in drawn], seed, people) if drawn else {}
    return {name: _difference(metric, one, other, samples.get(name), people) for name, metric in asked.items()}


def _difference(
    metric: Metric, one: Answers, other: Answers, drawn: Floats | None, groups: Groups | None
) -> Difference | None:
    first, second = metric.of(one), metric.of(other)
    if first is None or second is None:
        return None
    value = first - second
    if drawn is None:
        return Difference(value, *_interval_of_mean(metric.name, one, other, groups))
    low, high = np.quantile(drawn, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return Difference(value, min(float(low), value), max(float(high), value))


def _interval_of_mean(name: str, one: Answers, other: Answers, groups: Groups | None) -> tuple[float, float]:
    """Return the interval of the mean of the samples' own differences, by Student's distribution."""
    each, weights = _MEANS[name](one) - _MEANS[name](other), one.weights
    if groups is not None:
        each, weights = of_persons(each, weights, groups)
    if name == "accuracy":
        return _interval_of_shares(each, weights)
    mean, error = mean_and_error(each, weights)
    from scipy import stats

    reach = error * float(stats.t.ppf((1.0 + LEVEL) / 2.0, max(effective_size(weights) - 1.0, 1.0)))
    return mean - reach, mean + reach


def _interval_of_shares(each: Floats, weights: Floats) -> tuple[float, float]:
    """Return the interval of Agresti and Min (2005) for the difference of two shares of the same samples.

    An added pair has the mean weight of a sample, where samples count by their weight.
    """
    size = float((weights**2).sum() / weights.sum())
    kinds = np.array([1.0, -1.0, 0.0, 0.0])
    whole = float(weights.sum()) + ADDED * size * len(kinds)
    mean = float(weights @ each) / whole
    squares = ((weights * (each - mean)) ** 2).sum() + ADDED * size**2 * ((kinds - mean) ** 2).sum()
    from scipy import stats

    reach = float(stats.norm.ppf((1.0 + LEVEL) / 2.0)) * float(np.sqrt(squares)) / whole
    return max(-1.0, mean - reach), min(1.0, mean + reach)


def _right(answers: Answers) -> Floats:
    right: Floats = (answers.predicted == answers.codes).astype(np.float64)
    return right


def log_losses(answers: Answers) -> Floats:
    """Return the log loss of every sample."""
    of_truth = answers.probabilities[np.arange(len(answers.codes)), answers.codes]
    losses: Floats = -np.log(np.clip(of_truth, LEAST, 1.0 - LEAST))
    return losses


def _briers(answers: Answers) -> Floats:
    truth = np.arange(answers.n_classes) == answers.codes[:, np.newaxis]
    errors: Floats = ((answers.probabilities - truth) ** 2).sum(axis=1)
    return errors / 2.0 if answers.n_classes == 2 else errors


_MEANS = {"accuracy": _right, "log_loss": log_losses, "brier": _briers}
"""The metrics that are means over samples, and the functions that return the value of every sample."""
