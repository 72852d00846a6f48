"""Who helped a fitted ensemble, and how much: the helpers' shares of the gain on samples with labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import SettingsError
from assistlearn.estimators.checks import check_agents, check_sample_weight
from assistlearn.estimators.voting import VotesMixin
from assistlearn.evaluation.shares import GainShares, shares_of_decisions, shares_of_sum


class SharesMixin(VotesMixin):
    """How much each helper adds to a fitted ensemble."""

    def subset(self, names: Sequence[str]) -> Self:
        """Return this fitted model with some of its agents."""
        raise NotImplementedError

    def shares(self, X: Any, y: Any, sample_weight: Any = None) -> GainShares:
        """Return every helper's share of the gain over the initiator alone.

        A helper's share is its Shapley value: what it adds, averaged over all orders in which the helpers could have
        joined. It is exact for up to 12 helpers. A set of helpers is judged by the log loss and the accuracy of
        :meth:`subset` of the initiator and these helpers on the samples. The shares sum to the gain of all together.
        They describe this trained ensemble. They do not say how good a training without the helper would have been.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns, of samples that the ensemble was not fitted to.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        shares : GainShares
            For each helper its share of the lower log loss and of the higher accuracy, with standard errors, and what
            is lost if it alone is dropped. :class:`~assistlearn.display.SharesDisplay` draws it.
        """
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        first, *helpers = self._initiator_first()
        codes = self._codes_of(y, _num_samples(X))
        weights = check_sample_weight(sample_weight, X)
        said, numbers = self._votes_on(X), self._own_numbers_of(X)
        always_speaks = bool(said[first].scores.any(axis=1).all())  # so that every set's decision is a sum of votes
        if always_speaks and self.combination_ is None and self._plan().make_method().adds_up:
            parts = {name: each.scores for name, each in said.items()}
            return shares_of_sum(parts.pop(first), parts, codes, weights, calibration=self.calibration_)

        def decide(names: Collection[str]) -> tuple[Floats, Floats]:
            there = {name: each for name, each in said.items() if name == first or name in names}
            decision = self._decided(there, numbers)
            return decision.total, decision.probabilities

        return shares_of_decisions(helpers, decide, codes, weights)

    def _initiator_first(self) -> list[str]:
        initiator = check_agents(self.agents)[0][0]
        if initiator not in self.agents_:
            raise SettingsError(
                f"Shares are parts of what the initiator {initiator!r} gains, but it is not one of the agents "
                f"{list(self.agents_)}. Use the whole model, or a subset that includes it."
            )
        return list(self.agents_)

    def _codes_of(self, y: Any, n_samples: int) -> Codes:
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        if len(labels) != n_samples:
            raise SettingsError(f"X has {n_samples} rows, but y has {len(labels)} labels.")
        places = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        unknown = labels[self.classes_[places] != labels]
        if len(unknown):
            raise SettingsError(
                f"{len(unknown)} of the {n_samples} labels are not among the classes that were learned (first: "
                f"{unknown[0]!r}). Leave these samples out."
            )
        return places
