"""The task that a run sets: which samples, which classes, how to train; and proof that its labels mean something."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.agent.agent import Answer, TrainingSamples
from assistlearn.alignment.ids import Rows
from assistlearn.core import Reward, RunState, ScoreVectors, SoftReward, Verdict, votes
from assistlearn.core.ignorance import effective_size
from assistlearn.core.people import Groups, at
from assistlearn.errors import OutOfOrderError, ProtocolError, RefusedError, SettingsError, SitsOutError
from assistlearn.learners import Honesty
from assistlearn.learners.folds import deal
from assistlearn.learners.model import take_rows
from assistlearn.methods.method import Method
from assistlearn.plan import TOLD, Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import MAX_CLASSES, unpack_bits, unpack_codes, unpack_numbers
from assistlearn.types import Bools, Codes, Floats

# Proof that labels have to do with an agent's columns. An owner can ask that the agent says nothing without it.


DOUBT = 5.0
"""By how many standard errors a model must be better than chance."""

MOST_MODELS = 3
"""The most models of one run that are told. Chance moves each towards columns that do not matter; many show this."""


def proved(
    reward: Reward, codes: Codes, ignorance: Floats, n_classes: int, held: Bools | None = None, doubt: float = DOUBT
) -> bool:
    r"""Whether a model is better than chance beyond doubt, on samples that it was not fitted to.

    The test uses how likely the model finds the true class (or whether it is right). It computes the mean under the
    ignorance for each class by itself, then the mean over the classes. A model whose answers have nothing to do with
    the labels has :math:`1/K` there, however uneven the labels or the weights are. So has a model that always answers
    the same.

    The variance within a class is moved towards the mean square deviation from chance, as if there were ``doubt``
    squared more samples with that deviation. So a class in which few people count proves nothing.

    >>> codes, even = np.arange(100) % 2, np.full(100, 0.01)
    >>> right = np.arange(100) < 85
    >>> proved(right, codes, even, 2), proved(codes == 1, codes, even, 2)
    (True, False)
    """
    truth = _likelihood(reward, n_classes)
    if held is not None:
        truth, codes, ignorance = truth[held], codes[held], ignorance[held]
    chance = 1.0 / n_classes
    weight = float(ignorance.sum())
    if weight <= 0.0:
        return False
    spread = float(ignorance @ (truth - chance) ** 2) / weight
    means, variances = [], []
    for code in np.unique(codes[ignorance > 0.0]):
        own, weights = truth[codes == code], ignorance[codes == code] / ignorance[codes == code].sum()
        mean, size = float(weights @ own), 1.0 / float(weights @ weights)
        within = size * float(weights @ (own - mean) ** 2) + doubt**2 * spread
        means.append(mean)
        variances.append(within / (size + doubt**2) / size)
    advantage = sum(means) / n_classes - chance  # a class that nobody has counts as always missed
    return advantage > doubt * math.sqrt(sum(variances)) / n_classes


def _likelihood(reward: Reward, n_classes: int) -> Floats:
    if not isinstance(reward, SoftReward):
        return reward.astype(np.float64)
    if isinstance(reward, ScoreVectors):
        return votes.probabilities(reward.values())[:, 0]
    out: Floats = 1.0 / (1.0 + (n_classes - 1) * np.exp(-reward.values()))
    return out


MOST_SCORES = 2**28
"""The most samples times classes of a soft run: two gibibytes of scores. An initiator could ask for any number."""

LONGEST_WORDS = 500
"""How many characters of the error about a wrong task the answer quotes."""


@dataclass(frozen=True)
class Task:
    """The task that a ``Begin`` sets, as one agent has it.

    ``aside`` says which of all samples are held out; ``training_codes``, ``weights`` and ``folds`` are of the others.
    ``folds`` keep samples of one person together; where they are None, agents deal their own. ``rows`` are the agent's
    rows of all samples, or -1; None once training is over. ``apart``: the first round is taken as if nobody had spoken
    before. Below ``min_effective``, the effective sample size among the people that the agent holds, it sits a turn
    out.
    """

    method_name: str
    method: Method
    honesty: Honesty
    n_classes: int
    training_codes: Codes
    aside: Bools
    weights: Floats | None
    folds: NDArray[np.int64] | None
    seed: int
    rows: Rows | None
    apart: bool
    min_effective: float

    @classmethod
    def of(cls, begin: m.Begin, rows: Rows | None, min_effective: float) -> Task:
        n = begin.n_samples
        if rows is not None and len(rows) != n:
            raise ProtocolError(f"The task has {n:,} samples; {len(rows):,} are aligned.")
        if not 2 <= begin.n_classes < MAX_CLASSES:
            raise ProtocolError(
                f"The number of classes is {begin.n_classes:,}; it must be between 2 and {MAX_CLASSES - 1:,}."
            )
        plan = _plan(begin)
        _check_room(plan, begin)
        if begin.first_round == "apart" and not plan.make_method().wants_probabilities:
            raise ProtocolError(
                f"With method {begin.method!r}, agents must hear of each other in the first round; the task says that "
                "they do not."
            )
        aside = np.zeros(n, bool) if begin.holdout is None else unpack_bits(begin.holdout, n)
        if aside.all():
            raise ProtocolError("All samples are held out: there is nothing to train on.")
        n_training = n - int(np.count_nonzero(aside))
        return cls(
            method_name=begin.method,
            method=plan.make_method(),
            honesty=Honesty(plan.reward, plan.cv, models=plan.models_per_turn),
            n_classes=begin.n_classes,
            training_codes=unpack_codes(begin.labels, n_training, begin.n_classes),
            aside=aside,
            weights=_weights(begin, n_training),
            folds=None if begin.folds is None else unpack_codes(begin.folds, n_training, plan.cv),
            seed=begin.seed,
            rows=rows,
            apart=begin.first_round == "apart",
            min_effective=min_effective,
        )

    @property
    def n_training(self) -> int:
        return len(self.training_codes)

    def start(self) -> RunState:
        return self.method.start(self.n_training, self.n_classes, self.weights)

    def check_spread(self, state: RunState) -> None:
        assert self.rows is not None
        held = self.rows[~self.aside] >= 0
        size = effective_size(state.ignorance()[held])
        if size < self.min_effective:
            raise SitsOutError(
                f"all weight lies on {size:.1f} of {int(np.count_nonzero(held))} people; its owner asks for at least "
                f"{self.min_effective:g} (allow.min_effective)."
            )

    def check_provable(self) -> None:
        """Raise where rewards come from samples that a model was fitted to: they prove nothing."""
        if self.honesty.reward != "out-of-fold":
            raise RefusedError(
                "its owner asks for proof that the labels have to do with its columns (allow.proof), and "
                f'reward = "{self.honesty.reward}" gives none. Start a run with reward = "out-of-fold".'
            )

    def proves(self, answer: Answer, state: RunState) -> bool:
        assert self.rows is not None
        held = self.rows[~self.aside] >= 0
        return not answer.verdict.useless and proved(
            answer.reward, self.training_codes, state.ignorance(), self.n_classes, held
        )

    def silence(self) -> Answer:
        """Return an answer that tells neither where the model is right nor how often."""
        return Answer(self.method.silence(self.n_training, self.n_classes), Verdict(0.0, 0.0, False))

    def samples(self, features: Any, groups: Groups | None = None) -> TrainingSamples:
        """Return the task's samples; ``groups`` says which of the agent's rows are about the same person."""
        assert self.rows is not None
        training, held_out = self.rows[~self.aside], self.rows[self.aside]
        held, holdout_held = training >= 0, held_out >= 0
        return TrainingSamples(
            table=take_rows(features, training[held]),
            codes=self.training_codes,
            held=None if held.all() else held,
            holdout=take_rows(features, held_out[holdout_held]) if self.aside.any() else None,
            holdout_held=None if holdout_held.all() else holdout_held,
            folds=self._own_folds(training, groups) if self.folds is None else self.folds,
        )

    def _own_folds(self, training: Rows, groups: Groups | None) -> NDArray[np.intp] | None:
        held = training >= 0
        own = at(groups, training[held])
        if own is None:
            return None
        folds = np.zeros(len(training), dtype=np.intp)
        folds[held] = deal(self.training_codes[held], self.honesty.cv, self.seed, own)
        return folds


def aligned_rows(rows: Rows | None, run: str) -> Rows:
    if rows is None:
        raise OutOfOrderError(f"Run {run!r}: the samples are not aligned yet.")
    return rows


def _plan(begin: m.Begin) -> Plan:
    try:
        said = {name: getattr(begin, name) for name in TOLD}
        plan = Plan(**{name: value for name, value in said.items() if value is not None})
        plan.check_for_runs()
    except SettingsError as error:
        raise ProtocolError(f"The task is not valid: {str(error)[:LONGEST_WORDS]}") from None
    return plan


def _check_room(plan: Plan, begin: m.Begin) -> None:
    """Refuse a task that needs too much memory: a soft state has a score for each sample and class."""
    if plan.make_method().wants_probabilities and begin.n_samples * begin.n_classes > MOST_SCORES:
        raise ProtocolError(
            f"{begin.n_samples:,} samples of {begin.n_classes:,} classes need {begin.n_samples * begin.n_classes:,} "
            f"scores; at most {MOST_SCORES:,} are kept here. Use fewer samples, or fewer classes."
        )


def _weights(begin: m.Begin, n_training: int) -> Floats | None:
    if begin.weights is None:
        return None
    weights: Floats = unpack_numbers(begin.weights, n_training)
    if (weights < 0.0).any() or not (weights > 0.0).any():
        raise ProtocolError("Initial weights must not be negative, and not all of them may be zero.")
    return weights
