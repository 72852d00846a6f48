"""Predicting: the agents' votes, their sum, and what follows from it, at the end or after each round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import _num_samples, check_is_fitted

from assistlearn.agents import Agent
from assistlearn.core import Contribution, votes
from assistlearn.core.ignorance import Floats
from assistlearn.estimators.columns import Positions, take_columns


class VotesMixin:
    """What a fitted ensemble of agents answers, for estimators that have learned the attributes below."""

    method: str
    classes_: NDArray[Any]
    class_prior_: Floats
    agents_: dict[str, Agent]
    columns_: dict[str, Positions]
    contributions_: tuple[Contribution, ...]
    n_rounds_: int

    def _check_table(self, X: Any, reset: bool) -> Any:
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes for each sample.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        return self._labels(self._total(self._own_scores(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities.

        The softmax of ``(K - 1) / K`` times the scores, under which one model that is right with probability q
        answers q. Many votes make them extreme; calibrate them where that matters. With ``method="ensemble"``, the
        shares of the vote.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._probabilities(self._total(self._own_scores(X)), len({c.agent for c in self.contributions_}))

    def decision_function(self, X: Any) -> Floats:
        """Return the sum of the agents' votes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of ``classes_[1]`` alone, which is minus that of ``classes_[0]``.
        """
        return self._shown(self._total(self._own_scores(X)))

    def agent_scores(self, X: Any) -> dict[str, Floats]:
        """Return what each agent alone would answer: its own votes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        scores : dict of str to ndarray of shape (n_samples, n_classes)
            Their sum is :meth:`decision_function`. For two classes that has one dimension only: it is the second
            column of the sum, and the first is its negative.
        """
        return self._combined(self._own_scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield :meth:`decision_function` after each **round**.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Yields
        ------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            The votes of the models of all rounds so far.
        """
        for total, _ in self._staged(X):
            yield self._shown(total)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield :meth:`predict` after each **round**.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        for total, _ in self._staged(X):
            yield self._labels(total)

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield :meth:`predict_proba` after each **round**.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        for total, n_voting in self._staged(X):
            yield self._probabilities(total, n_voting)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after each **round**.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Yields
        ------
        accuracy : float
            The share of the samples that are classified right.
        """
        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))

    def _own_scores(self, X: Any) -> dict[str, Floats]:
        """Return every agent's own weighted votes."""
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        n_samples, n_classes = _num_samples(X), len(self.classes_)
        return {
            name: agent.scores(take_columns(X, self.columns_[name]), n_samples, n_classes)
            for name, agent in self.agents_.items()
        }

    def _staged(self, X: Any) -> Iterator[tuple[Floats, int]]:
        """Yield the sum of the votes after each round, and how many agents have voted."""
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        shape = _num_samples(X), len(self.classes_)
        answers = {
            name: agent.answers(take_columns(X, self.columns_[name]), shape[1]) for name, agent in self.agents_.items()
        }
        scores = {name: np.zeros(shape) for name in self.agents_}
        weights = dict.fromkeys(self.agents_, 0.0)
        pending = [(c.round, c.agent) for c in self.contributions_]
        for round in range(1, self.n_rounds_ + 1):
            while pending and pending[0][0] == round:
                _, name = pending.pop(0)
                kept, codes = next(answers[name])
                votes.add_vote(scores[name], codes, kept.model_weight)
                weights[name] += kept.model_weight
            yield self._total(scores, weights), sum(weight > 0.0 for weight in weights.values())

    def _total(self, own: dict[str, Floats], weights: dict[str, float] | None = None) -> Floats:
        return sum(self._combined(own, weights).values(), np.zeros(next(iter(own.values())).shape))

    def _combined(self, own: dict[str, Floats], weights: dict[str, float] | None = None) -> dict[str, Floats]:
        """Return the agents' shares of the decision, from their own votes."""
        if len(self.classes_) == 1:
            return own
        if not self.contributions_:  # nothing learned: the initiator knows the shares of the classes
            prior = votes.scores_of(self.class_prior_[np.newaxis, :])
            first = next(iter(own))
            return {name: prior + scores if name == first else scores for name, scores in own.items()}
        if self.method == "ensemble":
            if weights is None:
                weights = {name: agent.total_weight for name, agent in self.agents_.items()}
            return votes.majority_votes(own, weights)
        return own

    def _labels(self, total: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[votes.winners(total)]
        return labels

    def _shown(self, total: Floats) -> Floats:
        return total[:, -1] if total.shape[1] <= 2 else total

    def _probabilities(self, total: Floats, n_voting: int) -> Floats:
        if total.shape[1] == 1:
            return np.ones_like(total)
        if self.method == "ensemble" and self.contributions_:
            return votes.vote_shares(total, n_voting)
        return votes.probabilities(total)
