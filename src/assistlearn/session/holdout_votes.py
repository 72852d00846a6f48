"""The agents' votes on the hold-out samples, and the decision that follows from them."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.evaluation.score_calibration import ScoreCalibration, cross_fitted
from assistlearn.session.deciding import Deciding, Decision, Votes


@dataclass(frozen=True)
class HoldoutVotes:
    """The agents' votes on the hold-out samples in the first rounds, and the decision that follows from them.

    Attributes
    ----------
    said : mapping of str to Votes
        The votes of each agent, the initiator first.
    deciding : Deciding
        What becomes of them.
    n_samples : int
        The number of hold-out samples.
    own : ndarray or None
        The initiator's own columns, as numbers, where a combination may look at them.
    """

    said: Mapping[str, Votes]
    deciding: Deciding
    n_samples: int
    own: Floats | None = None

    @property
    def adds_up(self) -> bool:
        """Whether the decision is the sum of the agents' scores, with any helpers, as the initiator always speaks."""
        first = next(iter(self.said.values()))
        return self.deciding.learned is None and self.deciding.method.adds_up and bool(first.scores.any(axis=1).all())

    def of(self, agents: Container[str]) -> HoldoutVotes:
        """Return the votes of some of the agents only."""
        return replace(self, said={name: each for name, each in self.said.items() if name in agents})

    def calibrated_by(self, calibration: ScoreCalibration | None) -> HoldoutVotes:
        """Return the same votes, with a calibration of the probabilities."""
        return replace(self, deciding=replace(self.deciding, calibration=calibration))

    def decided(self) -> Decision:
        """Return what these agents decide."""
        return self.deciding.about(self.said, self.n_samples, self.own)


def calibrated(decision: Decision, labels: Codes, weights: Floats | None) -> Floats:
    """Return probabilities, those of each sample calibrated on other samples.

    Where no agent says anything about a sample, the shares of the classes stay as they are.

    Parameters
    ----------
    decision : Decision
        What is decided about the samples.
    labels : ndarray of shape (n_samples,)
        The classes of the samples, in their open order.
    weights : ndarray of shape (n_samples,) or None
        How much each sample counts.
    """
    spoken, said = decision.spoken, decision.probabilities.copy()
    if spoken.any():
        own = None if weights is None else weights[spoken]
        said[spoken] = cross_fitted(decision.total[spoken], labels[spoken], own)
    return said
