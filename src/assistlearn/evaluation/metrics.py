"""Metrics that say how good answers are, and the bounded loss of a decision on each sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.votes import winners
from assistlearn.evaluation.terms import CLIP, SampleLoss
from assistlearn.types import Codes, Floats

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


def _accuracy(answers: Answers) -> float:
    from sklearn import metrics

    return float(metrics.accuracy_score(answers.codes, answers.predicted, sample_weight=answers.weights))


def _balanced_accuracy(answers: Answers) -> float:
    """Return the mean recall of the classes that occur. ``balanced_accuracy_score`` warns if others are predicted."""
    from sklearn import metrics

    return float(
        metrics.recall_score(
            answers.codes,
            answers.predicted,
            labels=answers.occurring,
            average="macro",
            sample_weight=answers.weights,
            zero_division=0.0,
        )
    )


def _log_loss(answers: Answers) -> float:
    from sklearn import metrics

    known = np.arange(answers.n_classes)
    return float(metrics.log_loss(answers.codes, answers.probabilities, labels=known, sample_weight=answers.weights))


def _brier(answers: Answers) -> float:
    """Return the mean squared error of the probabilities: of class 1 for two classes, summed over more."""
    from sklearn import metrics

    return float(
        metrics.brier_score_loss(
            answers.codes,
            answers.probabilities,
            labels=np.arange(answers.n_classes),
            sample_weight=answers.weights,
            scale_by_half=answers.n_classes == 2,
        )
    )


def _roc_auc(answers: Answers) -> float:
    from sklearn import metrics

    return _each_against_the_rest(metrics.roc_auc_score, answers)


def _average_precision(answers: Answers) -> float:
    from sklearn import metrics

    return _each_against_the_rest(metrics.average_precision_score, answers)


def _each_against_the_rest(score: Callable[..., Any], answers: Answers) -> float:
    """Return a score of class 1 for two classes, and the mean over the classes, each against the rest, for more."""
    known = [1] if answers.n_classes == 2 else range(answers.n_classes)
    figures = [
        score(answers.codes == code, answers.probabilities[:, code], sample_weight=answers.weights) for code in known
    ]
    return float(np.mean(figures))


_ALL = (
    Metric("accuracy", "accuracy", True, _accuracy),
    Metric("balanced_accuracy", "balanced accuracy", True, _balanced_accuracy),
    Metric("log_loss", "log loss", False, _log_loss, of_probabilities=True),
    Metric("brier", "Brier score", False, _brier, of_probabilities=True),
    Metric("roc_auc", "ROC AUC", True, _roc_auc, needs_every_class=True),
    Metric("average_precision", "average precision", True, _average_precision, needs_every_class=True),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
"""Every metric by its name."""


def losses(loss: SampleLoss, codes: Codes, decided: Codes, probabilities: Floats) -> Floats:
    """Return the bounded loss of a decision on each sample: zero-one loss, or log loss with a clipped probability."""
    if loss == "zero-one":
        return np.asarray(decided != codes, dtype=np.float64)
    of_truth = probabilities[np.arange(len(codes)), codes]
    return np.asarray(-np.log(np.clip(of_truth, CLIP, 1.0)), dtype=np.float64)
