"""Predict from the agents' votes, with the models of all rounds or those of the first rounds only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import _num_samples, check_is_fitted

from assistlearn.agents import Agent, KeptModel
from assistlearn.combination import Combination
from assistlearn.combination.own_columns import OwnColumns
from assistlearn.core import Contribution, votes
from assistlearn.core.class_shares import silent
from assistlearn.core.confidence import Said, add_answers
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.quantise import votes_of
from assistlearn.estimators.checks import check_agents, has_labels_alone
from assistlearn.estimators.columns import Positions, rows_held, take_columns
from assistlearn.estimators.preparing import Prepared
from assistlearn.evaluation.score_calibration import ScoreCalibration
from assistlearn.learners.weighting import take_rows
from assistlearn.plan import Plan


class VotesMixin:
    """The predictions of a fitted ensemble of agents, for estimators that have the attributes below."""

    missing_agent: str
    classes_: NDArray[Any]
    class_prior_: Floats
    agents: Any
    agents_: dict[str, Agent]
    columns_: dict[str, Positions]
    _prepared: dict[str, Prepared]
    contributions_: tuple[Contribution, ...]
    n_rounds_: int
    combination_: Combination | None
    calibration_: ScoreCalibration | None
    _by_round: list[Combination]
    _own_columns: OwnColumns

    def _check_table(self, X: Any, reset: bool) -> Any:
        raise NotImplementedError

    def _plan(self) -> Plan:
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
        return self._labels(_sum(self.agent_scores(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities.

        With ``calibration_`` they are calibrated: of answers with a probability of 80 %, about 80 % are right. The
        likeliest class is the predicted one. A learned combination gives probabilities of its own. Otherwise they are
        the softmax of ``(K - 1) / K`` times the scores, so that a single model that is right with probability q answers
        q; with ``method="ensemble"`` they are the shares of the vote. If many votes are added up without calibration,
        probabilities become extreme: set ``holdout``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        own = self._votes_on(X)
        shares = self._decided(own, self._present(X), self._own_numbers_of(X))
        return self._said(shares, own, len({c.agent for c in self.contributions_}))

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
        return self._shown(_sum(self.agent_scores(X)))

    def agent_scores(self, X: Any) -> dict[str, Floats]:
        """Return each agent's own votes; with a learned combination, its part of the decision.

        The votes of all agents but the first are rounded as in messages: to 16 bits, or 8 with ``method="soft"``
        (:meth:`assistlearn.methods.method.Method.told_votes`).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        scores : dict of str to ndarray of shape (n_samples, n_classes)
            Their sum is :meth:`decision_function`. For two classes that has one dimension only: it is the second
            column of the sum, and the first is exactly its negative, as in the scores of each agent.
        """
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        return self._decided(self._votes_on(X), self._present(X), self._own_numbers_of(X))

    def taking_part(self, X: Any) -> dict[str, Bools]:
        """Return which agents vote on which samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        part : dict of str to ndarray of bool of shape (n_samples,)
            False where an agent abstains: it has kept no model, or with ``missing_agent="abstain"`` its columns are all
            missing.
        """
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        part = {}
        for name, held in self._present(X).items():
            everywhere = np.full(_num_samples(X), bool(self.agents_[name].models))
            part[name] = everywhere if held is None else everywhere & held
        return part

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
        for shares, _, _ in self._staged(X):
            yield self._shown(_sum(shares))

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
        for shares, _, _ in self._staged(X):
            yield self._labels(_sum(shares))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield :meth:`predict_proba` after each **round**, calibrated as after the last one.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        for shares, own, n_voting in self._staged(X):
            yield self._said(shares, own, n_voting)

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

    def _decided(
        self, own: dict[str, Floats], present: dict[str, Bools | None], numbers: Floats | None
    ) -> dict[str, Floats]:
        """Return the agents' shares of the decision.

        They depend on the agents' votes, on which samples each agent holds, and on the initiator's columns as numbers.
        """
        if self._label_only:
            found = self._combined(own) if self.combination_ is None else self.combination_.decide(own, numbers)
            return self._with_class_shares(found, own)
        if self.combination_ is not None:
            return self.combination_.decide(own, numbers)
        self._add_prior_where_nobody_votes(own, present)
        return self._combined(own)

    @property
    def _label_only(self) -> bool:
        """Whether the initiator has labels alone: it takes no turns, and the helpers' votes alone count."""
        return has_labels_alone(self.agents)

    def _with_class_shares(self, shares: dict[str, Floats], own: dict[str, Floats]) -> dict[str, Floats]:
        """Return the agents' shares of the decision. Where no helper votes, the shares of the classes decide."""
        if len(self.classes_) == 1:
            return shares
        nobody, first = self._nobody(own), next(iter(shares))  # the initiator, if it is present
        prior = votes.scores_of(self.class_prior_[np.newaxis, :])
        at = nobody[:, np.newaxis]
        return {name: np.where(at, prior if name == first else 0.0, share) for name, share in shares.items()}

    def _nobody(self, said: dict[str, Floats]) -> Bools:
        """Return on which samples no helper votes."""
        initiator = check_agents(self.agents)[0][0]
        helpers = [each for name, each in said.items() if name != initiator]
        return silent(helpers, len(next(iter(said.values()))))

    def _votes_on(self, X: Any) -> dict[str, Floats]:
        """Return every agent's own weighted votes on the samples of a table that was checked."""
        n_samples, n_classes = _num_samples(X), len(self.classes_)
        present = self._present(X)
        out = {}
        for name, agent in self.agents_.items():
            own, held = self._rows_of(name, X), present[name]
            if not agent.models:
                scores = np.zeros((n_samples, n_classes))
            elif held is None:
                scores = agent.scores(own, n_samples, n_classes)
            else:
                scores, n_held = np.zeros((n_samples, n_classes)), int(np.count_nonzero(held))
                if n_held:
                    scores[held] = agent.scores(take_rows(own, np.flatnonzero(held)), n_held, n_classes)
            out[name] = self._told(name, scores, agent.total_weight)
        return out

    def _told(self, name: str, scores: Floats, total_weight: float) -> Floats:
        """Return an agent's votes as the initiator gets them: in whole levels, except its own, which are not sent."""
        if name == check_agents(self.agents)[0][0] or len(self.classes_) == 1:
            return scores
        return votes_of(self._plan().make_method().told_votes(scores, total_weight))

    def _own_numbers_of(self, X: Any) -> Floats | None:
        """Return the initiator's columns of a table as numbers; None if it is absent, or no combination was learned."""
        initiator = None if self.combination_ is None else self.combination_.initiator
        if initiator not in self.columns_:
            return None
        X = self._check_table(X, reset=False)
        if self._label_only:
            return np.empty((_num_samples(X), 0))
        return self._own_columns.numbers(self._rows_of(initiator, X))

    def _present(self, X: Any) -> dict[str, Bools | None]:
        """Return which samples each agent holds; None for all of them."""
        if self.missing_agent != "abstain":
            return dict.fromkeys(self.agents_)
        alone = {name: len(self.columns_[name]) == 0 for name in self.agents_}
        return {name: None if labels else rows_held(self._rows_of(name, X)) for name, labels in alone.items()}

    def _rows_of(self, name: str, X: Any) -> Any:
        """Return an agent's columns of a table, prepared if its learner needs that."""
        own = take_columns(X, self.columns_[name])
        return self._prepared[name].rows(own) if name in self._prepared else own

    def _add_prior_where_nobody_votes(self, own: dict[str, Floats], present: dict[str, Bools | None]) -> None:
        """Where every agent abstains, add the shares of the classes to the votes of the first agent, in place."""
        masks = [held for held in present.values() if held is not None]
        if len(masks) < len(present) or len(self.classes_) == 1 or not self.contributions_:
            return
        nobody = ~np.logical_or.reduce(masks)
        next(iter(own.values()))[nobody] += votes.scores_of(self.class_prior_[np.newaxis, :])

    def _staged(self, X: Any) -> Iterator[tuple[dict[str, Floats], dict[str, Floats], int]]:
        """Yield, after each round, the agents' shares of the decision, their own votes, and how many agents vote."""
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        shape = _num_samples(X), len(self.classes_)
        present = self._present(X)
        rows = {name: slice(None) if held is None else np.flatnonzero(held) for name, held in present.items()}
        answers = {
            name: agent.answers(take_rows(self._rows_of(name, X), rows[name]), shape[1])
            for name, agent in self.agents_.items()
        }
        models = {name: iter(agent.models) for name, agent in self.agents_.items()}
        scores = {name: np.zeros(shape) for name in self.agents_}
        if self.combination_ is None and not self._label_only:
            self._add_prior_where_nobody_votes(scores, present)
        weights = dict.fromkeys(self.agents_, 0.0)
        pending = [(c.round, c.agent) for c in self.contributions_]
        for round in range(1, self.n_rounds_ + 1):
            while pending and pending[0][0] == round:
                _, name = pending.pop(0)
                weights[name] += next(models[name]).model_weight
                _add_next(answers[name], scores[name], rows[name])
            heard = {name: self._told(name, own, weights[name]) for name, own in scores.items()}
            yield self._stage(round, heard, weights, X), heard, sum(weight > 0.0 for weight in weights.values())

    def _stage(self, round: int, scores: dict[str, Floats], weights: dict[str, float], X: Any) -> dict[str, Floats]:
        """Return the agents' shares of the decision after a round, by the combination learned after it, if any."""
        if self.combination_ is None:
            shares = self._combined(scores, weights)
        elif round == self.n_rounds_:
            shares = self.combination_.decide(scores, self._own_numbers_of(X))
        else:
            shares = self._by_round[round - 1].decide(scores)
        return self._with_class_shares(shares, scores) if self._label_only else shares

    def _combined(self, own: dict[str, Floats], weights: dict[str, float] | None = None) -> dict[str, Floats]:
        """Return the agents' shares of the decision, from their own votes."""
        if len(self.classes_) == 1:
            return own
        if not self.contributions_:  # nothing learned: the initiator knows the shares of the classes
            prior = votes.scores_of(self.class_prior_[np.newaxis, :])
            first = next(iter(own))
            return {name: prior + scores if name == first else scores for name, scores in own.items()}
        if weights is None:
            weights = {name: agent.total_weight for name, agent in self.agents_.items()}
        return self._plan().make_method().combine(own, weights)

    def _labels(self, total: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[votes.winners(total)]
        return labels

    def _shown(self, total: Floats) -> Floats:
        return total[:, -1] if total.shape[1] <= 2 else total

    def _said(self, shares: dict[str, Floats], own: dict[str, Floats], n_voting: int) -> Floats:
        """Return the class probabilities, from the agents' shares of the decision.

        If the initiator has labels alone, they are the shares of the classes on samples on which no helper votes.
        """
        said = self._probabilities(_sum(shares), n_voting)
        if self._label_only and len(self.classes_) > 1:
            said[self._nobody(own)] = self.class_prior_
        return said

    def _probabilities(self, total: Floats, n_voting: int) -> Floats:
        if total.shape[1] == 1:
            return np.ones_like(total)
        if not self.contributions_:
            return votes.probabilities(total)
        if self.calibration_ is not None:
            return self.calibration_.probabilities(total)
        return self._plan().make_method().probabilities(total, n_voting)


def _sum(shares: dict[str, Floats]) -> Floats:
    return sum(shares.values(), np.zeros(next(iter(shares.values())).shape))


def _add_next(answers: Iterator[tuple[KeptModel, Said]], scores: Floats, rows: Any) -> None:
    """Add the votes of an agent's next model to its scores, in place; it has none if its agent holds no sample."""
    if isinstance(rows, slice):
        kept, said = next(answers)
        add_answers(scores, said, kept.model_weight)
    elif len(rows):
        kept, said = next(answers)
        own = scores[rows]
        add_answers(own, said, kept.model_weight)
        scores[rows] = own
