"""Who helped, and how much: every helper's share of the gain over the initiator alone, on samples with labels.

The value of a set of helpers is how good the initiator's result is with only these helpers: log loss and accuracy,
sample by sample. A helper's share is its Shapley value: what it adds, averaged over all orders in which helpers may
join. The result also says what is lost if only this helper is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assistlearn.core.groups import Groups
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.means import mean_and_error, means_and_errors
from assistlearn.core.votes import Codes, winners
from assistlearn.errors import SettingsError
from assistlearn.evaluation.difference import LEAST
from assistlearn.evaluation.score_calibration import ScoreCalibration
from assistlearn.evaluation.shapley import MOST_EXACT, coefficients, drawn_orders, every_set, sets_on_the_way
from assistlearn.evaluation.sums_of_sets import SumsOfSets

HALF_INTERVAL = 1.96
"""Standard errors to either side that make a 95 % interval."""

Decide = Callable[[frozenset[str]], tuple[Floats, Floats]]
"""Returns the decision with a set of helpers: total scores and class probabilities, each ``n x K``."""


@dataclass(frozen=True)
class Estimate:
    """A mean over samples.

    Attributes
    ----------
    value : float
        The mean.
    error : float
        Its standard error. The mean plus or minus 1.96 errors is about a 95 % interval.
    """

    value: float
    error: float

    def __str__(self) -> str:
        """Return the mean, with its 95 % interval.

        >>> print(Estimate(0.25, 0.05))
        +0.250 ± 0.098
        """
        return f"{self.value:+.3f} ± {HALF_INTERVAL * self.error:.3f}"


@dataclass(frozen=True)
class GainShare:
    """One helper's part of the gain.

    Attributes
    ----------
    helper : str
        Its name.
    loss : Estimate
        By how much it lowers the log loss, as its share.
    accuracy : Estimate
        By how much it raises the accuracy, as its share.
    loss_if_dropped : Estimate
        By how much the log loss is higher without it, all others staying.
    accuracy_if_dropped : Estimate
        By how much the accuracy is lower without it, all others staying.
    """

    helper: str
    loss: Estimate
    accuracy: Estimate
    loss_if_dropped: Estimate
    accuracy_if_dropped: Estimate


@dataclass(frozen=True)
class GainShares:
    """Every helper's share of what the initiator has gained.

    Attributes
    ----------
    loss : Estimate
        By how much the helpers lower the log loss, all together; the shares sum to it.
    accuracy : Estimate
        By how much they raise the accuracy; the shares sum to it.
    helpers : tuple of GainShare
        In the order of the agents.
    n_samples : int
        The number of samples.
    n_orders : int or None
        How many orders of joining were drawn; None if all sets of helpers were tried.
    """

    loss: Estimate
    accuracy: Estimate
    helpers: tuple[GainShare, ...]
    n_samples: int
    n_orders: int | None

    def __str__(self) -> str:
        """Return a table: a row for all helpers together, then one for each helper.

        >>> gain, part = Estimate(0.25, 0.01), Estimate(0.125, 0.0)
        >>> print(GainShares(gain, gain, (GainShare("lab", part, gain, part, part),), 100, None))
        On 100 samples, with 95 % intervals:
                     lower log loss  higher accuracy  lost if dropped: log loss        accuracy
        all helpers  +0.250 ± 0.020   +0.250 ± 0.020
        lab          +0.125 ± 0.000   +0.250 ± 0.020             +0.125 ± 0.000  +0.125 ± 0.000
        """
        rows: list[tuple[str, ...]] = [
            ("", "lower log loss", "higher accuracy", "lost if dropped: log loss", "accuracy")
        ]
        rows += [("all helpers", str(self.loss), str(self.accuracy), "", "")]
        for each in self.helpers:
            figures = (each.loss, each.accuracy, each.loss_if_dropped, each.accuracy_if_dropped)
            rows.append((each.helper, *map(str, figures)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([name.ljust(widths[0]), *(said.rjust(n) for said, n in zip(figures, widths[1:], strict=True))])
            for name, *figures in rows
        ]
        return "\n".join([f"On {self.n_samples:,} samples, with 95 % intervals:", *(line.rstrip() for line in lines)])


def shares_of_sum(
    own: Floats,
    scores: Mapping[str, Floats],
    codes: Codes,
    weights: Floats | None = None,
    *,
    calibration: ScoreCalibration | None = None,
    seed: int = 0,
    groups: Groups | None = None,
) -> GainShares:
    """Return the helpers' shares, if the decision is the sum of the agents' scores.

    Parameters
    ----------
    own : array of shape (n_samples, n_classes)
        The initiator's scores.
    scores : mapping of str to array of shape (n_samples, n_classes)
        Every helper's scores.
    codes : array of int of shape (n_samples,)
        The true classes.
    weights : array of shape (n_samples,), optional
        The weights of the samples; equal by default.
    calibration : ScoreCalibration, optional
        Turns the sum into probabilities; by default the formula of :func:`assistlearn.core.votes.probabilities`.
    seed : int
        The seed of the orders that are drawn if there are more than :data:`~assistlearn.evaluation.shapley.MOST_EXACT`
        helpers.
    groups : array of int of shape (n_samples,), optional
        Which samples are about the same person, for standard errors; by default no two are.

    Examples
    --------
    >>> own, codes = np.array([[0.2, -0.2], [0.1, -0.1]]), np.array([0, 1])
    >>> found = shares_of_sum(own, {"lab": np.array([[0.5, -0.5], [-0.5, 0.5]]), "noise": np.zeros((2, 2))}, codes)
    >>> [(share.helper, share.accuracy.value) for share in found.helpers]
    [('lab', 0.5), ('noise', 0.0)]
    """
    counts = _weights(codes, weights)
    found = _PerSample(len(scores), counts, groups)
    sums = SumsOfSets(own, list(scores.values()), np.asarray(codes), calibration)
    if found.exact:
        sums.add_all(found.loss, found.right, found.dropped_loss, found.dropped_right)
    else:
        for order in drawn_orders(len(scores), seed):
            found.add_order(order, sums.on_the_way(order))
        found.add_dropped([sums.of(members) for members in _all_and_without_each(len(scores))])
    return found.shares(list(scores))


def shares_of_decisions(
    helpers: Sequence[str],
    decide: Decide,
    codes: Codes,
    weights: Floats | None = None,
    *,
    seed: int = 0,
    groups: Groups | None = None,
) -> GainShares:
    """Return the helpers' shares, if ``decide`` makes the decision with each set of helpers.

    Parameters
    ----------
    helpers : sequence of str
        Their names.
    decide : callable
        Returns total scores and class probabilities, each ``n x K``, for a set of helpers and the initiator. It is
        called once for every set or, with many helpers, for the sets along each drawn order.
    codes : array of int of shape (n_samples,)
        The true classes.
    weights : array of shape (n_samples,), optional
        The weights of the samples; equal by default.
    seed : int
        The seed of the orders that are drawn if there are many helpers.
    groups : array of int of shape (n_samples,), optional
        Which samples are about the same person, for standard errors; by default no two are.
    """
    counts = _weights(codes, weights)
    found = _PerSample(len(helpers), counts, groups)

    def of(members: Bools) -> tuple[Floats, Floats]:
        total, said = decide(frozenset(name for name, there in zip(helpers, members, strict=True) if there))
        of_truth = said[np.arange(len(codes)), codes]
        return -np.log(np.clip(of_truth, LEAST, 1.0)), (winners(total) == codes).astype(np.float64)

    if found.exact:
        for members, each in zip(every_set(len(helpers)), coefficients(len(helpers)).T, strict=True):
            found.add_set(members, each, of(members))
    else:
        for order in drawn_orders(len(helpers), seed):
            found.add_order(order, [of(members) for members in sets_on_the_way(order)])
        found.add_dropped([of(members) for members in _all_and_without_each(len(helpers))])
    return found.shares(helpers)


def _weights(codes: Codes, weights: Floats | None) -> Floats:
    counts = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    there = int((counts > 0.0).sum())
    if there < 2:
        raise SettingsError(
            "Shares need at least two samples with a positive weight, for their standard errors; there "
            f"{'is' if there == 1 else 'are'} {there}."
        )
    return counts


def _all_and_without_each(n_helpers: int) -> Bools:
    """Return the set of all helpers, then each set without one."""
    without: Bools = ~np.eye(n_helpers, dtype=bool)
    return np.vstack([np.ones((1, n_helpers), dtype=bool), without])


@dataclass
class _PerSample:
    """The shares of every sample, helpers x samples, while they are added up. A lower loss counts as positive."""

    n_helpers: int
    weights: Floats
    groups: Groups | None
    loss: Floats = field(init=False)
    right: Floats = field(init=False)
    dropped_loss: Floats = field(init=False)
    dropped_right: Floats = field(init=False)
    by_order: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = (self.n_helpers, len(self.weights))
        self.loss, self.right = np.zeros(shape), np.zeros(shape)
        self.dropped_loss, self.dropped_right = np.zeros(shape), np.zeros(shape)

    @property
    def exact(self) -> bool:
        """Whether there are few enough helpers to look at every set."""
        return self.n_helpers <= MOST_EXACT

    def add_set(self, members: Bools, each: Floats, values: tuple[Floats, Floats]) -> None:
        """Add a set with its coefficients, one for each helper."""
        loss, right = values
        self.loss -= np.multiply.outer(each, loss)
        self.right += np.multiply.outer(each, right)
        missing = np.flatnonzero(~members)
        if len(missing) == 0:
            self.dropped_loss -= loss
            self.dropped_right += right
        if len(missing) == 1:
            self.dropped_loss[missing[0]] += loss
            self.dropped_right[missing[0]] -= right

    def add_order(self, order: Codes, values: Sequence[tuple[Floats, Floats]]) -> None:
        """Add what each helper changes when it joins in this order."""
        means = np.zeros((2, self.n_helpers))
        whole = self.weights.sum()
        for helper, before, after in zip(order, values[:-1], values[1:], strict=True):
            lowered, raised = before[0] - after[0], after[1] - before[1]
            self.loss[helper] += lowered
            self.right[helper] += raised
            means[:, helper] = self.weights @ lowered / whole, self.weights @ raised / whole
        self.by_order.append(means)

    def add_dropped(self, values: Sequence[tuple[Floats, Floats]]) -> None:
        """Set what is lost without each helper, from the values of the set of all and of each set without one."""
        (loss, right), *without = values
        for helper, (own_loss, own_right) in enumerate(without):
            self.dropped_loss[helper] = own_loss - loss
            self.dropped_right[helper] = right - own_right

    def shares(self, helpers: Sequence[str]) -> GainShares:
        """Return the shares: means over samples, with standard errors."""
        n_orders = len(self.by_order)
        loss, right = (table / n_orders if n_orders else table for table in (self.loss, self.right))
        chance = self._errors_of_chance()
        found = tuple(
            GainShare(
                name,
                self._estimate(loss[j], chance[0][j]),
                self._estimate(right[j], chance[1][j]),
                self._estimate(self.dropped_loss[j]),
                self._estimate(self.dropped_right[j]),
            )
            for j, name in enumerate(helpers)
        )
        n_samples = int((self.weights > 0.0).sum())
        whole = self._estimate(loss.sum(axis=0)), self._estimate(right.sum(axis=0))
        return GainShares(*whole, found, n_samples, n_orders or None)

    def _estimate(self, each: Floats, more: float = 0.0) -> Estimate:
        mean, error = mean_and_error(each, self.weights, self.groups)
        return Estimate(mean, float(np.hypot(error, more)))

    def _errors_of_chance(self) -> Floats:
        """Return the errors of loss and accuracy that come from drawing orders, by the spread over pairs of orders."""
        if not self.by_order:
            return np.zeros((2, self.n_helpers))
        pairs = np.array(self.by_order).reshape(-1, 2, 2, self.n_helpers).mean(axis=1)
        return means_and_errors(pairs)[1]
