"""Honest answers: copies of a learner, each of which answers for samples that it has not seen.

A learner that fits its training samples perfectly is always right about them, and its reward tells the others nothing.
Out-of-fold answers do. The samples are divided into folds once. In every turn each fold is answered by a copy of the
model that was fitted, under the same ignorance, to the other folds.

A forest would have such answers at no cost: those of the trees that did not draw a sample. But they tell its label. A
sample is left out of its own answer and not out of that of its neighbours, so where many samples have the same values,
the forest is a little less sure of each sample's class than of the same class in the others. A combination that sees
the cell, by the initiator's columns or another agent's scores, learns that. With labels that had nothing to do with
columns of two values, the log loss of new samples was 4 to 24 % above the prior's (1,200 samples, four seeds); by folds
it is 1 % above. Within a fold, equal samples have equal answers. More folds are more like bags: with five, trees and
boosted trees lost up to 4 % more than the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from assistlearn.core import people
from assistlearn.core.votes import score_of_truth
from assistlearn.learners.boosting import PATIENCE, Boosting, Private
from assistlearn.learners.model import take_rows
from assistlearn.plan import Plan, RewardKind
from assistlearn.types import Codes, Floats, Said

UNINFORMATIVE = 0.95
"""In-sample answers that are right on this share of the ignorance tell too little: ``auto`` turns to honest ones."""

LEAST_TRUST = 0.25
"""``auto`` also turns to honest answers where a model keeps less than this share of its advantage on unseen samples."""

NOTHING: Mapping[int, Said] = MappingProxyType({})


@dataclass(frozen=True)
class Honesty:
    """How an agent finds out where its model is right.

    ``reward`` says which answers count: ``in-sample``, those for the samples that the model was fitted to;
    ``out-of-fold``, those for folds that it was not fitted to; ``auto``, the first until they have become
    uninformative, and the second from then on. In-sample answers are uninformative when they are right nearly
    everywhere (:data:`UNINFORMATIVE`), or when a model fitted to all folds but one keeps too little of its advantage on
    that one (:data:`LEAST_TRUST`). Until then, a model's weight is cut to the share that it keeps.

    An honest turn costs ``cv`` more fits, and an in-sample turn in ``auto`` one more. ``models`` is how many an agent
    may boost by itself in a turn, under a method that wants probabilities: with in-sample rewards it makes this many,
    otherwise the number that is best on a fold that they have not seen.
    """

    reward: RewardKind = "in-sample"
    cv: int = Plan.cv
    n_jobs: int | None = None
    models: int = 1

    @property
    def may_be_honest(self) -> bool:
        return self.reward != "in-sample"


def uninformative(said: Said, codes: Codes, ignorance: Floats) -> bool:
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


def deal(codes: Codes, n_folds: int, seed: int, groups: people.Groups | None = None) -> NDArray[np.intp]:
    return people.deal(codes, n_folds, np.random.RandomState(seed).permutation(len(codes)), groups)


class Folds:
    """Copies of a learner, each prepared on all folds but one.

    They are kept from turn to turn, so that a turn only costs the fits. Their tables together take ``cv - 1`` times as
    much room as the agent's own. The transformers of a pipeline are fitted inside each copy: they have not seen its
    fold either. ``fold_of`` is the fold of each sample, numbered from 0 on.
    """

    def __init__(
        self,
        new_learner: Callable[[], Any],
        table: Any,
        codes: Codes,
        honesty: Honesty,
        seed: int,
        fold_of: NDArray[np.intp],
    ) -> None:
        self._codes = codes
        self._n_jobs = honesty.n_jobs
        self._copies = [_Copy(new_learner, table, codes, fold_of == fold) for fold in range(int(fold_of.max()) + 1)]
        self._seed = seed

    def one(self, ignorance: Floats, seed: int, when: str, n_classes: int | None) -> tuple[int, Said]:
        """Return a fold, and what its copy answers for it.

        The turn's seed decides which: a count of the turns would be lost when the agent is started again.
        """
        fold = seed % len(self._copies)
        self._copies[fold].prepare(self._seed)
        return fold, self._copies[fold].answers(ignorance, seed, when, n_classes)

    def answers(
        self, ignorance: Floats, seed: int, when: str, n_classes: int | None, known: Mapping[int, Said] = NOTHING
    ) -> Said:
        """Return what each copy answers for its unseen fold; ``known`` has the answers that are there already."""
        return self._joined(lambda copy: copy.answers(ignorance, seed, when, n_classes), known)

    def boosted(self, turn: Private, most: int, kind: type[Boosting] = Boosting) -> tuple[int, Said]:
        """Return the best number of models, at most ``most``, and what this number of models answers in every fold.

        The copy of one fold (see :meth:`one`) makes models as long as they gain anything on that fold. The other copies
        then make the number that was best.
        """
        fold = turn.seed % len(self._copies)
        self._copies[fold].prepare(self._seed)
        best, said = self._copies[fold].best(turn, most, kind)
        return best, self._joined(lambda copy: copy.boosted(turn, best, kind), {fold: said})

    def _joined(self, ask: Callable[[_Copy], Said], known: Mapping[int, Said]) -> Said:
        asked = [fold for fold in range(len(self._copies)) if fold not in known]
        for fold in asked:
            self._copies[fold].prepare(self._seed)
        found = Parallel(n_jobs=self._n_jobs, prefer="threads")(delayed(ask)(self._copies[fold]) for fold in asked)
        every = dict(known) | dict(zip(asked, found, strict=True))
        answered = [every[fold] for fold in range(len(self._copies))]
        if any(said.ndim == 1 for said in answered):  # then constant answers must be labels, too
            answered = [said.argmax(axis=1) if said.ndim == 2 else said for said in answered]
        out: Said = np.empty((len(self._codes), *answered[0].shape[1:]), dtype=answered[0].dtype)
        for copy, said in zip(self._copies, answered, strict=True):
            out[copy.aside] = said
        return out

    def aside(self, fold: int) -> NDArray[np.intp]:
        return self._copies[fold].aside


class _Copy:
    """One learner that has not seen the samples of one fold."""

    def __init__(self, new_learner: Callable[[], Any], table: Any, codes: Codes, in_fold: NDArray[np.bool_]) -> None:
        self._train, self.aside = np.flatnonzero(~in_fold), np.flatnonzero(in_fold)
        self._codes, self._aside_codes = codes[self._train], codes[self.aside]
        self._rows: Any = take_rows(table, self._train)
        self._aside_rows = take_rows(table, self.aside)
        self._seen_by_front: Any = None  # the fold's rows, transformed once
        self._learner = new_learner()

    def prepare(self, seed: int) -> None:
        if self._rows is not None:
            self._learner.prepare(self._rows, self._codes, seed)
            self._rows = None

    def answers(self, ignorance: Floats, seed: int, when: str, n_classes: int | None) -> Said:
        own = ignorance[self._train]
        constant = self._constant(own, n_classes)
        if constant is not None:
            return constant
        model = self._learner.fit_only(own / own.sum(), seed, when, n_classes)
        return self._about_aside(model.say, when)

    def best(self, turn: Private, most: int, kind: type[Boosting]) -> tuple[int, Said]:
        """Return how many models gain most on the fold, and what they say about it."""
        n_classes, unseen = turn.state.n_classes, turn.state.part(self.aside)
        answers = self._constant(turn.state.ignorance()[self._train], n_classes)
        if answers is not None:
            return 1, answers
        best, most_gained = 0, -np.inf
        for number, made in enumerate(self._growing(turn, most, kind), 1):
            said = made.said()
            gain = unseen.judge(turn.method.reward(said, self._aside_codes, None, n_classes)).gain
            if gain > most_gained:
                best, most_gained, answers = number, gain, said
            if number - best >= PATIENCE + best // 2:
                break
        assert answers is not None
        return best, answers

    def boosted(self, turn: Private, n_models: int, kind: type[Boosting]) -> Said:
        constant = self._constant(turn.state.ignorance()[self._train], turn.state.n_classes)
        if constant is not None:
            return constant
        if n_models == 1 and kind.plain:
            return self.answers(turn.state.ignorance(), turn.seed, turn.when, turn.state.n_classes)
        *_, made = self._growing(turn, n_models, kind)
        return made.said()

    def _growing(self, turn: Private, most: int, kind: type[Boosting]) -> Iterator[Boosting]:
        made = kind(turn.state.n_classes)
        for step in islice(kind.each(self._learner, turn.state.part(self._train), self._codes, turn), most):
            made.add(step, self._about_aside(partial(kind.answers, step), turn.when))
            yield made

    def _about_aside(self, say: Callable[[Any], Said], when: str) -> Said:
        with self._learner.named(f"predict a fold in {when}"):
            if self._seen_by_front is None:
                self._seen_by_front = self._learner.transform(self._aside_rows)
                self._aside_rows = None
            return say(self._seen_by_front)

    def _constant(self, own: Floats, n_classes: int | None) -> Said | None:
        """Return a constant answer where only one class counts: some learners refuse to be fitted then."""
        counting = np.unique(self._codes[own > 0.0])
        if len(counting) > 1:
            return None
        code = int(counting[0]) if len(counting) else int(self._codes[0])
        if n_classes is None:
            return np.full(len(self.aside), code, dtype=np.int64)
        out = np.zeros((len(self.aside), n_classes))
        out[:, code] = 1.0
        return out
