"""The state of a run in the hard methods. Every agent can compute it from the rewards and model weights alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core import weight
from assistlearn.core.ignorance import Bools, Floats, add_where_wrong, ignorance_of, start, sum_where


@dataclass(frozen=True)
class Verdict:
    """What an agent's model is worth in the present state.

    Attributes
    ----------
    model_weight : float
        The weight of its votes, if it is kept; finite.
    mean_reward : float
        The share of the ignorance on which it is right.
    perfect : bool
        Whether it is right on every sample with any ignorance; its weight is then limited.
    gain : float, default=0.0
        How much it would lower the logarithm of the exponential loss (hard), or the mean loss of a sample (soft). The
        greedy order compares gains.
    """

    model_weight: float
    mean_reward: float
    perfect: bool
    gain: float = 0.0

    @property
    def useless(self) -> bool:
        """Whether the model is no better than chance: its weight is not positive, up to rounding."""
        return self.model_weight <= weight.NEGLIGIBLE

    def trusted(self, share: float) -> Verdict:
        """Return the verdict if only a share of the model's advantage is trusted.

        >>> Verdict(1.0, 0.8, False, gain=0.2).trusted(0.5)
        Verdict(model_weight=0.5, mean_reward=0.8, perfect=False, gain=0.1)
        """
        return self if share == 1.0 else replace(self, model_weight=share * self.model_weight, gain=share * self.gain)


@dataclass
class State:
    """The ignorance of the samples and, for ASCII, the errors that agents have already made in this round.

    The state depends only on the initial weights, and on the rewards and model weights applied so far: two agents that
    apply the same ones have the same state, bit for bit.

    Parameters
    ----------
    log_ignorance : ndarray of shape (n_samples,)
        The logarithm of the ignorance, up to an additive constant.
    n_classes : int
        At least two.
    interchange : bool, default=True
        Whether a model's weight depends on errors made earlier in the round (ASCII) or not (ASCII-Simple, AdaBoost).
    log_start : ndarray of shape (n_samples,) or None
        The logarithms of the initial weights; None if all are equal.

    Examples
    --------
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
        cls,
        n_samples: int,
        n_classes: int,
        sample_weight: Floats | None = None,
        interchange: bool = True,
    ) -> State:
        """Return the state before the first turn."""
        log_start = None if sample_weight is None else start(n_samples, sample_weight)
        return cls(start(n_samples, sample_weight), n_classes, interchange, log_start)

    def beginning(self) -> State:
        """Return a copy of this state as it was before the first turn."""
        logs = start(len(self.log_ignorance)) if self.log_start is None else self.log_start.copy()
        return State(logs, self.n_classes, self.interchange, self.log_start)

    def part(self, rows: NDArray[Any]) -> State:
        """Return a copy of the state for these samples alone (positions, or a mask).

        >>> State.start(3, n_classes=2).part(np.array([True, False, True])).ignorance()
        array([0.5, 0.5])
        """
        log_start = None if self.log_start is None else self.log_start[rows].copy()
        out = State(self.log_ignorance[rows].copy(), self.n_classes, self.interchange, log_start)
        out.earlier = None if self.earlier is None else self.earlier[rows].copy()
        return out

    def begin_round(self, number: int = 1) -> None:
        """Forget the errors of the last round: ``u`` is zero for the first agent of a round."""
        self.earlier = None

    def ignorance(self) -> Floats:
        """Return the ignorance of the samples, which sums to one (a new array)."""
        return ignorance_of(self.log_ignorance)

    def judge(
        self, reward: Bools, ignorance: Floats | None = None, held: Bools | None = None, overwrite: bool = False
    ) -> Verdict:
        """Return what a model with this reward is worth, without changing the state.

        Parameters
        ----------
        reward : ndarray of bool of shape (n_samples,)
            Where the model is right; true where the agent abstains.
        ignorance : ndarray, optional
            The present ignorance, if it is known; it is computed by default.
        held : ndarray of bool, optional
            The samples that the agent holds. It is judged on these alone, and abstains on the others.
        overwrite : bool, default=False
            Whether the memory of ``ignorance`` may be overwritten, because the caller does not need it any more.
        """
        present = self.ignorance() if ignorance is None else ignorance
        right = reward if held is None else reward & held
        sums = sum_where(present, right), sum_where(present, reward, wanted=False)
        odds = self._log_odds(right, reward, sums, out=present if overwrite or ignorance is None else None)
        perfect = odds == math.inf
        if perfect:
            n_counting = int(np.count_nonzero(self.log_ignorance[right] > -math.inf))
            value = weight.perfect_model_weight(n_counting, self.n_classes)
        else:
            value = weight.model_weight(odds, self.n_classes)
        return Verdict(value, _share(*sums), perfect, _gain(*sums, value, self.n_classes))

    def vectors(self) -> list[Floats | None]:
        """Return the arrays that change in a run. :meth:`restore` makes the same state from them, bit for bit."""
        return [self.log_ignorance, self.earlier]

    def restore(self, vectors: list[Floats | None]) -> None:
        """Replace the arrays of this state by the :meth:`vectors` of another replica."""
        log_ignorance, self.earlier = vectors
        assert log_ignorance is not None
        self.log_ignorance = log_ignorance

    def apply(self, reward: Bools, model_weight: float) -> None:
        """Take a kept model into account: its errors raise the ignorance."""
        add_where_wrong(self.log_ignorance, reward, model_weight)
        if self.interchange:
            if self.earlier is None:
                self.earlier = np.zeros_like(self.log_ignorance)
            add_where_wrong(self.earlier, reward, model_weight)

    def _log_odds(self, right: Bools, reward: Bools, sums: tuple[float, float], out: Floats | None) -> float:
        if self.earlier is not None:
            importance = weight.log_importance(self.log_ignorance, self.earlier, self.n_classes, out=out)
            ignorance_of(importance, out=importance)
            sums = sum_where(importance, right), sum_where(importance, reward, wanted=False)
        odds = weight.log_odds(*sums)
        if not math.isfinite(odds):  # perfect, never right, or underflowed: use logarithms
            odds = weight.log_odds_of_logs(self._log_importance(), right, ~reward)
        return -math.inf if math.isnan(odds) else odds  # nothing right and nothing wrong: no evidence

    def _log_importance(self) -> Floats:
        if self.earlier is None:
            return self.log_ignorance
        return weight.log_importance(self.log_ignorance, self.earlier, self.n_classes)


def _gain(right: float, wrong: float, model_weight: float, n_classes: int) -> float:
    """Return by how much a model lowers the logarithm of the exponential loss. Where it abstains, the loss stays."""
    if model_weight <= 0.0:
        return 0.0
    abstained = max(1.0 - right - wrong, 0.0)
    after = abstained + right * math.exp(-model_weight * (n_classes - 1) / n_classes)
    if wrong > 0.0:
        after += wrong * math.exp(min(model_weight / n_classes, 700.0))
    return -math.log(after) if after > 0.0 else math.inf


def _share(right: float, wrong: float) -> float:
    return right / (right + wrong) if right > 0.0 else 0.0
