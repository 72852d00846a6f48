"""A combination: how the initiator turns the agents' scores into a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistlearn.combination.linear import Linear, whole
from assistlearn.combination.own_trees import OwnTrees
from assistlearn.combination.tree_combination import TreeCombination
from assistlearn.core import votes
from assistlearn.core.ignorance import Floats
from assistlearn.errors import SettingsError


@dataclass(frozen=True)
class Combination:
    """How the scores of some agents become a decision. It is learned, and used, by the initiator alone.

    Attributes
    ----------
    kind : str
        The way to combine: ``"sum"``, ``"linear"``, ``"boosted"``, ``"stack"``, ``"offset"``, or one of ``"alone"``,
        ``"linear alone"`` and ``"offset alone"``, which listen to the initiator only.
    loss, error : float
        Its mean log loss over samples that it was not fitted to, by cross-validation, and the standard error of that
        mean. It is infinite after a single sample.
    losses : mapping of str to float
        The losses by which the kind was chosen, in three folds. ``loss`` is measured anew, in more folds.
    skipped : str
        Why trees were not tried; empty where they were, or where nobody asked for them.
    agents : tuple of str
        All agents that gave scores, also those that it does not listen to.
    initiator : str
        The agent that the combination belongs to.
    n_classes : int
        The number of classes.
    model : Linear or TreeCombination
        The model for samples that all agents speak about.
    absences : tuple of Linear
        The models for samples where some agents are missing or abstain, each for one set of agents.
    otherwise : Linear
        The model for any other set of agents.
    trees_otherwise : TreeCombination or None
        Where the model is boosted: the trees that replace ``absences`` and ``otherwise`` if the initiator is there.
    own_trees : OwnTrees or None
        Trees over the initiator's own scores and columns. What they say is added to its share, with any set of helpers.
    """

    kind: str
    loss: float
    error: float
    losses: Mapping[str, float]
    skipped: str
    agents: tuple[str, ...]
    initiator: str
    n_classes: int
    model: Linear | TreeCombination
    absences: tuple[Linear, ...]
    otherwise: Linear
    trees_otherwise: TreeCombination | None
    own_trees: OwnTrees | None = None

    def decide(self, scores: Mapping[str, Floats], own: Floats | None = None) -> dict[str, Floats]:
        """Return each agent's share of the decision; the shares sum to the decision.

        Parameters
        ----------
        scores : mapping of agent to array of shape (n, K)
            Each agent's model weights times its votes, summed over its kept models. An agent may be missing. A row of
            zeros means that the agent abstains: it has no share there.
        own : array of shape (n, p), optional
            The initiator's own columns, where it has learned from them.

        Returns
        -------
        dict of agent to array of shape (n, K)
            Every row sums to zero. A bias, which comes from no agent's scores, is in the initiator's share. Where the
            initiator is missing, it is in the first agent's.
        """
        n = self._check(scores)
        own = self._own(own, n) if self.initiator in scores else None
        heard = [agent for agent in self.model.agents if agent in scores]
        there = np.array([scores[agent].any(axis=1) for agent in heard], dtype=np.bool_).reshape(len(heard), n)
        out = {agent: np.zeros((n, self.n_classes)) for agent in scores}
        patterns, which = np.unique(there, axis=1, return_inverse=True)
        for number in range(patterns.shape[1]):
            rows = np.flatnonzero(which == number)
            present = tuple(agent for agent, is_there in zip(heard, patterns[:, number], strict=True) if is_there)
            for agent, share in self._shares(present, rows, scores, own).items():
                out[agent][rows] = share
        if self.own_trees is not None and own is not None:
            out[self.initiator] += self.own_trees.share(scores[self.initiator], own)
        return out

    def _shares(
        self, present: tuple[str, ...], rows: NDArray[np.intp], scores: Mapping[str, Floats], own: Floats | None
    ) -> dict[str, Floats]:
        """Return the shares of the agents that are present for these samples, and of the agent that gets the bias."""
        model = self.model_for(present, with_trees=own is not None)
        said = {agent: scores[agent][rows] for agent in present}
        if isinstance(model, TreeCombination) and own is not None:
            return model.shares(said, own[rows])
        assert isinstance(model, Linear)
        out = model.shares(said)
        first = self.initiator if self.initiator in scores else next(iter(scores))
        out[first] = out.get(first, 0.0) + np.broadcast_to(whole(model.bias[None]), (len(rows), self.n_classes))
        return out

    def model_for(self, present: tuple[str, ...], with_trees: bool = True) -> Linear | TreeCombination:
        """Return the model for samples that these agents speak about; trees need the initiator's own columns."""
        if self.trees_otherwise is not None and with_trees:
            return self.model if {*self.model.agents} == {*present} else self.trees_otherwise
        models = [each for each in (self.model, *self.absences) if isinstance(each, Linear)]
        return next((each for each in models if {*each.agents} == {*present}), self.otherwise)

    def probabilities(self, total: Floats) -> Floats:
        """Return the class probabilities of a decision."""
        return votes.probabilities(total)

    def _check(self, scores: Mapping[str, Floats]) -> int:
        if not scores:
            raise SettingsError("There are no scores of any agent to combine.")
        unknown = [agent for agent in scores if agent not in self.agents]
        if unknown:
            raise SettingsError(
                f"This combination does not know {', '.join(unknown)}; it knows only {', '.join(self.agents)}."
            )
        n = len(next(iter(scores.values())))
        for agent, said in scores.items():
            if said.shape != (n, self.n_classes):
                raise SettingsError(
                    f"The scores of agent {agent!r} have the shape {said.shape}, not {(n, self.n_classes)}."
                )
        return n

    def _own(self, own: Floats | None, n: int) -> Floats:
        """Return the initiator's own columns, as many as the trees were grown with; none where there are no trees."""
        trees = self.own_trees if isinstance(self.model, Linear) else self.model
        if trees is None:
            return np.empty((n, 0))
        due = (n, trees.n_own)
        own = np.empty(due) if own is None and trees.n_own == 0 else own
        if own is None or own.shape != due:
            found = "there are none" if own is None else f"they have {own.shape}"
            raise SettingsError(f"The initiator's own columns must have the shape {due}, as in training; {found}.")
        return np.asarray(own, dtype=np.float64)
