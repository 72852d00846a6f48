"""Honest rewards: what a model answers for samples that it has not seen.

A learner that fits its training samples perfectly is always right about them, and its reward tells the others nothing.
Out-of-fold answers do. The samples are divided into folds once. In every turn each fold is answered by a copy of the
model that was fitted, under the same ignorance, to the other folds. A bagged forest has such answers at no cost: a
sample is answered by the trees that did not draw it.
"""

from __future__ import annotations

from dataclasses import dataclass

from assistlearn.core.confidence import Said, score_of_truth
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.plan import Plan, RewardKind

UNINFORMATIVE = 0.95
"""In-sample answers that are right on this share of the ignorance tell too little: ``auto`` turns to honest ones."""

LEAST_TRUST = 0.25
"""``auto`` also turns to honest answers where a model keeps less than this share of its advantage on unseen samples."""


@dataclass(frozen=True)
class Honesty:
    """How an agent finds out where its model is right.

    Attributes
    ----------
    reward : {"in-sample", "out-of-fold", "auto"}
        Which answers count. "in-sample": those for the samples that the model was fitted to. "out-of-fold": those for
        folds that it was not fitted to. "auto": the first until they have become uninformative, and the second from
        then on. In-sample answers are uninformative when they are right nearly everywhere (:data:`UNINFORMATIVE`), or
        when a model fitted to all folds but one keeps too little of its advantage on that one (:data:`LEAST_TRUST`).
        Until then, a model's weight is cut to the share that it keeps.
    cv : int
        The number of folds. An honest turn costs this many more fits, and an in-sample turn in "auto" one more.
    n_jobs : int or None, default=None
        How many folds are fitted side by side, in threads; None means one, -1 all processors.
    models : int, default=1
        How many models an agent may boost by itself in a turn, before it answers, under a method that wants
        probabilities. With in-sample rewards it makes this many. Otherwise it makes the number that is best on a fold
        that they have not seen.
    """

    reward: RewardKind = "in-sample"
    cv: int = Plan.cv
    n_jobs: int | None = None
    models: int = 1

    @property
    def may_be_honest(self) -> bool:
        """Whether honest answers can ever be asked for."""
        return self.reward != "in-sample"


def uninformative(said: Said, codes: Codes, ignorance: Floats) -> bool:
    """Whether answers are right on at least :data:`UNINFORMATIVE` of the ignorance.

    >>> import numpy as np
    >>> uninformative(np.array([0, 1, 1]), np.array([0, 1, 1]), np.full(3, 1 / 3))
    True
    """
    answers = said.argmax(axis=1) if said.ndim == 2 else said
    return float(ignorance[answers == codes].sum()) >= UNINFORMATIVE * float(ignorance.sum())


def kept_share(unseen: Said, seen: Said, codes: Codes, ignorance: Floats, n_classes: int) -> float:
    """Return how much of its advantage over chance a model keeps on samples that it has not seen, at most one.

    The advantage is the mean score of the truth under the ignorance.
    """

    def advantage(said: Said) -> float:
        return float((score_of_truth(said, codes, n_classes) * ignorance).sum())

    honest, flattering = advantage(unseen), advantage(seen)
    return 0.0 if honest <= 0.0 else 1.0 if honest >= flattering else honest / flattering
