"""Attacks that the benchmark makes beside the product's own: on labels that were randomised, and on membership."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

from assistlearn.core.labels import chances, kept_share
from assistlearn.evaluation.attacks import Inferred, Target, attribute_inferences, auc, of_labels
from assistlearn.types import Bools, Codes, Floats

FOLDS = 3
SLOPES = (1.0, 2.0, 4.0, 8.0, 16.0)
LEAST = 1e-3
"""The least probability of a class. Where noise was corrected, a number below zero can come out."""


@dataclass(frozen=True)
class InferredLabels:
    """How well labels were guessed.

    Attributes
    ----------
    auc : float
        Area under the curve of the best guess; with more than two classes the mean over classes, each against the rest.
    columns_alone : float
        The same for a guess from the columns only, by a model that was fitted to other samples' randomised labels: what
        is said about the population, and not about this sample.
    right : float
        The share of the samples whose most likely class is the true one.
    """

    auc: float
    columns_alone: float
    right: float


def response_table(n_classes: int, epsilon: float) -> Floats:
    """Return how likely each label is told (columns) for each true label (rows), under randomised response.

    >>> response_table(2, np.log(3.0)).round(2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    return chances(np.arange(n_classes), kept_share(epsilon, n_classes), n_classes)


def label_inference(
    truth: Codes, told: Codes, n_classes: int, epsilon: float, columns: Floats, seed: int
) -> InferredLabels:
    """Return how well an attacker guesses the true labels from the told labels and its own columns.

    Boosted trees and a forest are fitted to the told labels out of fold; the forest is better where noise is strong.
    The model with the lower log loss is used. Its probabilities are corrected for the noise. Then they are multiplied
    by how likely the told label is under each class.
    """
    table = response_table(n_classes, epsilon)
    corrected = _corrected(_out_of_fold(columns, told, n_classes, seed), table)
    posterior = _as_chances(corrected, told, table) * table.T[told]
    right = float(np.mean(posterior.argmax(axis=1) == truth))
    posterior /= posterior.sum(axis=1, keepdims=True)
    return InferredLabels(_macro(posterior, truth), _macro(corrected, truth), right)


def _out_of_fold(columns: Floats, told: Codes, n_classes: int, seed: int) -> Floats:
    """Return how likely each told label is, by the better of some models, none of which has seen the sample."""
    even = np.full((len(told), n_classes), 1.0 / n_classes)
    least = int(np.bincount(told)[np.unique(told)].min())
    if columns.shape[1] == 0 or least < 2:
        return even
    tried = [even.copy() for _ in _models(seed)]
    folds = StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=seed)
    for fit, rest in folds.split(columns, told):
        for out, model in zip(tried, _models(seed), strict=True):
            model.fit(columns[fit], told[fit])
            out[np.ix_(rest, model.classes_)] = model.predict_proba(columns[rest])
    return min(tried, key=lambda out: _log_loss(out, told))


def _models(seed: int) -> tuple[Any, Any]:
    return (
        HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, early_stopping=False, random_state=seed),
        ExtraTreesClassifier(100, min_samples_leaf=20, random_state=seed),
    )


def _log_loss(likely: Floats, told: Codes) -> float:
    return float(-np.log(np.clip(likely[np.arange(len(told)), told], LEAST, None)).mean())


def _corrected(told: Floats, table: Floats) -> Floats:
    """Return how likely each true label is, given how likely each told one is; with noise also below 0 or above 1."""
    if np.linalg.cond(table) > 1e6:  # pure noise: it cannot be corrected
        return told
    out: Floats = told @ np.linalg.inv(table)
    return out


def _as_chances(corrected: Floats, told: Codes, table: Floats) -> Floats:
    """Return corrected numbers as probabilities above zero, by the formula that makes the told labels most likely."""
    steep = [np.exp(slope * (corrected - corrected.max(axis=1, keepdims=True))) for slope in SLOPES]
    likely = [one / one.sum(axis=1, keepdims=True) for one in (np.clip(corrected, LEAST, None), *steep)]
    return min(likely, key=lambda one: _log_loss(one @ table, told))


def _macro(likely: Floats, truth: Codes) -> float:
    """Return the area under the curve, with more than two classes the mean over those that there are."""
    classes = range(1, 2) if likely.shape[1] == 2 else np.unique(truth)
    return float(np.mean([auc(likely[:, code], truth == code) for code in classes]))


def membership_inference(
    members: Bools, scores: Floats, codes: Codes, share: float, seeds: Sequence[int]
) -> Inferred | None:
    """Return how well ``members`` are told from other samples; an area under the curve of one half: not at all.

    The attacker knows the labels of all samples. It also knows which of a share of the samples are members. It looks at
    the scores of all classes, at the score of the true class, and at the lead of the true class over the others. Models
    are surer of samples that they have seen.
    """
    target = Target("a training sample", members, np.ones(len(members), dtype=bool), None)
    seen = np.column_stack([scores, _of_the_truth(scores, codes)])
    found = attribute_inferences(target, of_labels(codes, scores.shape[1]), [seen], share, seeds)
    return found[0] if found else None


def _of_the_truth(scores: Floats, codes: Codes) -> Floats:
    """Return the score of the true class, and by how much it leads the best of the others."""
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    truth = scores[rows, codes]
    return np.column_stack([truth, truth - others.max(axis=1)])
