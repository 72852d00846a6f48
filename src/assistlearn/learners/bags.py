"""Bags: what the trees of a forest answer for the samples that they have not drawn.

How many trees have not drawn a sample must say nothing about its label: the combination would learn it from how fine
the forest's answers are. A forest draws heavy samples into nearly every bag, and under an ignorance the heavy ones are
those that were classified wrongly. So its bags answer only where all samples are drawn alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from assistlearn.core.confidence import Said
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.learners.model import Model
from assistlearn.learners.trees import FORESTS

MOST_UNKNOWN = 0.05
"""The largest share of samples expected in every bag with which a forest still answers by its bags."""

ALIKE = 1e-9
"""Weights that differ by less than this, relative to the largest, are equal but for rounding."""


def has_bags(estimator: Any) -> bool:
    """Whether an estimator is a forest whose trees draw samples, so that some trees have not seen a given sample."""
    return isinstance(estimator, FORESTS) and bool(estimator.bootstrap)


def bags_may_answer(estimator: Any, weights: Floats) -> bool:
    """Whether a forest fitted under these weights draws all samples alike, and draws few of them into every bag.

    Weights of classes change the draws, too, unless they are computed for each bag.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> bags_may_answer(RandomForestClassifier(20), np.full(4, 0.25))
    True
    >>> bags_may_answer(RandomForestClassifier(20), np.array([0.1, 0.3, 0.3, 0.3]))
    False
    >>> bags_may_answer(RandomForestClassifier(2), np.full(4, 0.25))
    False
    """
    if not has_bags(estimator) or not isinstance(estimator.class_weight, str | None):
        return False
    if estimator.class_weight not in (None, "balanced_subsample"):
        return False
    n, most = len(weights), float(weights.max())
    if most - float(weights.min()) > ALIKE * most:
        return False
    drawn = n if estimator.max_samples is None else estimator.max_samples
    drawn = drawn * n if isinstance(drawn, float) else drawn
    in_a_bag = 1.0 - (1.0 - 1.0 / n) ** drawn
    return bool(in_a_bag**estimator.n_estimators <= MOST_UNKNOWN)


def out_of_bag(model: Model) -> Said:
    """Return the out-of-bag answers of a forest and remove them from it.

    They are removed because a kept model must not carry votes on the training samples. About a sample that is in every
    bag the forest has nothing honest to say. It then answers that all classes are equally likely (or, for labels, the
    class that it answers most often).
    """
    estimator, n_classes = model.estimator, model.n_classes
    votes: Floats = estimator.oob_decision_function_
    del estimator.oob_decision_function_, estimator.oob_score_
    known = votes.sum(axis=1) > 0.0  # false for NaN too
    codes = model.columns()
    if n_classes is None:
        winners = votes.argmax(axis=1)
        winners[~known] = np.bincount(winners[known], minlength=1).argmax()
        answers: Codes = codes[winners]
        return answers
    out = np.zeros((len(votes), n_classes))
    out[:, codes] = votes
    out[~known] = 1.0 / n_classes
    return out


def quietly_with_bags(fit: Callable[[], None], estimator: Any) -> None:
    """Fit a forest with its out-of-bag answers, without its warning that some samples have none."""
    asked = estimator.oob_score
    estimator.set_params(oob_score=asked or True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        fit()
    estimator.set_params(oob_score=asked)
