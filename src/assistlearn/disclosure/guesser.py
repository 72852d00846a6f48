"""An attacker's model: fitted to the samples whose answer it knows, it says how likely the answer is for others.

The attacker tries a linear model, a forest and small boosted trees, and chooses the best by cross-validation on the
samples that it knows. In the same way it chooses the best view of the samples: with the transcript, or without. So a
transcript that says nothing does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assistlearn.core.ignorance import Bools, Floats

FOLDS = 3
LEAST_FOR_BOOSTING, MOST_FOR_FOREST = 150, 1_000
"""The fewest known samples for boosted trees, and the most for a forest: a forest is better with few."""
LEAST_OF_A_KIND = 2
"""With fewer known samples than this of either answer, nothing can be learned."""


@dataclass(frozen=True, eq=False)
class Guess:
    """How likely the answer is for each sample asked about, and how good the guess seemed on known samples.

    Attributes
    ----------
    scores : ndarray
        How likely the answer is, on any scale.
    seemed : float
        The area under the curve by cross-validation on the known samples; one half for a blind guess.
    """

    scores: Floats
    seemed: float


def better_guess(before: Guess | None, view: Floats, known: Any, answers: Bools, asked: Any, seed: int) -> Guess:
    """Return the best guess from what the attacker has, or the guess before where that seems as good or better.

    Parameters
    ----------
    before : Guess or None
        A guess from a smaller view; None for a blind guess.
    view : ndarray of shape (n_samples, any)
        What the attacker has about each sample.
    known, asked : ndarray of int
        The samples whose answers it knows, and those it guesses.
    answers : ndarray of bool
        The answers of the known samples.
    seed : int
        The seed of the folds and the trees.
    """
    best = before or Guess(np.zeros(len(asked)), 0.5)
    tried = [(_cross_validated(model, view[known], answers, seed), model) for model in _models(view, answers, seed)]
    seemed, model = max(tried, key=lambda one: one[0], default=(0.0, None))
    if model is None or seemed <= best.seemed:
        return best
    return Guess(_likely(model.fit(view[known], answers), view[asked]), seemed)


def auc(scores: Floats, positive: Bools) -> float:
    """Return the area under the curve: how often a positive sample has the higher score of two; ties count half.

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
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
    """Return the mean area under the curve over folds."""
    least = int(min(np.count_nonzero(answers), np.count_nonzero(~answers)))
    folds = StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=seed).split(X, answers)
    areas = [auc(_likely(model.fit(X[fit], answers[fit]), X[rest]), answers[rest]) for fit, rest in folds]
    return float(np.mean(areas))


def _likely(model: Any, X: Floats) -> Floats:
    likely: Floats = model.predict_proba(X)[:, 1]
    return likely
