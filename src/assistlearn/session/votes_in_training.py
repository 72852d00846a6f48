"""The agents' honest votes in training, with which their votes for new people are compared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assistlearn.core.groups import Groups
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.evaluation.constancy import kept
from assistlearn.methods.method import Method
from assistlearn.session.combining import Told
from assistlearn.session.holdout import HoldOut


class VotesInTraining:
    """Collects votes on samples that the models were not fitted to: by out-of-fold rewards, or on hold-out samples.

    Parameters
    ----------
    method : Method
        Turns a reward into votes for all classes.
    codes : mapping of str to ndarray of shape (n_samples,)
        The class codes of the training samples, as each agent is told them.
    n_classes : int
        The number of classes.
    honest : bool
        Whether rewards are out-of-fold and say something of every class.
    holdout : HoldOut or None
        The hold-out samples, which serve where rewards do not.
    groups : ndarray of int of shape (n_samples,), or None
        Which training samples are about the same person: one of them is kept.
    seed : int
        Decides whose votes are kept, where there are many samples.
    """

    def __init__(
        self,
        method: Method,
        codes: Mapping[str, Codes],
        n_classes: int,
        honest: bool,
        holdout: HoldOut | None,
        groups: Groups | None = None,
        seed: int = 0,
    ) -> None:
        self._method = method
        self._codes = codes
        self._n_classes = n_classes
        self._honest = honest
        self._holdout = holdout
        n_samples = len(next(iter(codes.values())))
        one_each = np.arange(n_samples) if groups is None else np.unique(groups, return_index=True)[1]
        self._kept = one_each[kept(len(one_each), seed)]
        self._told: list[tuple[int, str, Floats, float]] = []

    def add(self, told: Told) -> None:
        """Add what a kept model has told."""
        if self._honest:
            said = self._method.class_votes(told.reward, self._codes[told.agent])[self._kept]
            self._told.append((told.round, told.agent, said, told.model_weight))

    def votes(self, n_rounds: int) -> dict[str, Floats]:
        """Return each agent's votes with the models of the first rounds, by one unit of model weight.

        Returns
        -------
        votes : dict of str to ndarray of shape (n_kept, n_classes)
            By class code; empty where there are no honest votes.
        """
        if not self._honest:
            said = {} if self._holdout is None else self._holdout.votes_of(n_rounds).said
            return {name: each.scores / each.weight for name, each in said.items() if each.weight > 0.0}
        total: dict[str, Floats] = {}
        weights: dict[str, float] = {}
        for round, agent, said_now, weight in self._told:
            if round <= n_rounds:
                total[agent] = total.get(agent, np.zeros((len(self._kept), self._n_classes))) + weight * said_now
                weights[agent] = weights.get(agent, 0.0) + weight
        return {agent: votes / weights[agent] for agent, votes in total.items()}
