"""Membership inference: how well an attacker tells from released scores whether a sample was trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes
from assistlearn.disclosure.attribute_inference import Inferred, attribute_inference
from assistlearn.disclosure.said import of_labels
from assistlearn.disclosure.target import Target


def membership_inference(
    members: Bools, scores: Floats, codes: Codes, share: float, seeds: Sequence[int]
) -> Inferred | None:
    """Return how well members are told from other samples; an area under the curve of one half: not at all.

    The attacker knows the labels of all samples. It also knows which of a share of the samples are members. It looks at
    the scores of all classes, at the score of the true class, and at the lead of the true class over the others. Models
    are surer of samples that they have seen.

    Parameters
    ----------
    members : ndarray of bool of shape (n_samples,)
        Which samples the models were fitted to; the others are new to them.
    scores : ndarray of shape (n_samples, n_classes)
        As they were released for prediction.
    codes : ndarray of shape (n_samples,)
        The true labels.
    share : float
        For which share of the samples the attacker knows whether they are members.
    seeds : sequence of int
        One for each repeat.
    """
    target = Target("a training sample", members, np.ones(len(members), dtype=bool), None)
    return attribute_inference(
        target, of_labels(codes, scores.shape[1]), np.column_stack([scores, _of_the_truth(scores, codes)]), share, seeds
    )


def _of_the_truth(scores: Floats, codes: Codes) -> Floats:
    """Return the score of the true class, and by how much it leads the best of the others."""
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    truth = scores[rows, codes]
    return np.column_stack([truth, truth - others.max(axis=1)])
