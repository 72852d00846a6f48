"""The agents' votes on the hold-out samples, and the decision that follows from them."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

import numpy as np

from assistlearn.combination import Combination
from assistlearn.core import votes
from assistlearn.core.class_shares import silent
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.votes import Codes
from assistlearn.evaluation.report import Decided
from assistlearn.evaluation.score_calibration import cross_fitted
from assistlearn.methods.method import Method


@dataclass(frozen=True)
class HoldoutVotes:
    """The agents' votes on the hold-out samples in the first rounds, and the decision that follows from them.

    Attributes
    ----------
    scores : mapping of str to ndarray of shape (n_holdout, n_classes)
        The votes of each agent that has kept a model.
    model_weights : mapping of str to float
        The sums of their model weights.
    method : Method
        How votes are put together.
    learned : Combination or None
        The combination of the votes, where they are not just added up.
    own : ndarray or None
        The initiator's own columns, as numbers, where a combination may look at them.
    prior : ndarray of shape (n_classes,) or None
        The shares of the classes, where the initiator has labels alone. They are the decision about a sample about
        which no agent says anything.
    """

    scores: Mapping[str, Floats]
    model_weights: Mapping[str, float]
    method: Method
    learned: Combination | None = None
    own: Floats | None = None
    prior: Floats | None = None

    @property
    def adds_up(self) -> bool:
        """Whether the decision is the sum of the agents' scores, and the probabilities are its softmax."""
        return self.learned is None and self.method.adds_up

    def of(self, agents: Container[str]) -> HoldoutVotes:
        """Return the votes of some of the agents only."""
        scores = {name: each for name, each in self.scores.items() if name in agents}
        return replace(self, scores=scores, model_weights={name: self.model_weights[name] for name in scores})

    def decided(self, shape: tuple[int, int]) -> Decided:
        """Return what these agents decide; ``shape`` has the numbers of samples and classes."""
        heard = self.scores
        if self.learned is not None and self.prior is not None:
            heard = {self.learned.initiator: np.zeros(shape)} | {**heard}  # it has no votes, but learned a combination
        if self.learned is not None and heard:
            shares = self.learned.decide(heard, self.own)
        else:
            shares = self.method.combine(self.scores, self.model_weights)
        total = sum(shares.values(), np.zeros(shape))
        said = self.method.probabilities(total, len(self.scores))
        if self.prior is not None:
            nobody = ~self.spoken(shape[0])
            total[nobody], said[nobody] = votes.scores_of(self.prior[np.newaxis]), self.prior
        return Decided(total, said)

    def spoken(self, n_samples: int) -> Bools:
        """Return about which samples an agent says something: about all, unless the initiator has labels alone."""
        return np.ones(n_samples, dtype=bool) if self.prior is None else ~silent(self.scores.values(), n_samples)

    def calibrated(self, decided: Decided, codes: Codes, weights: Floats | None) -> Floats:
        """Return probabilities, those of each sample calibrated on other samples.

        Where no agent says anything about a sample, the shares of the classes stay as they are.

        Parameters
        ----------
        decided : Decided
            What these agents decide; its classes may be in another order.
        codes : ndarray of shape (n_samples,)
            The classes of the samples, in the order of ``decided``.
        weights : ndarray of shape (n_samples,) or None
            How much each sample counts.
        """
        spoken = self.spoken(len(codes))
        said = decided.probabilities.copy()
        if spoken.any():
            said[spoken] = cross_fitted(
                decided.total[spoken], codes[spoken], None if weights is None else weights[spoken]
            )
        return said
