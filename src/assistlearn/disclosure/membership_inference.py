"""Membership inference: how well somebody tells from released scores whether a sample was among those trained on."""

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
    """Return how well members are told from others: area under the curve, one half where they cannot be.

    The attacker knows of a share of the samples whether they are members, and the labels of all. What it looks at is
    what the scores say of each class, of the true one, and by how much that one leads: models are surer of samples that
    they have seen.

    Parameters
    ----------
    members : ndarray of bool of shape (n_samples,)
        Which samples the models were fitted to; the others are new to them.
    scores : ndarray of shape (n_samples, n_classes)
        As they were released for prediction.
    codes : ndarray of shape (n_samples,)
        The true labels.
    share : float
        For which share of the samples it is known.
    seeds : sequence of int
        A repeat for each.
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
