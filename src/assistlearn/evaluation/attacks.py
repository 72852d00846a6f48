"""An attack on what is released: how well columns can be inferred from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assistlearn.core import Reward, ScoreVectors, SoftReward
from assistlearn.core.people import means_and_errors
from assistlearn.core.state import in_order
from assistlearn.types import Bools, Codes, Floats

BINS = 32
"""If a column has more different numbers than this, they are divided into this many bins of about equal counts."""


def column_entropy(values: NDArray[Any]) -> float:
    """Return the empirical entropy of a column in bits; a missing value (NaN or None) counts as one more value.

    Categories are counted one by one, and so are numbers if there are at most :data:`BINS` different ones. Other
    numbers are divided into :data:`BINS` bins of equal counts. So a column of numbers without gaps holds at most five
    bits, however many digits the numbers have; with gaps at most log2(33), or 5.04.
    """
    if values.dtype.kind in "fiub":
        return _entropy(_binned(values.astype(float)))
    return _entropy(np.array(["0" if value is None else f"1{value}" for value in values]))


def _binned(numbers: NDArray[np.float64]) -> NDArray[Any]:
    present = np.isfinite(numbers)
    if len(np.unique(numbers[present])) <= BINS:
        return np.where(present, numbers, np.inf)
    edges = np.quantile(numbers[present], np.linspace(0.0, 1.0, BINS + 1)[1:-1])
    return np.where(present, np.searchsorted(edges, numbers, side="left"), -1)


def _entropy(values: NDArray[Any]) -> float:
    counts = np.unique(values, return_counts=True)[1]
    shares = counts / max(counts.sum(), 1)
    return max(float(-(shares * np.log2(shares)).sum()), 0.0)


@dataclass(frozen=True, eq=False)
class Target:
    """What an attacker wants to guess about a column: ``what``, in words, and for which samples it is ``positive``.

    The answer is false where no value is ``present``. If the column has more than two different numbers, their order
    can be guessed, too.
    """

    what: str
    positive: Bools
    present: Bools
    numbers: Floats | None


def target_of(values: NDArray[Any]) -> Target | None:
    """Return what is guessed about a column; None where all its values are the same.

    Of more than two different numbers, the attacker guesses which lie above the median (or at it, where that divides
    the samples more evenly). Of two different numbers, it guesses which is the larger. Of other values, it guesses
    which is the most frequent value.
    """
    numeric = values.dtype.kind in "fiub"
    present = np.isfinite(values.astype(float)) if numeric else np.array([value is not None for value in values])
    known = values[present]
    distinct, counts = np.unique(known if numeric else known.astype(str), return_counts=True)
    if len(distinct) < 2:
        return None
    if numeric and len(distinct) > 2:
        numbers = values.astype(float)
        return Target("above the median", _upper_half(numbers, present), present, numbers)
    if numeric:
        return Target("the larger value", present & (values == distinct[1]), present, None)
    frequent = distinct[int(np.argmax(counts))]
    return Target("the most frequent value", present & (values == frequent), present, None)


def _upper_half(numbers: Floats, present: Bools) -> Bools:
    median = np.median(numbers[present])
    with np.errstate(invalid="ignore"):
        above, beyond = present & (numbers > median), present & (numbers >= median)
    half = np.count_nonzero(present) / 2
    return min((above, beyond), key=lambda upper: abs(np.count_nonzero(upper) - half))


# The attacker fits models to the samples whose answer it knows. It tries a linear model, a forest and small boosted
# trees, and chooses the best by cross-validation on the samples that it knows. In the same way it chooses the best view
# of the samples: with the transcript, or without. So a transcript that says nothing does no harm.


FOLDS = 3
LEAST_FOR_BOOSTING, MOST_FOR_FOREST = 150, 1_000
"""The fewest known samples for boosted trees, and the most for a forest: a forest is better with few."""
LEAST_OF_A_KIND = 2


def better_guess(
    before: tuple[Floats, float], view: Floats, known: Any, answers: Bools, asked: Any, seed: int
) -> tuple[Floats, float]:
    """Return the best guess from what the attacker has, or the guess before where that seems as good or better.

    ``view`` is what it has about each sample, ``known`` the samples whose ``answers`` it knows, and ``asked`` those
    that it guesses. A guess is how likely the answer is for each of these, on any scale, and how good it seems: the
    area under the curve by cross-validation on the known samples, one half for a blind guess.
    """
    tried = [(_cross_validated(model, view[known], answers, seed), model) for model in _models(view, answers, seed)]
    seemed, model = max(tried, key=lambda one: one[0], default=(0.0, None))
    if model is None or seemed <= before[1]:
        return before
    return _likely(model.fit(view[known], answers), view[asked]), seemed


def auc(scores: Floats, positive: Bools) -> float:
    """Return the area under the curve: how often a positive sample has the higher score of two; ties count half."""
    n_positive = int(np.count_nonzero(positive))
    n_negative = len(positive) - n_positive
    if not n_positive or not n_negative:
        return float("nan")
    ranks = rankdata(scores)[positive].sum()
    return float((ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def _models(view: Floats, answers: Bools, seed: int) -> list[Any]:
    least = min(np.count_nonzero(answers), np.count_nonzero(~answers))
    if view.shape[1] == 0 or least < LEAST_OF_A_KIND:
        return []
    missing_is_mean = SimpleImputer(strategy="constant", fill_value=0.0)
    models: list[Any] = [make_pipeline(StandardScaler(), missing_is_mean, LogisticRegression(C=0.1, max_iter=1_000))]
    if view.shape[1] > 1 and len(answers) <= MOST_FOR_FOREST:
        models.append(ExtraTreesClassifier(30, min_samples_leaf=2, random_state=seed))
    if view.shape[1] > 1 and len(answers) >= LEAST_FOR_BOOSTING:
        leaf = int(np.clip(len(answers) // 30, 5, 20))
        models.append(
            HistGradientBoostingClassifier(
                max_iter=60, max_leaf_nodes=8, min_samples_leaf=leaf, early_stopping=False, random_state=seed
            )
        )
    return models


def _cross_validated(model: Any, X: Floats, answers: Bools, seed: int) -> float:
    least = int(min(np.count_nonzero(answers), np.count_nonzero(~answers)))
    folds = StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=seed).split(X, answers)
    areas = [auc(_likely(model.fit(X[fit], answers[fit]), X[rest]), answers[rest]) for fit, rest in folds]
    return float(np.mean(areas))


def _likely(model: Any, X: Floats) -> Floats:
    likely: Floats = model.predict_proba(X)[:, 1]
    return likely


# With the labels, a reward can be turned into classes. If a model was wrong and there are two classes, it answered the
# other class. So the numbers speak of classes, not of right and wrong.


def said_of_classes(reward: Reward, codes: Codes, n_classes: int) -> Floats:
    """Return what a reward says about each sample: with two classes one number (for the second), else one per class."""
    if isinstance(reward, ScoreVectors):
        return in_order(reward.values(), codes)
    if n_classes == 2:
        towards_truth = reward.values() if isinstance(reward, SoftReward) else np.where(reward, 1.0, -1.0)
        return np.where(codes == 1, towards_truth, -towards_truth)[:, np.newaxis]
    assert not isinstance(reward, SoftReward)
    truth = np.eye(n_classes)[codes]  # where the model was wrong, any other class was the answer
    return np.where(reward[:, np.newaxis], truth, (1.0 - truth) / (n_classes - 1))


def of_labels(codes: Codes, n_classes: int) -> Floats:
    numbers: Floats = np.eye(n_classes)[codes]
    return numbers[:, 1:] if n_classes == 2 else numbers


def beside(parts: Sequence[Floats], n_samples: int) -> Floats:
    """Return the columns of all parts in one array, without columns that have the same value for every sample."""
    columns: Floats = np.column_stack([np.zeros((n_samples, 0)), *parts])
    known = np.isfinite(columns)
    low, high = (f(np.where(known, columns, at), axis=0) for f, at in ((np.min, np.inf), (np.max, -np.inf)))
    differs = (low < high) | (known.any(axis=0) & ~known.all(axis=0))
    return columns[:, differs]


LEAST_KNOWN = 10
"""If the attacker would know fewer samples than this, nothing is tried."""
MOST_KNOWN, MOST_ASKED = 3_000, 5_000
"""The most samples that an attack learns from, and the most that it is tried on: it takes minutes instead of hours."""

SHARES = (0.01, 0.05, 0.3)


@dataclass(frozen=True)
class Inferred:
    """How well a column was guessed, as means over repeats with their standard errors; infinite after a single one.

    The area under the curve is that on samples whose value the attacker did not know; one half is a blind guess. The
    rank correlation (Spearman) is that of the guess with the values, where they are numbers. What ends in ``without``
    is found by the same attacker without the transcript.
    """

    share: float
    n_known: int
    auc: float
    auc_error: float
    without: float
    without_error: float
    rank: float | None = None
    rank_without: float | None = None


def attribute_inferences(
    target: Target, has: Floats, transcripts: Sequence[Floats], share: float, seeds: Sequence[int]
) -> list[Inferred]:
    """Return how well a column is guessed, with each transcript by itself.

    The list is empty where the attacker knows too few samples of either answer. ``has`` is what it has anyway (labels,
    columns of its own), and a transcript is what was released about each sample. It knows the values of a ``share`` of
    the samples. There is a repeat for each seed, which decides which samples it knows and which it is asked about.
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
    answers = target.positive[known]
    without = better_guess((np.zeros(len(asked)), 0.5), has, known, answers, asked, seed)
    guesses = [without]
    for transcript in transcripts:
        view = np.column_stack([has, transcript])
        guesses.append(without if not transcript.size else better_guess(without, view, known, answers, asked, seed))
    return [(auc(scores, target.positive[asked]), _rank(scores, target, asked)) for scores, _ in guesses]


def _rank(scores: Floats, target: Target, asked: NDArray[np.intp]) -> float:
    if target.numbers is None or np.ptp(scores) == 0.0:
        return 0.0
    return float(spearmanr(scores, target.numbers[asked]).statistic)
