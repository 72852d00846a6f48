"""Who helped a fitted ensemble, and how much: the helpers' shares of the gain on samples with labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from assistlearn.core.ignorance import Bools, Floats
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
        said = _Said(self._votes_on(X), self._present(X), self._own_numbers_of(X))
        if self._adds_up(first, said.present[first]):
            parts = self._decided(*said.of(self.agents_))
            return shares_of_sum(parts.pop(first), parts, codes, weights, calibration=self.calibration_)
        return shares_of_decisions(helpers, lambda names: self._decided_with({first} | names, said), codes, weights)

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

    def _adds_up(self, first: str, held: Bools | None) -> bool:
        """Return whether every set's decision is a sum of scores that includes the initiator's, on every sample."""
        speaks = any(made.agent == first for made in self.contributions_) and (held is None or bool(held.all()))
        return speaks and self.combination_ is None and self._plan().make_method().adds_up

    def _decided_with(self, names: Collection[str], said: _Said) -> tuple[Floats, Floats]:
        """Return what some of the agents decide: total scores and class probabilities."""
        part = self.subset([name for name in self.agents_ if name in names])
        own, present, numbers = said.of(part.agents_)
        shares = part._decided(own, present, numbers)
        total = sum(shares.values(), np.zeros(1))
        return total, part._said(shares, own, len({made.agent for made in part.contributions_}))


class _Said(NamedTuple):
    """The agents' votes on some samples, which samples each agent holds, and the initiator's columns as numbers."""

    votes: dict[str, Floats]
    present: dict[str, Bools | None]
    numbers: Floats | None

    def of(self, agents: Iterable[str]) -> tuple[dict[str, Floats], dict[str, Bools | None], Floats | None]:
        """Return the same for some of the agents. The votes are copies: the caller may change them."""
        return {a: self.votes[a].copy() for a in agents}, {a: self.present[a] for a in agents}, self.numbers
