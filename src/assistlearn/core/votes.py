"""Votes: from the models' answers to one score for each class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from assistlearn.types import Codes, Floats, Said

# A model that answers class :math:`k` votes with the paper's label code, 1 at :math:`k` and :math:`-1/(K-1)`
# elsewhere, times its model weight. Votes of one sample sum to zero over the classes.


def add_vote(scores: Floats, codes: Codes, model_weight: float) -> None:
    """Add a model's weighted vote to ``scores`` (n x K), in place. Scores of two classes stay exact negatives."""
    n_classes = scores.shape[1]
    rows = np.arange(len(codes))
    voted = scores[rows, codes] + model_weight
    scores -= model_weight / (n_classes - 1)
    scores[rows, codes] = voted


def winners(scores: Floats) -> NDArray[np.intp]:
    """Return the class code with the highest score of each sample, the first among equals."""
    codes: NDArray[np.intp] = scores.argmax(axis=1)
    return codes


def probabilities(scores: Floats) -> Floats:
    r"""Return the class probabilities that the scores represent.

    The minimiser of the exponential loss has :math:`\log p_k = \frac{K-1}{K} f_k + c`. So a single model that is right
    with probability :math:`q` answers :math:`q`:

    >>> scores = np.zeros((1, 3))
    >>> add_vote(scores, np.array([1]), np.log(0.6 / 0.4) + np.log(2))
    >>> probabilities(scores).round(6)
    array([[0.2, 0.6, 0.2]])
    """
    n_classes = scores.shape[1]
    out: Floats = scores * ((n_classes - 1) / n_classes)
    out -= out.max(axis=1, keepdims=True)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out


def scores_of(probabilities: Floats) -> Floats:
    """Return the centred scores that represent these probabilities: the inverse of :func:`probabilities`."""
    n_classes = probabilities.shape[1]
    logs: Floats = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    if n_classes == 2:  # exact negatives, as every sum of them is
        of_second = logs[:, 1] - logs[:, 0]
        return np.column_stack([-of_second, of_second])
    logs -= logs.mean(axis=1, keepdims=True)
    logs *= n_classes / (n_classes - 1)
    return logs


def majority_votes(scores: Mapping[str, Floats], total_weights: Mapping[str, float]) -> dict[str, Floats]:
    """Return each agent's share of a majority vote: a full vote for its winner, plus a small part of its confidence.

    An agent does not vote if it has no model, nor on a sample on which its votes are all zero. The small parts are the
    agents' own votes, scaled so that together they are at most half a vote. They can break a tie, but never overturn a
    majority.
    """
    whole = sum(total_weights.values())
    out = {}
    for name, own in scores.items():
        out[name] = np.zeros_like(own)
        if total_weights[name] > 0.0:
            add_vote(out[name], winners(own), 1.0)
            out[name] += own / (2.0 * whole)
            out[name][~own.any(axis=1)] = 0.0  # it abstains
    return out


def vote_shares(scores: Floats, n_agents: int) -> Floats:
    """Return the share of a majority vote that each class has, from the sum of :func:`majority_votes`."""
    n_classes = scores.shape[1]
    whole = n_agents + 0.5
    out: Floats = ((n_classes - 1) * scores / whole + 1.0) / n_classes
    np.clip(out, 0.0, 1.0, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out


# With class probabilities :math:`p` a model votes :math:`h_k = \frac{K}{K-1}(\log p_k - \overline{\log p})`. Votes of
# one sample sum to zero, like those of the label code. A vote of weight one represents :math:`p` itself
# (:func:`assistlearn.core.votes.probabilities`).
#
# With two classes, the other agents are told one number per sample: the log-odds of the true class :math:`y`, compared
# with chance:
#
# .. math:: s = \log \frac{p_y}{1 - p_y} + \log(K - 1).
#
# A label is a special case. A model without probabilities votes with the label code and says :math:`s = h_y`: 1 where
# it is right and :math:`-1/(K-1)` where it is wrong.
#
# With more classes no single number says what the vote will be. The other agents are told all of :math:`h`, as
# heights: how far the log-probability of each class lies above that of the smallest probability, :data:`LEAST`.


LEAST = 0.01
"""The smallest probability that counts: a smaller one is raised to it, because no model can be quite sure."""


def clipped(probabilities: Floats) -> Floats:
    out: Floats = np.maximum(probabilities, LEAST)
    out /= out.sum(axis=1, keepdims=True)
    return out


def confidences(said: Said, n_classes: int) -> Floats:
    """Return a model's votes of weight one, ``n x K``: from its probabilities, or from its class codes."""
    if said.ndim == 2:
        return scores_of(clipped(said.astype(np.float64, copy=False)))
    out = np.zeros((len(said), n_classes))
    add_vote(out, cast(Codes, said), 1.0)
    return out


def heights(said: Said, n_classes: int) -> Floats:
    """Return how far the log-probability of each class lies above the smallest one allowed, ``n x K``.

    Centred and multiplied by ``K / (K - 1)``, they are the votes of weight one. For a label, the height of its class is
    one, and that of the others is zero.
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
    if said.ndim == 1:
        return np.where(said == codes, 1.0, -1.0 / (n_classes - 1))
    truth = clipped(said.astype(np.float64, copy=False))[np.arange(len(codes)), codes]
    out: Floats = np.log(truth) - np.log1p(-truth) + math.log(n_classes - 1)
    return out


def add_answers(scores: Floats, said: Said, model_weight: float) -> None:
    if said.ndim == 1:
        add_vote(scores, cast(Codes, said), model_weight)
    else:
        scores += model_weight * confidences(said, scores.shape[1])
