"""The state of a run in the soft methods with more than two classes: the sum of the models' votes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.core import weight
from assistlearn.core.blocks import blocks
from assistlearn.core.ignorance import Bools, Floats, ignorance_of, start, sum_where
from assistlearn.core.quantise import ScoreVectors, right
from assistlearn.core.state import Verdict
from assistlearn.core.truth_first import in_order
from assistlearn.core.vector_loss import VECTOR_LOSSES, best_vector_weight
from assistlearn.core.votes import Codes


@dataclass
class VectorState:
    """Each sample's votes for all classes, the true class first. Its ignorance follows from them.

    The state depends only on the initial weights, and on the rewards and model weights applied so far: two agents that
    apply the same ones have the same state, bit for bit. It needs no labels: every reward has the truth in its first
    column (:mod:`assistlearn.core.truth_first`).

    Parameters
    ----------
    votes : ndarray of shape (n_samples, n_classes)
        The sum of model weight times reward over the kept models.
    n_classes : int
        More than two. For two classes, see :class:`~assistlearn.core.soft_state.SoftState`.
    log_start : ndarray of shape (n_samples,) or None
        The logarithms of the initial weights.
    loss : {"logistic", "exponential"}
        The loss to lower (see :mod:`assistlearn.core.vector_loss`).
    shrinkage : float
        The share of the best model weight that a model gets in the first round; at most one, so that no turn raises
        the loss.
    later_shrinkage : float or None
        The same share in later rounds; None if it does not change.
    round : int
        The number of the round.

    Examples
    --------
    >>> from assistlearn.core.quantise import quantise_vectors
    >>> state = VectorState.start(4, n_classes=3, loss="logistic", shrinkage=1.0)
    >>> reward = quantise_vectors(np.array([[1.0, 0.0, 0.0]] * 3 + [[0.0, 1.0, 0.0]]), bits=8)
    >>> verdict = state.judge(reward)
    >>> round(verdict.model_weight, 3), verdict.mean_reward, round(verdict.gain, 3)
    (1.792, 0.75, 0.363)
    >>> state.apply(reward, verdict.model_weight)
    >>> state.ignorance().round(3)
    array([0.154, 0.154, 0.154, 0.538])
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
    ) -> VectorState:
        """Return the state before the first turn."""
        log_start = None if sample_weight is None else start(n_samples, sample_weight)
        return cls(np.zeros((n_samples, n_classes)), n_classes, log_start, loss, shrinkage, later_shrinkage)

    def beginning(self) -> VectorState:
        """Return a copy of this state as it was before the first turn."""
        return replace(self, votes=np.zeros_like(self.votes))

    def part(self, rows: NDArray[Any]) -> VectorState:
        """Return a copy of the state for these samples alone (positions, or a mask).

        >>> state = VectorState.start(3, n_classes=3, loss="logistic", shrinkage=1.0)
        >>> state.part(np.array([0, 2])).ignorance()
        array([0.5, 0.5])
        """
        log_start = None if self.log_start is None else self.log_start[rows].copy()
        return replace(self, votes=self.votes[rows].copy(), log_start=log_start)

    def begin_round(self, number: int = 1) -> None:
        """Note the number of the round: it decides which share of its best weight a model gets."""
        self.round = number

    @property
    def step(self) -> float:
        """The share of its best weight that a model gets in this round."""
        later = self.shrinkage if self.later_shrinkage is None else self.later_shrinkage
        return self.shrinkage if self.round == 1 else later

    def without(self, said: Floats) -> VectorState:
        """Return a copy of this state from which a part of its votes is taken out."""
        return replace(self, votes=self.votes - said)

    def ignorance(self) -> Floats:
        """Return the ignorance of the samples, which sums to one (a new array)."""
        logs = np.empty(len(self.votes))
        for block in blocks(len(logs)):
            logs[block] = VECTOR_LOSSES[self.loss].log_ignorance(self.votes[block])
        if self.log_start is not None:
            logs += self.log_start
        return ignorance_of(logs, out=logs)

    def judge(
        self, reward: ScoreVectors, ignorance: Floats | None = None, held: Bools | None = None, overwrite: bool = False
    ) -> Verdict:
        """Return what a model with this reward is worth, without changing the state.

        Its mean reward is the share of the ignorance on which it finds the truth likelier than any other class. It
        counts as perfect if it is always right and says the same about every sample. No sample's ignorance then changes
        relative to another's.

        Parameters
        ----------
        reward : ScoreVectors
            How likely the model finds every class, the truth first; all zero where the agent abstains.
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
        cap = weight.perfect_model_weight(len(levels), self.n_classes) / float(np.abs(values).max(initial=1e-12))
        best = best_vector_weight(VECTOR_LOSSES[self.loss], self._start(), self.votes, values, cap)
        found = right(reward)
        known = 1.0 if held is None else sum_where(present, held)
        share = sum_where(present, found if held is None else found & held) / known
        model_weight = self.step * best
        same = bool(found[counting].all() and (levels == levels[0]).all())
        return Verdict(model_weight, min(share, 1.0), same, self._gain(values, model_weight))

    def vectors(self) -> list[Floats | None]:
        """Return the arrays that change in a run. :meth:`restore` makes the same state from them, bit for bit."""
        return [self.votes]

    def restore(self, vectors: list[Floats | None]) -> None:
        """Replace the arrays of this state by the :meth:`vectors` of another replica."""
        (votes,) = vectors
        assert votes is not None
        self.votes = votes

    def class_votes(self, codes: Codes) -> Floats:
        """Return the votes in the order of the classes (``n x K``), given the codes of the true classes."""
        return in_order(self.votes, codes)

    def initial_weights(self) -> Floats | None:
        """Return the initial weights of the samples, scaled to mean one; None if all are equal."""
        return None if self.log_start is None else ignorance_of(self.log_start) * len(self.log_start)

    def apply(self, reward: ScoreVectors, model_weight: float) -> None:
        """Take a kept model into account: where it is sure of the truth, the ignorance falls."""
        self.votes += np.float64(model_weight) * reward.values()

    def mean_loss(self) -> float:
        """Return the mean loss of a sample, by the initial weights. No kept turn raises it."""
        return self._mean(VECTOR_LOSSES[self.loss].value(self.votes))

    def _gain(self, values: Floats, model_weight: float) -> float:
        """Return by how much the mean loss falls."""
        if model_weight <= 0.0:
            return 0.0
        return self.mean_loss() - self._mean(VECTOR_LOSSES[self.loss].value(self.votes + model_weight * values))

    def _mean(self, losses: Floats) -> float:
        start = self._start()
        return float(losses.mean()) if start is None else float((start * losses).sum() / start.sum())

    def _start(self) -> Floats | None:
        return None if self.log_start is None else np.exp(self.log_start - self.log_start.max())
