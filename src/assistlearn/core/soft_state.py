"""The state of a run in the soft methods: the sum of the models' scores of the true class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core import weight
from assistlearn.core.ignorance import Bools, Floats, ignorance_of, start, sum_where
from assistlearn.core.loss import LOSSES, best_weight
from assistlearn.core.quantise import SoftReward
from assistlearn.core.state import Verdict
from assistlearn.core.votes import Codes


@dataclass
class SoftState:
    """Each sample's score of the true class, from which its ignorance follows.

    The state depends only on the initial weights, and on the rewards and model weights applied so far: two agents that
    apply the same ones have the same state, bit for bit.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        The sum of model weight times reward over the kept models.
    n_classes : int
        At least two.
    log_start : ndarray of shape (n_samples,) or None
        The logarithms of the initial weights.
    loss : {"logistic", "exponential"}
        The loss to lower (see :mod:`assistlearn.core.loss`).
    shrinkage : float
        The share of the best model weight that a model gets in the first round; at most one.
    later_shrinkage : float or None
        The same share in later rounds; None if it does not change.
    round : int
        The number of the round.

    Examples
    --------
    >>> from assistlearn.core.quantise import quantise
    >>> state = SoftState.start(4, n_classes=2, loss="exponential", shrinkage=1.0)
    >>> reward = quantise(np.array([1.0, 1.0, 1.0, -1.0]), bits=8)
    >>> verdict = state.judge(reward)
    >>> round(verdict.model_weight, 3), verdict.mean_reward
    (1.099, 0.75)
    >>> state.apply(reward, verdict.model_weight)
    >>> state.ignorance().round(3)
    array([0.167, 0.167, 0.167, 0.5  ])
    """

    scores: Floats
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
        """Return the state before the first turn."""
        log_start = None if sample_weight is None else start(n_samples, sample_weight)
        return cls(np.zeros(n_samples), n_classes, log_start, loss, shrinkage, later_shrinkage)

    def beginning(self) -> SoftState:
        """Return a copy of this state as it was before the first turn."""
        return replace(self, scores=np.zeros_like(self.scores))

    def part(self, rows: NDArray[Any]) -> SoftState:
        """Return a copy of the state for these samples alone (positions, or a mask).

        >>> state = SoftState.start(3, n_classes=2, loss="logistic", shrinkage=1.0)
        >>> state.part(np.array([0, 2])).ignorance()
        array([0.5, 0.5])
        """
        log_start = None if self.log_start is None else self.log_start[rows].copy()
        return replace(self, scores=self.scores[rows].copy(), log_start=log_start)

    def begin_round(self, number: int = 1) -> None:
        """Note the number of the round: it decides which share of its best weight a model gets."""
        self.round = number

    @property
    def step(self) -> float:
        """The share of its best weight that a model gets in this round."""
        later = self.shrinkage if self.later_shrinkage is None else self.later_shrinkage
        return self.shrinkage if self.round == 1 else later

    def without(self, said: Floats) -> SoftState:
        """Return a copy of this state from which a part of its scores is taken out."""
        return replace(self, scores=self.scores - said)

    def ignorance(self) -> Floats:
        """Return the ignorance of the samples, which sums to one (a new array)."""
        logs = LOSSES[self.loss].log_ignorance(self.scores, self.n_classes)
        if self.log_start is not None:
            logs += self.log_start
        return ignorance_of(logs, out=logs)

    def judge(
        self, reward: SoftReward, ignorance: Floats | None = None, held: Bools | None = None, overwrite: bool = False
    ) -> Verdict:
        """Return what a model with this reward is worth, without changing the state.

        Its mean reward is the share of the ignorance on which it finds the truth more likely than chance. It counts as
        perfect if it is equally sure of the truth everywhere, so that no sample's ignorance changes relative to
        another's.

        Parameters
        ----------
        reward : SoftReward
            How sure the model is of the truth; zero where the agent abstains.
        ignorance : ndarray, optional
            The present ignorance, if it is known; it is computed by default.
        held : ndarray of bool, optional
            The samples that the agent holds; it is judged on those alone.
        overwrite : bool, default=False
            As in :class:`~assistlearn.core.state.State`; makes no difference here.
        """
        present = self.ignorance() if ignorance is None else ignorance
        counting = present > 0.0 if held is None else held & (present > 0.0)
        levels = reward.levels[counting]
        if len(levels) == 0:
            return Verdict(0.0, 0.0, False)
        values = reward.values()
        cap = self._cap(values, len(levels))
        best = best_weight(LOSSES[self.loss], self.log_start, self.scores, values, self.n_classes, cap)
        right = reward.levels > 0
        known = 1.0 if held is None else sum_where(present, held)
        share = sum_where(present, right if held is None else right & held) / known
        model_weight = self.step * best
        same = bool(levels[0] > 0 and (levels == levels[0]).all())
        return Verdict(model_weight, min(share, 1.0), same, self._gain(values, model_weight))

    def vectors(self) -> list[Floats | None]:
        """Return the arrays that change in a run. :meth:`restore` makes the same state from them, bit for bit."""
        return [self.scores]

    def restore(self, vectors: list[Floats | None]) -> None:
        """Replace the arrays of this state by the :meth:`vectors` of another replica."""
        (scores,) = vectors
        assert scores is not None
        self.scores = scores

    def class_votes(self, codes: Codes) -> Floats:
        """Return the votes for both classes (``n x 2``), from the scores and the codes of the true classes.

        >>> SoftState(np.array([1.0, 2.0]), 2, None, "logistic", 1.0).class_votes(np.array([0, 1]))
        array([[ 1., -1.],
               [-2.,  2.]])
        """
        of_truth = self.scores[:, np.newaxis]
        return np.where(np.arange(2) == codes[:, np.newaxis], of_truth, -of_truth)

    def initial_weights(self) -> Floats | None:
        """Return the initial weights of the samples, scaled to mean one; None if all are equal."""
        return None if self.log_start is None else ignorance_of(self.log_start) * len(self.log_start)

    def apply(self, reward: SoftReward, model_weight: float) -> None:
        """Take a kept model into account: where it is sure of the truth, the ignorance falls."""
        self.scores += np.float64(model_weight) * reward.values()

    def _gain(self, values: Floats, model_weight: float) -> float:
        """Return by how much the mean loss falls. Samples count by their initial weights."""
        if model_weight <= 0.0:
            return 0.0
        loss = LOSSES[self.loss]
        fall = loss.value(self.scores, self.n_classes)
        fall -= loss.value(self.scores + model_weight * values, self.n_classes)
        if self.log_start is None:
            return float(fall.mean())
        start = np.exp(self.log_start - self.log_start.max())
        return float((start * fall).sum() / start.sum())

    def _cap(self, values: Floats, n_counting: int) -> float:
        """Return the largest weight. With it, no model votes louder than a perfect model that answers with labels."""
        return weight.perfect_model_weight(n_counting, self.n_classes) / float(np.abs(values).max(initial=1e-12))
