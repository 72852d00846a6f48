"""A combination: what the initiator makes of the agents' scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assistlearn.combination.boosted import Boosted
from assistlearn.combination.linear import Linear, whole
from assistlearn.core import votes
from assistlearn.core.ignorance import Floats
from assistlearn.errors import SettingsError


@dataclass(frozen=True)
class Combination:
    """How the scores of some agents become a decision. It is learned, and used, by the initiator alone.

    Attributes
    ----------
    kind : str
        What it is: ``"sum"``, ``"linear"``, ``"boosted"``, or ``"alone"`` and ``"linear alone"``, which listen to the
        initiator only.
    loss, error : float
        Its mean log loss over samples that it was not fitted to, by cross-validation, and the standard error of that.
    losses : mapping of str to float
        The same loss of every kind that was tried.
    skipped : str
        Why trees were not tried; empty where they were, or where nobody asked for them.
    agents : tuple of str
        All agents whose scores there were, also those that it does not listen to.
    initiator : str
        Whose combination it is.
    n_classes : int
        The number of classes.
    model : Linear or Boosted
        What the scores pass through.
    """

    kind: str
    loss: float
    error: float
    losses: Mapping[str, float]
    skipped: str
    agents: tuple[str, ...]
    initiator: str
    n_classes: int
    model: Linear | Boosted

    def decide(self, scores: Mapping[str, Floats], own: Floats | None = None) -> dict[str, Floats]:
        """Return each agent's share of the decision; the shares sum to the decision.

        Parameters
        ----------
        scores : mapping of agent to array of shape (n, K)
            Each agent's model weights times its votes, summed over its kept models. An agent may be missing, and a row
            of zeros is one where it abstains: it has no share there.
        own : array of shape (n, p), optional
            The initiator's own columns, where it has learned from them.

        Returns
        -------
        dict of agent to array of shape (n, K)
            Every row sums to zero. What belongs to no agent's scores (a bias) is in the initiator's share; where it is
            missing, in the first agent's.
        """
        n = self._check(scores)
        if isinstance(self.model, Boosted):
            return self.model.shares(scores, self._own(own, n, self.model.n_own))
        out = self.model.shares(scores)
        first = self.initiator if self.initiator in scores else next(iter(scores))
        out[first] = out[first] + whole(self.model.bias[None])
        return out

    def probabilities(self, total: Floats) -> Floats:
        """Return the class probabilities that a decision stands for."""
        return votes.probabilities(total)

    def _check(self, scores: Mapping[str, Floats]) -> int:
        if not scores:
            raise SettingsError("There are no scores of any agent to combine.")
        unknown = [agent for agent in scores if agent not in self.agents]
        if unknown:
            raise SettingsError(f"This combination does not know {', '.join(unknown)}, only {', '.join(self.agents)}.")
        n = len(next(iter(scores.values())))
        for agent, said in scores.items():
            if said.shape != (n, self.n_classes):
                raise SettingsError(f"The scores of agent {agent!r} are {said.shape}, and not {(n, self.n_classes)}.")
        return n

    def _own(self, own: Floats | None, n: int, n_own: int) -> Floats:
        own = np.empty((n, 0)) if own is None and n_own == 0 else own
        if own is None or own.shape != (n, n_own):
            found = "none" if own is None else str(own.shape)
            raise SettingsError(f"The initiator's own columns must be {(n, n_own)}, as in training; they are {found}.")
        return np.asarray(own, dtype=np.float64)
