"""Bags: what the trees of a forest answer for the samples that they have not drawn."""

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
"""The largest share of samples in every bag with which a forest still answers by its bags. It abstains on them."""


def has_bags(estimator: Any) -> bool:
    """Whether an estimator is a forest whose trees draw samples, so that some trees have not seen a given sample."""
    return isinstance(estimator, FORESTS) and bool(estimator.bootstrap)


def out_of_bag(model: Model) -> Said | None:
    """Return the out-of-bag answers of a forest and remove them from it; None where too many samples are in every bag.

    They are removed because a kept model must not carry votes on the training samples. About a sample that is in every
    bag the forest has nothing honest to say. It then answers that all classes are equally likely (or, for labels, the
    class that it answers most often).
    """
    estimator, n_classes = model.estimator, model.n_classes
    votes: Floats = estimator.oob_decision_function_
    del estimator.oob_decision_function_, estimator.oob_score_
    known = votes.sum(axis=1) > 0.0  # false for NaN too
    if np.count_nonzero(~known) > MOST_UNKNOWN * len(votes):
        return None
    codes = model.columns()
    if n_classes is None:
        winners = votes.argmax(axis=1)
        winners[~known] = np.bincount(winners[known]).argmax()
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
