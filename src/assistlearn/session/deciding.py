"""What a session keeps of a model, and what a result predicts for a person from the agents' votes.

Every judgement goes by this, whoever judges: the hold-out samples after a round, the report, the helpers' shares, a
pilot and a prediction. So a figure is about the decisions that users get.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assistlearn.combination import Combination
from assistlearn.combination.linear import Linear
from assistlearn.core import Reward, votes
from assistlearn.core.labels import silent
from assistlearn.evaluation.calibration import ScoreCalibration
from assistlearn.methods.method import HoldoutAnswer, Method
from assistlearn.types import Bools, Codes, Floats


class Kept(NamedTuple):
    """What a session remembers of a kept model. All that is computed from a run is a replay of these."""

    round: int
    agent: str
    model_weight: float
    reward: Reward | None = None  # where it is honest; otherwise nothing is computed from it after the turn
    holdout: HoldoutAnswer | None = None


class Votes(NamedTuple):
    """One agent's votes, as the initiator gets them, and the sum of the weights of the models that voted.

    A row of zeros means that the agent says nothing about the sample. An agent that has kept no model has weight zero.
    """

    scores: Floats
    weight: float


class Decision(NamedTuple):
    """What is decided about some samples. Classes are in their open order, except in ``parts``."""

    total: Floats  # the score of each class; the highest one, the first among equals, is the answer
    probabilities: Floats
    spoken: Bools  # about which samples somebody says something; the shares of the classes decide about the others
    parts: dict[str, Floats]  # each agent's share of the total, by class code; the class shares are the first agent's


@dataclass(frozen=True)
class Deciding:
    """How a result decides about samples.

    ``class_shares`` are the shares of the classes among the samples that were trained on, by weight, in the open order.
    They decide about a sample about which nobody says anything: no agent that counts holds it, or has kept a model.
    ``order`` has the class code of each class, where codes are in a secret order.

    Examples
    --------
    >>> from assistlearn.methods import method_named
    >>> deciding = Deciding(method_named("ascii", {}), np.array([0.2, 0.8]))
    >>> said = {"clinic": Votes(np.array([[1.0, -1.0], [0.0, 0.0]]), 1.0), "lab": Votes(np.zeros((2, 2)), 0)}
    >>> decision = deciding.about(said, 2)
    >>> votes.winners(decision.total), decision.probabilities.round(2).tolist()
    (array([0, 1]), [[0.73, 0.27], [0.2, 0.8]])
    """

    method: Method
    class_shares: Floats
    learned: Combination | None = None
    calibration: ScoreCalibration | None = None
    order: Codes | None = None

    def about(self, said: Mapping[str, Votes], n_samples: int, own: Floats | None = None) -> Decision:
        """Return what these agents decide.

        ``said`` are votes by class code, of the agents that are there, in the order of the run. An initiator that has
        labels alone is one of them, without votes. ``own`` are its columns as numbers, where a combination may look at
        them.
        """
        shape = n_samples, len(self.class_shares)
        spoken = self._spoken(said, n_samples, own)
        prior = votes.scores_of(self.class_shares[np.newaxis])
        parts = self._parts(said, own)
        for place, part in enumerate(parts.values()):
            part[~spoken] = 0.0 if place else self._by_code(prior)
        total = self.in_order(sum(parts.values(), np.zeros(shape)))
        total[~spoken] = prior
        return Decision(total, self._probabilities(total, spoken, said.values()), spoken, parts)

    def _spoken(self, said: Mapping[str, Votes], n_samples: int, own: Floats | None) -> Bools:
        """Return about which samples an agent that the decision listens to says something.

        Trees that look at the initiator's own columns say something wherever one of these has a value.
        """
        heard = [each for name, each in said.items() if self.learned is None or name in self.learned.model.agents]
        spoken: Bools = ~silent([each.scores for each in heard], n_samples)
        if self.learned is None or own is None or self.learned.initiator not in said:
            return spoken
        sees = self.learned.own_trees is not None or not isinstance(self.learned.model, Linear)
        return spoken | ~np.isnan(own).all(axis=1) if sees and own.shape[1] else spoken

    def _parts(self, said: Mapping[str, Votes], own: Floats | None) -> dict[str, Floats]:
        scores = {name: each.scores for name, each in said.items()}
        if self.learned is not None and scores:
            return self.learned.decide(scores, own if self.learned.initiator in scores else None)
        shares = self.method.combine(scores, {name: each.weight for name, each in said.items()})
        return {name: share.copy() if share is scores[name] else share for name, share in shares.items()}

    def _probabilities(self, total: Floats, spoken: Bools, said: Iterable[Votes]) -> Floats:
        out = np.tile(self.class_shares, (len(total), 1))
        if self.calibration is not None:
            out[spoken] = self.calibration.probabilities(total[spoken])
        elif self.learned is not None:
            out[spoken] = self.learned.probabilities(total[spoken])
        else:
            out[spoken] = self.method.probabilities(total[spoken], sum(each.weight > 0.0 for each in said))
        return out

    def in_order(self, table: Floats) -> Floats:
        """Return a table that has a column for each class code with its columns in the open order of the classes."""
        return table if self.order is None else np.ascontiguousarray(table[:, self.order])

    def _by_code(self, table: Floats) -> Floats:
        return table if self.order is None else table[:, np.argsort(self.order)]
