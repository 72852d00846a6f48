"""Honest rewards: what a model answers for samples that it has not seen.

A learner that fits its training samples perfectly is always right about them, and its reward tells the others nothing.
Out-of-fold answers do: the samples are dealt to folds once, and in every turn each fold is answered by a copy of the
model that was fitted, under the same ignorance, to the other folds. A bagged forest has such answers for nothing, by
the trees that did not draw a sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from assistlearn.core.confidence import Said, score_of_truth
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.learners.trees import FORESTS
from assistlearn.learners.weighting import take_rows
from assistlearn.plan import Plan, RewardKind

UNINFORMATIVE = 0.95
"""In-sample answers that are right on this share of the ignorance tell too little: ``auto`` turns to honest ones."""

LEAST_TRUST = 0.25
"""So does an agent that keeps less than this share of its advantage on samples that its model has not seen."""


@dataclass(frozen=True)
class Honesty:
    """How an agent finds out where its model is right.

    Attributes
    ----------
    reward : {"in-sample", "out-of-fold", "auto"}
        On the samples that the model was fitted to; on folds that it was not fitted to; or the first until it has
        become uninformative, and the second from then on. In-sample answers are uninformative when they are right
        nearly everywhere (:data:`UNINFORMATIVE`), or when a model fitted to all folds but one keeps too little of its
        advantage on that one (:data:`LEAST_TRUST`). Until then, a model's weight is cut to the share that it keeps.
    cv : int
        The number of folds; an honest turn costs so many fits more, an in-sample one in "auto" one more.
    n_jobs : int or None, default=None
        How many folds are fitted side by side, in threads; None means one, -1 all processors.
    """

    reward: RewardKind = Plan.reward
    cv: int = Plan.cv
    n_jobs: int | None = None

    @property
    def may_be_honest(self) -> bool:
        """Whether honest answers can ever be asked for."""
        return self.reward != "in-sample"


def uninformative(said: Said, codes: Codes, ignorance: Floats) -> bool:
    """Whether answers are right nearly everywhere.

    >>> uninformative(np.array([0, 1, 1]), np.array([0, 1, 1]), np.full(3, 1 / 3))
    True
    """
    answers = said.argmax(axis=1) if said.ndim == 2 else said
    return float(ignorance[answers == codes].sum()) >= UNINFORMATIVE * float(ignorance.sum())


def deal(codes: Codes, n_folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each sample: of equal size, and every class spread evenly over them as far as it goes.

    >>> folds = deal(np.array([0, 0, 0, 0, 1, 1]), 2, seed=0)
    >>> [sorted(folds[:4].tolist()), sorted(folds[4:].tolist())]
    [[0, 0, 1, 1], [0, 1]]
    """
    shuffled = np.random.RandomState(seed).permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), dtype=np.intp)
    folds[by_class] = np.arange(len(codes)) % n_folds
    return folds


class Folds:
    """A learner's copies, each prepared on all folds but one.

    They are kept from turn to turn, with their tables (``cv - 1`` times the agent's own in all), so that a turn costs
    fits alone. The transformers of a pipeline are fitted inside each copy: they have not seen its fold either.

    Parameters
    ----------
    new_learner : callable
        Returns a fresh learner with ``prepare`` and ``fit``.
    table : table
        The training rows.
    codes : ndarray of shape (n_samples,)
        Their class codes.
    honesty : Honesty
        How many folds, and how many side by side.
    seed : int
        For the dealing, and for chance in the copies' preparation.
    """

    def __init__(self, new_learner: Callable[[], Any], table: Any, codes: Codes, honesty: Honesty, seed: int) -> None:
        self.fold_of = deal(codes, min(honesty.cv, len(codes)), seed)
        self._codes = codes
        self._n_jobs = honesty.n_jobs
        self._copies = [
            _Copy(new_learner, table, codes, np.flatnonzero(self.fold_of != fold), np.flatnonzero(self.fold_of == fold))
            for fold in range(int(self.fold_of.max()) + 1)
        ]
        self._seed = seed

    def trust(
        self, in_sample: Said, fold: int, ignorance: Floats, seed: int, when: str, n_classes: int | None
    ) -> float:
        """Return how much of its advantage over chance a model keeps on a fold that it has not seen, at most one.

        The advantage is the mean score of the truth under the ignorance. Any number stands for a fold.
        """
        copy = self._copies[fold % len(self._copies)]
        copy.prepare(self._seed)
        codes, count = self._codes[copy.aside], n_classes or max(len(np.unique(self._codes)), 2)

        def advantage(said: Said) -> float:
            return float((score_of_truth(said, codes, count) * ignorance[copy.aside]).sum())

        unseen, seen = advantage(copy.answers(ignorance, seed, when, n_classes)), advantage(in_sample[copy.aside])
        return 0.0 if unseen <= 0.0 else 1.0 if unseen >= seen else unseen / seen

    def answers(self, ignorance: Floats, seed: int, when: str, n_classes: int | None) -> Said:
        """Return what the copies answer for their own folds: class codes, or probabilities (n x K)."""
        for copy in self._copies:
            copy.prepare(self._seed)
        answered = Parallel(n_jobs=self._n_jobs, prefer="threads")(
            delayed(copy.answers)(ignorance, seed, when, n_classes) for copy in self._copies
        )
        if any(said.ndim == 1 for said in answered):  # without probabilities, a constant answer is a label too
            answered = [said.argmax(axis=1) if said.ndim == 2 else said for said in answered]
        out: Said = np.empty((len(self._codes), *answered[0].shape[1:]), dtype=answered[0].dtype)
        for copy, said in zip(self._copies, answered, strict=True):
            out[copy.aside] = said
        return out


class _Copy:
    """One learner that has not seen one fold."""

    def __init__(
        self, new_learner: Callable[[], Any], table: Any, codes: Codes, train: NDArray[np.intp], aside: NDArray[np.intp]
    ) -> None:
        self.aside = aside
        self._train = train
        self._codes = codes[train]
        self._rows: Any = take_rows(table, train)
        self._aside_rows = take_rows(table, aside)
        self._learner = new_learner()

    def prepare(self, seed: int) -> None:
        if self._rows is not None:
            self._learner.prepare(self._rows, self._codes, seed)
            self._rows = None

    def answers(self, ignorance: Floats, seed: int, when: str, n_classes: int | None) -> Said:
        own = ignorance[self._train]
        counting = np.unique(self._codes[own > 0.0])
        if len(counting) < 2:  # nothing to tell apart: no need to ask a learner, and some would refuse
            return self._constant(int(counting[0]) if len(counting) else int(self._codes[0]), n_classes)
        model = self._learner.fit_only(own / own.sum(), seed, when, n_classes)
        with self._learner.named(f"predict a fold in {when}"):
            said: Said = model.say(model.transform(self._aside_rows))
        return said

    def _constant(self, code: int, n_classes: int | None) -> Said:
        if n_classes is None:
            return np.full(len(self.aside), code, dtype=np.int64)
        out = np.zeros((len(self.aside), n_classes))
        out[:, code] = 1.0
        return out


def has_bags(estimator: Any) -> bool:
    """Whether an estimator is a forest that draws its samples, so that some trees have not seen each of them."""
    return isinstance(estimator, FORESTS) and bool(estimator.bootstrap)


def out_of_bag(estimator: Any, n_classes: int | None) -> Said | None:
    """Return the out-of-bag answers of a forest and remove them from it; None where a sample was in every bag.

    They are votes over the training samples, which a kept model must not carry along.
    """
    seen: Floats = estimator.oob_decision_function_
    del estimator.oob_decision_function_, estimator.oob_score_
    if not np.all(seen.sum(axis=1) > 0.0):  # false for NaN too
        return None
    codes = np.asarray(estimator.classes_)
    if n_classes is None:
        answers: Codes = codes[seen.argmax(axis=1)]
        return answers
    out = np.zeros((len(seen), n_classes))
    out[:, codes] = seen
    return out


def quietly_with_bags(fit: Callable[[], None], estimator: Any) -> None:
    """Fit a forest with its out-of-bag answers, without its warning that some samples have none (folds step in)."""
    asked = estimator.oob_score
    estimator.set_params(oob_score=asked or True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        fit()
    estimator.set_params(oob_score=asked)
