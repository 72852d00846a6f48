r"""Confidence: what a model with class probabilities says, in the units of a vote.

With probabilities :math:`p` a model votes :math:`h_k = \frac{K}{K-1}(\log p_k - \overline{\log p})`. Votes of one
sample sum to zero, like those of the label code. A vote of weight one represents :math:`p` itself
(:func:`assistlearn.core.votes.probabilities`).

With two classes, the other agents are told one number per sample: the log-odds of the true class :math:`y`, compared
with chance:

.. math:: s = \log \frac{p_y}{1 - p_y} + \log(K - 1).

A label is a special case. A model without probabilities votes with the label code and says :math:`s = h_y`: 1 where it
is right and :math:`-1/(K-1)` where it is wrong.

With more classes no single number says what the vote will be. The other agents are told all of :math:`h`, as heights:
how far the log-probability of each class lies above that of the smallest probability, :data:`LEAST`.
"""

from __future__ import annotations

import math
from typing import TypeAlias, cast

import numpy as np

from assistlearn.core import votes
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes

Said: TypeAlias = Codes | Floats
"""What a model answers: class codes, or class probabilities of shape (n, K)."""

LEAST = 0.01
"""The smallest probability that counts: a smaller one is raised to it, because no model can be quite sure."""


def clipped(probabilities: Floats) -> Floats:
    """Raise probabilities below :data:`LEAST` to it, and return them scaled so that they sum to one again.

    >>> clipped(np.array([[1.0, 0.0, 0.0]])).round(4)
    array([[0.9804, 0.0098, 0.0098]])
    """
    out: Floats = np.maximum(probabilities, LEAST)
    out /= out.sum(axis=1, keepdims=True)
    return out


def confidences(said: Said, n_classes: int) -> Floats:
    """Return a model's votes of weight one, ``n x K``: from its probabilities, or from its class codes.

    >>> confidences(np.array([[0.8, 0.2]]), 2).round(3)
    array([[ 1.386, -1.386]])
    >>> confidences(np.array([1]), 3)
    array([[-0.5,  1. , -0.5]])
    """
    if said.ndim == 2:
        return votes.scores_of(clipped(said.astype(np.float64, copy=False)))
    out = np.zeros((len(said), n_classes))
    votes.add_vote(out, cast(Codes, said), 1.0)
    return out


def heights(said: Said, n_classes: int) -> Floats:
    """Return how far the log-probability of each class lies above the smallest one allowed, ``n x K``.

    Centred and multiplied by ``K / (K - 1)``, they are the votes of weight one. For a label, the height of its class is
    one, and that of the others is zero.

    >>> heights(np.array([[0.9, 0.1, 0.0]]), 3).round(3)
    array([[4.5  , 2.303, 0.   ]])
    >>> heights(np.array([1]), 3)
    array([[0., 1., 0.]])
    """
    if said.ndim == 2:
        out: Floats = np.maximum(said.astype(np.float64, copy=False), LEAST)
        np.log(out, out=out)
        out -= math.log(LEAST)
        return np.maximum(out, 0.0, out=out)
    out = np.zeros((len(said), n_classes))
    out[np.arange(len(said)), said] = 1.0
    return out


def score_of_truth(said: Said, codes: Codes, n_classes: int) -> Floats:
    """Return how sure a model is of the true class of each sample.

    >>> score_of_truth(np.array([[0.8, 0.2], [0.5, 0.5]]), np.array([0, 0]), 2).round(3)
    array([1.386, 0.   ])
    >>> score_of_truth(np.array([1, 2]), np.array([1, 1]), 3)
    array([ 1. , -0.5])
    """
    if said.ndim == 1:
        return np.where(said == codes, 1.0, -1.0 / (n_classes - 1))
    truth = clipped(said.astype(np.float64, copy=False))[np.arange(len(codes)), codes]
    out: Floats = np.log(truth) - np.log1p(-truth) + math.log(n_classes - 1)
    return out


def add_answers(scores: Floats, said: Said, model_weight: float) -> None:
    """Add a model's weighted vote to ``scores`` (n x K), in place: from its class codes, or from its probabilities.

    >>> scores = np.zeros((1, 2))
    >>> add_answers(scores, np.array([[0.8, 0.2]]), 0.5)
    >>> scores.round(3)
    array([[ 0.693, -0.693]])
    """
    if said.ndim == 1:
        votes.add_vote(scores, cast(Codes, said), model_weight)
    else:
        scores += model_weight * confidences(said, scores.shape[1])
