"""How good answers are, and by how much one set of answers is better than another, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.people import Groups, at, effective_size, mean_and_error, of_persons, rarest_classes
from assistlearn.core.votes import winners
from assistlearn.evaluation.words import CLIP, SampleLoss
from assistlearn.types import Bools, Codes, Floats

# scikit-learn computes the metrics. It is imported only when something is measured: ``show`` names metrics and must
# start fast.


@dataclass(frozen=True)
class Answers:
    """The answers to judge, without samples of weight zero: true classes, probabilities, predicted classes, weights."""

    codes: Codes
    probabilities: Floats
    predicted: Codes
    weights: Floats

    @property
    def n_classes(self) -> int:
        return int(self.probabilities.shape[1])

    @property
    def occurring(self) -> NDArray[np.intp]:
        return np.flatnonzero(np.bincount(self.codes, minlength=self.n_classes))


@dataclass(frozen=True)
class Metric:
    """One figure of how good answers are.

    Some need samples of every class, and some judge the probabilities themselves, not only their order.
    """

    name: str
    title: str
    larger_is_better: bool
    compute: Callable[[Answers], float]
    needs_every_class: bool = False
    of_probabilities: bool = False

    def of(self, answers: Answers) -> float | None:
        return self.compute(answers) if self.is_defined(answers) else None

    def is_defined(self, answers: Answers) -> bool:
        least = answers.n_classes if self.needs_every_class else 1
        return answers.n_classes > 1 and len(answers.occurring) >= least

    def better(self, one: float, other: float) -> bool:
        return one > other if self.larger_is_better else one < other


def answers_of(
    codes: Codes, probabilities: Floats, weights: Floats | None = None, predicted: Codes | None = None
) -> Answers:
    counts = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    chosen = winners(probabilities) if predicted is None else np.asarray(predicted)
    rows = counts > 0.0
    return Answers(np.asarray(codes)[rows], probabilities[rows], chosen[rows], counts[rows])


def measure(
    codes: Codes, probabilities: Floats, weights: Floats | None = None, predicted: Codes | None = None
) -> dict[str, float | None]:
    """Return every metric by name; None where one is not defined, because samples or a class are missing."""
    answers = answers_of(codes, probabilities, weights, predicted)
    return {name: metric.of(answers) for name, metric in METRICS.items()}


def confusion(codes: Codes, predicted: Codes, n_classes: int, weights: Floats | None = None) -> Floats:
    """Return how often each true class (rows) was answered as each class (columns), by weight."""
    from sklearn import metrics

    if not len(codes):
        return np.zeros((n_classes, n_classes))
    counted: NDArray[Any] = metrics.confusion_matrix(
        codes, predicted, labels=np.arange(n_classes), sample_weight=weights
    )
    return counted.astype(np.float64)


def recalls(table: Floats) -> list[float | None]:
    right, whole = np.diagonal(table), table.sum(axis=1)
    return [float(r / w) if w > 0.0 else None for r, w in zip(right, whole, strict=True)]


def _score(name: str, answers: Answers, said: NDArray[Any], truth: NDArray[Any] | None = None, **options: Any) -> float:
    from sklearn import metrics

    truth = answers.codes if truth is None else truth
    return float(getattr(metrics, name)(truth, said, sample_weight=answers.weights, **options))


def _accuracy(answers: Answers) -> float:
    return _score("accuracy_score", answers, answers.predicted)


def _balanced_accuracy(answers: Answers) -> float:
    """Return the mean recall of the classes that occur. ``balanced_accuracy_score`` warns if others are predicted."""
    options: dict[str, Any] = {"labels": answers.occurring, "average": "macro", "zero_division": 0.0}
    return _score("recall_score", answers, answers.predicted, **options)


def _log_loss(answers: Answers) -> float:
    return _score("log_loss", answers, answers.probabilities, labels=np.arange(answers.n_classes))


def _brier(answers: Answers) -> float:
    """Return the mean squared error of the probabilities: of class 1 for two classes, summed over more."""
    options: dict[str, Any] = {"labels": np.arange(answers.n_classes), "scale_by_half": answers.n_classes == 2}
    return _score("brier_score_loss", answers, answers.probabilities, **options)


def _each_against_the_rest(score: str) -> Callable[[Answers], float]:
    """Return a score of class 1 for two classes, and the mean over the classes, each against the rest, for more."""

    def mean(answers: Answers) -> float:
        known = [1] if answers.n_classes == 2 else range(answers.n_classes)
        said = answers.probabilities
        return float(np.mean([_score(score, answers, said[:, code], answers.codes == code) for code in known]))

    return mean


_ALL = (
    Metric("accuracy", "accuracy", True, _accuracy),
    Metric("balanced_accuracy", "balanced accuracy", True, _balanced_accuracy),
    Metric("log_loss", "log loss", False, _log_loss, of_probabilities=True),
    Metric("brier", "Brier score", False, _brier, of_probabilities=True),
    Metric("roc_auc", "ROC AUC", True, _each_against_the_rest("roc_auc_score"), needs_every_class=True),
    Metric(
        "average_precision",
        "average precision",
        True,
        _each_against_the_rest("average_precision_score"),
        needs_every_class=True,
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
"""Every metric by its name."""


def losses(loss: SampleLoss, codes: Codes, decided: Codes, probabilities: Floats) -> Floats:
    """Return the bounded loss of a decision on each sample: zero-one loss, or log loss with a clipped probability."""
    if loss == "zero-one":
        return np.asarray(decided != codes, dtype=np.float64)
    of_truth = probabilities[np.arange(len(codes)), codes]
    return np.asarray(-np.log(np.clip(of_truth, CLIP, 1.0)), dtype=np.float64)


# By how much one set of answers is better than another on the same samples, with 95 % intervals.

DRAWS, LEAST_DRAWS = 1000, 200
"""The largest and the smallest number of draws. The more samples there are, the fewer draws."""

MOST_CELLS = 4e6
"""Samples times draws times curves that take about a second. With more than two classes, each class has a curve."""

BLOCK = 20
"""The number of draws in memory at a time."""

LEVEL = 0.95
"""How often an interval should contain the true difference."""

ADDED = 0.5
"""How many pairs are added to each of the four kinds of pairs of right or wrong answers (Agresti and Min, 2005)."""

LEAST = float(np.finfo(np.float64).eps)
"""The smallest probability that counts: a smaller one is raised to it, as in scikit-learn's log loss."""


@dataclass(frozen=True)
class Difference:
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

    The predicted classes, assisted and alone, are the likeliest by default. A difference is None where a metric is not
    defined, or fewer than two persons have a weight.
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
    of_truth = answers.probabilities[np.arange(len(answers.codes)), answers.codes]
    losses: Floats = -np.log(np.clip(of_truth, LEAST, 1.0 - LEAST))
    return losses


def _briers(answers: Answers) -> Floats:
    truth = np.arange(answers.n_classes) == answers.codes[:, np.newaxis]
    errors: Floats = ((answers.probabilities - truth) ** 2).sum(axis=1)
    return errors / 2.0 if answers.n_classes == 2 else errors


_MEANS = {"accuracy": _right, "log_loss": log_losses, "brier": _briers}


def resampled(
    one: Answers, other: Answers, names: Sequence[str], seed: int, groups: Groups | None = None
) -> dict[str, Floats]:
    """Return the difference of each metric between two sets of answers, in every draw.

    Every draw has as many samples of each class as the original samples. Where several samples are about the same
    person, persons are drawn, each with all samples; a person counts for the rarest of their classes.
    """
    first, second = _figures(one, names), _figures(other, names)
    found: dict[str, list[Floats]] = {name: [] for name in names}
    for counts in _drawn_counts(one, np.random.default_rng(seed), groups):
        figures, others = first(counts), second(counts)
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


def _figures(answers: Answers, names: Sequence[str]) -> Callable[[Floats], dict[str, Floats]]:
    """Return what computes metrics in many draws at once, from how much each sample counts (draws x samples)."""
    members = [answers.codes == code for code in answers.occurring]
    right = _right(answers)
    on_curve = [name for name in names if name in _OF_CURVE]
    known = [1] if answers.n_classes == 2 else range(answers.n_classes)
    curves = [_curve(answers.probabilities[:, code], answers.codes == code) for code in known] if on_curve else []

    def figures(counts: Floats) -> dict[str, Floats]:
        found = {name: np.zeros(len(counts)) for name in names}
        if "balanced_accuracy" in found:
            recalls = [(counts[:, rows] @ right[rows]) / counts[:, rows].sum(axis=1) for rows in members]
            found["balanced_accuracy"] = np.mean(recalls, axis=0)
        for curve in curves:
            sums = curve(counts)
            for name in on_curve:
                found[name] += _OF_CURVE[name](*sums) / len(curves)
        return found

    return figures


def _curve(scores: Floats, positive: Bools) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Return what computes the weight of the positive samples, and of all, down to each score (draws x scores)."""
    order = np.argsort(-scores, kind="stable")
    ranked_scores = scores[order]
    last = np.flatnonzero(np.append(ranked_scores[1:] != ranked_scores[:-1], True))
    is_positive = positive[order]

    def sums(counts: Floats) -> tuple[Floats, Floats]:
        ranked = counts[:, order]
        of_positive = np.cumsum(ranked * is_positive, axis=1)
        every = np.cumsum(ranked, axis=1, out=ranked)
        if len(last) == counts.shape[1]:
            return of_positive, every
        return of_positive[:, last], every[:, last]

    return sums


def _area(positive: Floats, every: Floats) -> Floats:
    negative = every - positive
    steps = np.diff(negative, axis=1)
    area = negative[:, 0] * positive[:, 0] + np.einsum("ij,ij->i", steps, positive[:, 1:] + positive[:, :-1])
    whole: Floats = area / (2.0 * positive[:, -1] * negative[:, -1])
    return whole


def _precision(positive: Floats, every: Floats) -> Floats:
    precision = np.divide(positive, every, out=np.zeros_like(positive), where=every > 0.0)
    added = np.diff(positive, axis=1)
    found: Floats = positive[:, 0] * precision[:, 0] + np.einsum("ij,ij->i", added, precision[:, 1:])
    return found / positive[:, -1]


_OF_CURVE = {"roc_auc": _area, "average_precision": _precision}
