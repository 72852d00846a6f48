"""The state of a run: everybody computes it from the rewards and the model weights alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from assistlearn.core import ignorance as ig
from assistlearn.core.ignorance import (
    LOSSES,
    add_where_wrong,
    best_weight,
    blocks,
    ignorance_of,
    initial_weights,
    sum_where,
)
from assistlearn.types import Bools, Codes, Floats

# Round scores to a few bits. Every agent computes with the rounded scores, even the agent that made them.

Levels: TypeAlias = NDArray[np.signedinteger[Any]]

DTYPES: dict[int, type[np.signedinteger[Any]]] = {
    **dict.fromkeys((2, 3, 4, 8), np.int8),
    16: np.int16,
    32: np.int32,
}
"""The type of the levels for each number of bits. With fewer than eight bits, only some of a byte's values occur."""

FINEST_BITS = 32
"""The number of bits of scores that never leave an agent."""


LOUDEST = 0.01
"""The share of the scores that :func:`quantise_all_spoken` cuts, because they are the largest."""

ROUNDING = 1e-9
"""A score that exceeds a level by at most this part of a level is still rounded down to it."""


@dataclass(frozen=True, eq=False)
class SoftReward:
    """How sure a model is of the true class of each sample, in whole levels.

    A level is positive where the model finds the class more likely than chance, and zero where its agent abstains.
    A model's answers about hold-out samples have the same form, with ``n x K`` levels.

    >>> reward = quantise(np.array([2.0, -0.5, 0.0]), bits=8)
    >>> reward.levels
    array([127, -32,   0], dtype=int8)
    >>> reward.values().round(2)
    array([ 2. , -0.5,  0. ])
    """

    levels: Levels
    scale: float
    bits: int

    def values(self) -> Floats:
        return self.levels * np.float64(self.scale)

    def loudest(self) -> float:
        return float(np.abs(self.levels.astype(np.int64)).max(initial=0)) * self.scale

    def __len__(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, eq=False)
class ScoreVectors(SoftReward):
    """How likely a model finds every class of each sample, in whole levels, ``n x K``: the soft reward where K > 2.

    Levels count from the smallest probability, :data:`assistlearn.core.votes.LEAST`: this one and all smaller ones
    have the lowest level. So the many classes that a model has ruled out cost almost no bits in an entropy code. A row
    of equal levels says nothing. Where the agent abstains, all levels are zero.
    """

    def values(self) -> Floats:
        """Return the votes that the levels represent. Those of a sample sum to zero."""
        n_classes = self.levels.shape[1]
        out: Floats = self.levels.astype(np.float64)
        out -= out.mean(axis=1, keepdims=True)
        out *= np.float64(self.scale) * (n_classes / (n_classes - 1))
        return out

    def loudest(self) -> float:
        return float(np.abs(self.values()).max(initial=0.0))


Reward: TypeAlias = Bools | SoftReward
"""What travels after a turn: where a model is right (hard), or how sure it is of the truth or of every class (soft)."""


def right(reward: Reward) -> Bools:
    """Return where a model is right; for a soft reward of two classes, where it finds the truth likelier than chance.

    The first column of score vectors is that of the true class (:func:`assistlearn.core.state.truth_first`).
    """
    if not isinstance(reward, SoftReward):
        return reward
    if isinstance(reward, ScoreVectors):
        first: Bools = reward.levels[:, 0] > reward.levels[:, 1:].max(axis=1)
        return first
    out: Bools = reward.levels > 0
    return out


def largest_level(bits: int) -> int:
    return (1 << (bits - 1)) - 1


def quantise(values: Floats, bits: int) -> SoftReward:
    """Return the scores in whole levels. The score with the largest absolute value gets the largest level.

    No score changes by more than half a level, and a score of zero stays zero.
    """
    top = float(np.abs(values).max(initial=0.0))
    scale = top / largest_level(bits) if top > 0.0 else 1.0
    return SoftReward(np.rint(values / scale).astype(DTYPES[bits]), scale, bits)


def quantise_all_spoken(values: Floats, bits: int, held: Bools | None = None) -> SoftReward:
    """Return scores in whole levels, none of them zero: zero means that the agent does not hold the sample.

    Levels are rounded away from zero, which gives them equal widths. With few bits :func:`quantise` would round
    many scores to zero, and a combination would read that as silence. The largest one per cent of the scores are cut
    to the next largest. Otherwise a few outliers would make the levels too coarse for all other scores. ``values`` are
    those of the samples that the agent holds.
    """
    loudness, most = np.abs(values), largest_level(bits)
    top = float(np.quantile(loudness, 1.0 - LOUDEST)) if len(values) else 0.0
    top = top or float(loudness.max(initial=0.0))
    scale = top / most if top > 0.0 else 1.0
    steps = np.clip(np.ceil(loudness / scale - ROUNDING), 1.0, most)
    spoken = np.where(values < 0.0, -steps, steps).astype(DTYPES[bits])
    return SoftReward(_of_all(spoken, held), scale, bits)


def quantise_vectors(heights: Floats, bits: int, held: Bools | None = None) -> ScoreVectors:
    """Return the heights of the classes in whole levels; zero for samples that the agent does not hold."""
    most = largest_level(bits)
    top = float(heights.max(initial=0.0))
    scale = top / (2 * most) if top > 0.0 else 1.0
    own = (np.rint(heights / scale) - most).astype(DTYPES[bits])
    return ScoreVectors(_of_all(own, held), scale, bits)


def quantise_votes(votes: Floats, loudest: float, bits: int) -> SoftReward:
    """Return an agent's votes (n x K) in whole levels. The scale does not depend on the votes.

    So the levels of a sample do not depend on which other samples are asked about. With two classes one number says
    both votes of a sample, because they sum to zero. It keeps its sign, however small it is. ``loudest`` is the largest
    vote that all models of the agent together can give to a class.

    >>> said = quantise_votes(np.array([[1.5, -1.5], [-0.02, 0.02]]), loudest=3.0, bits=8)
    >>> said.levels, votes_of(said).round(3).tolist()
    (array([-64,   1], dtype=int8), [[1.512, -1.512], [-0.024, 0.024]])
    """
    most, n_classes = largest_level(bits), votes.shape[1]
    if n_classes == 2:
        scale = loudest / most if loudest > 0.0 else 1.0
        levels = _whole(votes[:, 1] / scale, -most, most, bits)
        levels[(levels == 0) & (votes[:, 1] > 0.0)] = 1  # zero would mean that the agent abstains
        levels[(levels == 0) & (votes[:, 1] < 0.0)] = -1
        return SoftReward(levels, scale, bits)
    scale = loudest / (2 * most) if loudest > 0.0 else 1.0
    heights = (votes - votes.min(axis=1, keepdims=True)) * ((n_classes - 1) / n_classes)
    return ScoreVectors(_whole(heights / scale - most, -most, most, bits), scale, bits)


def votes_of(said: SoftReward) -> Floats:
    """Return the votes (n x K) that the levels of :func:`quantise_votes` represent."""
    if isinstance(said, ScoreVectors):
        return said.values()
    of_second = said.values()
    return np.column_stack([-of_second, of_second])


def _of_all(levels: Levels, held: Bools | None) -> Levels:
    if held is None:
        return levels
    out = np.zeros((len(held), *levels.shape[1:]), dtype=levels.dtype)
    out[held] = levels
    return out


def _whole(values: Floats, least: int, most: int, bits: int) -> Levels:
    out: Levels = np.clip(np.rint(values), least, most).astype(DTYPES[bits])
    return out


@dataclass(frozen=True)
class Contribution:
    """What every agent may know about one kept model, never the model itself.

    Turns, which an agent may sit out, and rounds are counted from 1. The ``model_weight`` of its votes is positive and
    finite. ``mean_reward`` is the share of the ignorance on which the model is right, and ``accuracy`` that of the
    samples. It is ``perfect`` if it is right about every sample that needs help; its weight is then limited.
    """

    turn: int
    round: int
    agent: str
    model_weight: float
    mean_reward: float
    accuracy: float
    perfect: bool


@dataclass(frozen=True)
class Verdict:
    """What an agent's model is worth in the present state.

    The ``mean_reward`` is the share of the ignorance on which it is right. It is ``perfect`` if it is right on every
    sample with any ignorance; its weight is then limited. Its ``gain``, which the greedy order compares, is how much it
    would lower the logarithm of the exponential loss (hard), or the mean loss of a sample (soft).
    """

    model_weight: float
    mean_reward: float
    perfect: bool
    gain: float = 0.0

    @property
    def useless(self) -> bool:
        """Whether the model is no better than chance: its weight is not positive, up to rounding."""
        return self.model_weight <= ig.NEGLIGIBLE

    def trusted(self, share: float) -> Verdict:
        return self if share == 1.0 else replace(self, model_weight=share * self.model_weight, gain=share * self.gain)


class RunState(Protocol):
    """The state of a run: :class:`State` in a hard method, :class:`SoftState` in a soft one.

    It depends only on the initial weights, and on the rewards and model weights applied so far: two agents that apply
    the same ones have the same state, bit for bit.
    """

    n_classes: int

    def begin_round(self, number: int = 1) -> None: ...

    def ignorance(self) -> Floats:
        """Return the ignorance of the samples, which sums to one (a new array)."""
        ...

    def judge(
        self, reward: Any, ignorance: Floats | None = None, held: Bools | None = None, overwrite: bool = False
    ) -> Verdict:
        """Return what a model with this reward is worth, without changing the state.

        Where the agent abstains, a reward is true (hard) or zero (soft). An agent that does not hold all samples is
        judged on those that are ``held``. The present ``ignorance`` is computed unless it is given; its memory may be
        overwritten if the caller does not need it any more.
        """
        ...

    def apply(self, reward: Any, model_weight: float) -> None: ...

    def beginning(self) -> RunState:
        """Return a copy of this state as it was before the first turn."""
        ...

    def part(self, rows: NDArray[Any]) -> RunState:
        """Return a copy of the state for these samples alone (positions, or a mask)."""
        ...

    def vectors(self) -> list[Floats | None]:
        """Return the arrays that change in a run. :meth:`restore` makes the same state from them, bit for bit."""
        ...

    def restore(self, vectors: list[Floats | None]) -> None:
        """Replace the arrays of this state by the :meth:`vectors` of another replica."""
        ...


@dataclass
class State:
    """In the hard methods: the ignorance and, for ASCII, the errors that agents have already made in this round.

    With ``interchange`` a model's weight depends on errors made ``earlier`` in the round (ASCII); otherwise it does not
    (ASCII-Simple, AdaBoost). The ignorance is kept as its logarithm, up to a constant, and so are the initial weights:
    ``log_start``, None if all are equal.

    >>> state = State.start(4, n_classes=2)
    >>> reward = np.array([True, True, True, False])
    >>> verdict = state.judge(reward)
    >>> round(verdict.model_weight, 3), verdict.mean_reward
    (1.099, 0.75)
    >>> state.apply(reward, verdict.model_weight)
    >>> state.ignorance().round(3)
    array([0.167, 0.167, 0.167, 0.5  ])
    """

    log_ignorance: Floats
    n_classes: int
    interchange: bool = True
    log_start: Floats | None = None
    earlier: Floats | None = field(default=None, init=False)

    @classmethod
    def start(
        cls, n_samples: int, n_classes: int, sample_weight: Floats | None = None, interchange: bool = True
    ) -> State:
        log_start = None if sample_weight is None else ig.log_start_of(n_samples, sample_weight)
        return cls(ig.log_start_of(n_samples, sample_weight), n_classes, interchange, log_start)

    def beginning(self) -> State:
        logs = ig.log_start_of(len(self.log_ignorance)) if self.log_start is None else self.log_start.copy()
        return State(logs, self.n_classes, self.interchange, self.log_start)

    def part(self, rows: NDArray[Any]) -> State:
        log_start = None if self.log_start is None else self.log_start[rows].copy()
        out = State(self.log_ignorance[rows].copy(), self.n_classes, self.interchange, log_start)
        out.earlier = None if self.earlier is None else self.earlier[rows].copy()
        return out

    def begin_round(self, number: int = 1) -> None:
        """Forget the errors of the last round: ``u`` is zero for the first agent of a round."""
        self.earlier = None

    def ignorance(self) -> Floats:
        return ignorance_of(self.log_ignorance)

    def judge(
        self, reward: Bools, ignorance: Floats | None = None, held: Bools | None = None, overwrite: bool = False
    ) -> Verdict:
        present = self.ignorance() if ignorance is None else ignorance
        right = reward if held is None else reward & held
        sums = sum_where(present, right), sum_where(present, reward, wanted=False)
        odds = self._log_odds(right, reward, sums, out=present if overwrite or ignorance is None else None)
        perfect = odds == math.inf
        if perfect:
            n_counting = int(np.count_nonzero(self.log_ignorance[right] > -math.inf))
            value = ig.perfect_model_weight(n_counting, self.n_classes)
        else:
            value = ig.model_weight(odds, self.n_classes)
        share = sums[0] / (sums[0] + sums[1]) if sums[0] > 0.0 else 0.0
        return Verdict(value, share, perfect, _gain(*sums, value, self.n_classes))

    def vectors(self) -> list[Floats | None]:
        return [self.log_ignorance, self.earlier]

    def restore(self, vectors: list[Floats | None]) -> None:
        log_ignorance, self.earlier = vectors
        assert log_ignorance is not None
        self.log_ignorance = log_ignorance

    def apply(self, reward: Bools, model_weight: float) -> None:
        """Take a kept model into account: its errors raise the ignorance, equations (10) and (12)."""
        add_where_wrong(self.log_ignorance, reward, model_weight)
        if self.interchange:
            if self.earlier is None:
                self.earlier = np.zeros_like(self.log_ignorance)
            add_where_wrong(self.earlier, reward, model_weight)

    def _log_odds(self, right: Bools, reward: Bools, sums: tuple[float, float], out: Floats | None) -> float:
        if self.earlier is not None:  # equation (13)
            importance = ig.log_importance(self.log_ignorance, self.earlier, self.n_classes, out=out)
            ignorance_of(importance, out=importance)
            sums = sum_where(importance, right), sum_where(importance, reward, wanted=False)
        odds = ig.log_odds(*sums)
        if not math.isfinite(odds):  # perfect, never right, or underflowed: use logarithms
            logs = self.log_ignorance
            if self.earlier is not None:
                logs = ig.log_importance(logs, self.earlier, self.n_classes)
            odds = ig.log_odds_of_logs(logs, right, ~reward)
        return -math.inf if math.isnan(odds) else odds  # nothing right and nothing wrong: no evidence


def _gain(right: float, wrong: float, model_weight: float, n_classes: int) -> float:
    """Return by how much a model lowers the logarithm of the exponential loss. Where it abstains, the loss stays."""
    if model_weight <= 0.0:
        return 0.0
    abstained = max(1.0 - right - wrong, 0.0)
    after = abstained + right * math.exp(-model_weight * (n_classes - 1) / n_classes)
    if wrong > 0.0:
        after += wrong * math.exp(min(model_weight / n_classes, 700.0))
    return -math.log(after) if after > 0.0 else math.inf


@dataclass
class SoftState:
    """In the soft methods: the sum of the models' votes on each sample, from which its ignorance follows.

    With two classes a sample has one vote, that for the true class. With more it has one for every class, the true
    class first. So the state needs no labels. ``log_start`` are the logarithms of the initial weights; None if all are
    equal. A model gets a share of its best weight: ``shrinkage`` in the first round, ``later_shrinkage`` in later ones
    (None: the same). It is at most one, so that no turn raises the loss.

    >>> from assistlearn.core.state import quantise
    >>> state = SoftState.start(4, n_classes=2, loss="exponential", shrinkage=1.0)
    >>> reward = quantise(np.array([1.0, 1.0, 1.0, -1.0]), bits=8)
    >>> verdict = state.judge(reward)
    >>> round(verdict.model_weight, 3), verdict.mean_reward
    (1.099, 0.75)
    """

    votes: Floats
    n_classes: int
    log_start: Floats | None
    loss: str
    shrinkage: float
    later_shrinkage: float | None = None
    round: int = 1

    @classmethod
    def start(
        cls,
        n_samples: int,
        n_classes: int,
        sample_weight: Floats | None = None,
        *,
        loss: str,
        shrinkage: float,
        later_shrinkage: float | None = None,
    ) -> SoftState:
        log_start = None if sample_weight is None else ig.log_start_of(n_samples, sample_weight)
        votes = np.zeros(n_samples if n_classes == 2 else (n_samples, n_classes))
        return cls(votes, n_classes, log_start, loss, shrinkage, later_shrinkage)

    def beginning(self) -> SoftState:
        return replace(self, votes=np.zeros_like(self.votes))

    def part(self, rows: NDArray[Any]) -> SoftState:
        log_start = None if self.log_start is None else self.log_start[rows].copy()
        return replace(self, votes=self.votes[rows].copy(), log_start=log_start)

    def begin_round(self, number: int = 1) -> None:
        self.round = number

    @property
    def step(self) -> float:
        later = self.shrinkage if self.later_shrinkage is None else self.later_shrinkage
        return self.shrinkage if self.round == 1 else later

    def without(self, said: Floats) -> SoftState:
        return replace(self, votes=self.votes - said)

    def ignorance(self) -> Floats:
        logs = np.empty(len(self.votes))
        for block in blocks(len(logs)):
            logs[block] = LOSSES[self.loss].log_ignorance(self.votes[block])
        if self.log_start is not None:
            logs += self.log_start
        return ignorance_of(logs, out=logs)

    def judge(
        self, reward: SoftReward, ignorance: Floats | None = None, held: Bools | None = None, overwrite: bool = False
    ) -> Verdict:
        """Return what a model with this reward is worth, without changing the state.

        It is right where it finds the truth more likely than chance or, with more classes, than any other class. It
        counts as perfect if it is always right and says the same about every sample: no sample's ignorance then changes
        relative to another's. No model votes louder than a perfect model that answers with labels.
        """
        present = self.ignorance() if ignorance is None else ignorance
        counting = present > 0.0 if held is None else held & (present > 0.0)
        levels = reward.levels[counting]
        if len(levels) == 0:
            return Verdict(0.0, 0.0, False)
        values = reward.values()
        cap = ig.perfect_model_weight(len(levels), self.n_classes) / float(np.abs(values).max(initial=1e-12))
        model_weight = self.step * best_weight(LOSSES[self.loss], self.log_start, self.votes, values, cap)
        found = right(reward)
        known = 1.0 if held is None else sum_where(present, held)
        share = sum_where(present, found if held is None else found & held) / known
        same = bool(found[counting].all() and (levels == levels[0]).all())
        return Verdict(model_weight, min(share, 1.0), same, self._gain(values, model_weight))

    def vectors(self) -> list[Floats | None]:
        return [self.votes]

    def restore(self, vectors: list[Floats | None]) -> None:
        (votes,) = vectors
        assert votes is not None
        self.votes = votes

    def class_votes(self, codes: Codes) -> Floats:
        return by_class(self.votes, codes)

    def initial_weights(self) -> Floats | None:
        """Return the initial weights of the samples, scaled to mean one; None if all are equal."""
        return None if self.log_start is None else ignorance_of(self.log_start) * len(self.log_start)

    def apply(self, reward: SoftReward, model_weight: float) -> None:
        self.votes += np.float64(model_weight) * reward.values()

    def _gain(self, values: Floats, model_weight: float) -> float:
        if model_weight <= 0.0:
            return 0.0
        loss, start = LOSSES[self.loss], None if self.log_start is None else initial_weights(self.log_start)

        def mean(losses: Floats) -> float:
            return float(losses.mean()) if start is None else float((start * losses).sum() / start.sum())

        before, after = loss.value(self.votes), loss.value(self.votes + model_weight * values)
        if self.votes.ndim == 1:  # the mean of the falls, or the fall of the means: they differ in the last digits
            return mean(before - after)
        return mean(before) - mean(after)


# Votes for all classes, rotated to begin with that for the true class: one rule fits every sample.


Number = TypeVar("Number", bound=np.generic)


def truth_first(vectors: NDArray[Number], codes: Codes) -> NDArray[Number]:
    """Return each row rotated so that it begins with the true class. The other classes follow in cyclic order.

    >>> truth_first(np.array([[10, 11, 12], [20, 21, 22]]), np.array([1, 0]))
    array([[11, 12, 10],
           [20, 21, 22]])
    """
    return _rotated(vectors, codes)


def in_order(vectors: NDArray[Number], codes: Codes) -> NDArray[Number]:
    """Undo :func:`truth_first`."""
    return _rotated(vectors, -codes.astype(np.int64))


def by_class(votes: Floats, codes: Codes) -> Floats:
    """Return votes for all classes, ``n x K``, from those for the true class of two, or from those with it first."""
    if votes.ndim == 2:
        return in_order(votes, codes)
    of_truth = votes[:, np.newaxis]
    return np.where(np.arange(2) == codes[:, np.newaxis], of_truth, -of_truth)


def _rotated(vectors: NDArray[Number], by: NDArray[Any]) -> NDArray[Number]:
    n_classes = vectors.shape[1]
    columns = (np.arange(n_classes) + by.astype(np.int64)[:, np.newaxis]) % n_classes
    return np.take_along_axis(vectors, columns, axis=1)
