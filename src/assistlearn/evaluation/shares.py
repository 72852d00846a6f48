"""Who helped, and how much: Shapley shares of the gain over the initiator alone, with standard errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import factorial

import numpy as np
from numpy.typing import NDArray

from assistlearn.core.people import Groups, mean_and_error, means_and_errors
from assistlearn.core.votes import winners
from assistlearn.errors import SettingsError
from assistlearn.evaluation.calibration import SUREST, UNCHANGED, ScoreCalibration, lowering
from assistlearn.evaluation.metrics import LEAST
from assistlearn.types import Bools, Codes, Floats

# The value of a set of helpers is how good the initiator's result is with only these helpers: log loss and accuracy,
# sample by sample. A helper's share is its Shapley value: what it adds, averaged over all orders in which helpers may
# join. The result also says what is lost if only this helper is dropped.


HALF_INTERVAL = 1.96
"""Standard errors to either side that make a 95 % interval."""

Decide = Callable[[frozenset[str]], tuple[Floats, Floats]]
"""Returns the decision with a set of helpers: total scores and class probabilities, each ``n x K``."""


@dataclass(frozen=True)
class Estimate:
    """A mean over samples, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:+.3f} ± {HALF_INTERVAL * self.error:.3f}"


@dataclass(frozen=True)
class GainShare:
    """One helper's part of the gain: by how much it lowers the log loss and raises the accuracy, as its share.

    If it is dropped and all others stay, the log loss is ``loss_if_dropped`` higher. Likewise for the accuracy.
    """

    helper: str
    loss: Estimate
    accuracy: Estimate
    loss_if_dropped: Estimate
    accuracy_if_dropped: Estimate


@dataclass(frozen=True)
class GainShares:
    """By how much the helpers lower the log loss and raise the accuracy, all together; the shares of each sum to it.

    Helpers are in the order of the agents. ``n_orders`` says how many orders of joining were drawn; it is None if all
    sets of helpers were tried.
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
    """Return the helpers' shares, if the decision is the sum of the agents' scores, each ``n x K``.

    A ``calibration`` turns the sum into probabilities; by default it is the formula of
    :func:`assistlearn.core.votes.probabilities`. The ``seed`` is that of the orders that are drawn if there are more
    than :data:`MOST_EXACT` helpers. Standard errors go by persons where ``groups`` says which samples are about the
    same one.

    >>> own, codes = np.array([[0.2, -0.2], [0.1, -0.1]]), np.array([0, 1])
    >>> found = shares_of_sum(own, {"lab": np.array([[0.5, -0.5], [-0.5, 0.5]]), "noise": np.zeros((2, 2))}, codes)
    >>> [(share.helper, share.accuracy.value) for share in found.helpers]
    [('lab', 0.5), ('noise', 0.0)]
    """
    counts = _weights(codes, weights)
    sums = SumsOfSets(own, list(scores.values()), np.asarray(codes), calibration)
    if len(scores) > MOST_EXACT:
        return _by_drawn_orders([*scores], sums.on_the_way, sums.of, counts, seed, groups)
    found = np.zeros((4, len(scores), len(codes)))
    sums.add_all(*found)
    return _gain_shares([*scores], found, counts, groups)


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

    It is called once for every set or, with many helpers, for the sets along each drawn order. The other arguments are
    those of :func:`shares_of_sum`.
    """
    counts = _weights(codes, weights)

    def of(members: Bools) -> tuple[Floats, Floats]:
        total, said = decide(frozenset(name for name, there in zip(helpers, members, strict=True) if there))
        of_truth = said[np.arange(len(codes)), codes]
        return -np.log(np.clip(of_truth, LEAST, 1.0)), (winners(total) == codes).astype(np.float64)

    if len(helpers) > MOST_EXACT:
        return _by_drawn_orders(
            helpers, lambda order: [of(members) for members in sets_on_the_way(order)], of, counts, seed, groups
        )
    found = np.zeros((4, len(helpers), len(codes)))
    loss, right, dropped_loss, dropped_right = found
    for members, each in zip(every_set(len(helpers)), coefficients(len(helpers)).T, strict=True):
        own_loss, own_right = of(members)
        loss -= np.multiply.outer(each, own_loss)
        right += np.multiply.outer(each, own_right)
        missing = np.flatnonzero(~members)
        if len(missing) == 0:
            dropped_loss -= own_loss
            dropped_right += own_right
        if len(missing) == 1:
            dropped_loss[missing[0]] += own_loss
            dropped_right[missing[0]] -= own_right
    return _gain_shares(helpers, found, counts, groups)


def _weights(codes: Codes, weights: Floats | None) -> Floats:
    counts = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    there = int((counts > 0.0).sum())
    if there < 2:
        raise SettingsError(
            "Shares need at least two samples with a positive weight, for their standard errors; there "
            f"{'is' if there == 1 else 'are'} {there}."
        )
    return counts


def _by_drawn_orders(
    helpers: Sequence[str],
    on_the_way: Callable[[NDArray[np.intp]], Sequence[tuple[Floats, Floats]]],
    of: Callable[[Bools], tuple[Floats, Floats]],
    weights: Floats,
    seed: int,
    groups: Groups | None,
) -> GainShares:
    """Return mean shares over orders of joining; ``on_the_way`` gives the values of the sets along an order."""
    n_helpers, whole = len(helpers), weights.sum()
    loss, right, dropped_loss, dropped_right = found = np.zeros((4, n_helpers, len(weights)))
    means = []
    for order in drawn_orders(n_helpers, seed):
        values, mean = on_the_way(order), np.zeros((2, n_helpers))
        for helper, before, after in zip(order, values[:-1], values[1:], strict=True):
            lowered, raised = before[0] - after[0], after[1] - before[1]
            loss[helper] += lowered
            right[helper] += raised
            mean[:, helper] = weights @ lowered / whole, weights @ raised / whole
        means.append(mean)
    found[:2] /= len(means)
    all_loss, all_right = of(np.ones(n_helpers, dtype=bool))
    for helper, members in enumerate(~np.eye(n_helpers, dtype=bool)):
        own_loss, own_right = of(members)
        dropped_loss[helper], dropped_right[helper] = own_loss - all_loss, all_right - own_right
    # The error that comes from drawing orders: the spread over pairs of an order and its reverse.
    pairs = np.array(means).reshape(-1, 2, 2, n_helpers).mean(axis=1)
    return _gain_shares(helpers, found, weights, groups, means_and_errors(pairs)[1], len(means))


def _gain_shares(
    helpers: Sequence[str],
    found: Floats,
    weights: Floats,
    groups: Groups | None,
    chance: Floats | None = None,
    n_orders: int | None = None,
) -> GainShares:
    """Return shares and their errors, given those of every sample: loss, accuracy, and both if a helper is dropped.

    ``found`` is 4 x helpers x samples; a lower loss counts as positive. ``chance`` has the errors of loss and accuracy
    (2 x helpers) that come from drawing orders.
    """

    def estimate(each: Floats, more: float = 0.0) -> Estimate:
        mean, error = mean_and_error(each, weights, groups)
        return Estimate(mean, float(np.hypot(error, more)))

    loss, right, dropped_loss, dropped_right = found
    errors = np.zeros((2, len(helpers))) if chance is None else chance
    shares = tuple(
        GainShare(
            name,
            estimate(loss[j], errors[0][j]),
            estimate(right[j], errors[1][j]),
            estimate(dropped_loss[j]),
            estimate(dropped_right[j]),
        )
        for j, name in enumerate(helpers)
    )
    whole = estimate(loss.sum(axis=0)), estimate(right.sum(axis=0))
    return GainShares(*whole, shares, int((weights > 0.0).sum()), n_orders)


# Shapley values. Every sample has its own value, so that the spread over samples gives the standard error of the mean.
# A *table* has a row for each set and a column for each sample.


MOST_EXACT = 12
"""The largest number of players for which every set is computed. There are then 4,096 sets."""

PAIRS = 128
"""The number of pairs of orders that are drawn if there are more players. A pair is an order and its reverse."""


def every_set(n_players: int) -> Bools:
    """Return all sets, one per row. Row ``s`` contains player ``j`` if bit ``j`` of ``s`` is set."""
    numbers = np.arange(2**n_players)
    members: Bools = (numbers[:, np.newaxis] >> np.arange(n_players)) & 1 == 1
    return members


def coefficients(n_players: int) -> Floats:
    """Return the coefficient of each set, players x sets: ``coefficients @ table`` gives the Shapley values.

    A set :math:`S` without :math:`j` comes just before :math:`j` in :math:`|S|! (M - |S| - 1)!` of :math:`M!` orders.
    A table has a row for each set and a column for each sample.
    """
    members = every_set(n_players)
    sizes = members.sum(axis=1)
    whole = factorial(n_players)
    chances = np.array([factorial(s) * factorial(n_players - s - 1) / whole for s in range(n_players)])
    joined = np.append(0.0, chances)[sizes]  # the player has just joined the set
    before = np.append(chances, 0.0)[sizes]
    found: Floats = np.where(members, joined[:, np.newaxis], -before[:, np.newaxis])
    return found.T


def drawn_orders(n_players: int, seed: int, pairs: int = PAIRS) -> NDArray[np.intp]:
    """Return random orders of joining, each followed by its reverse, which makes chance matter less."""
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(n_players) for _ in range(pairs)]
    return np.array([order for one in drawn for order in (one, one[::-1])], dtype=np.intp)


def sets_on_the_way(order: NDArray[np.intp]) -> Iterator[Bools]:
    members = np.zeros(len(order), dtype=bool)
    yield members.copy()
    for player in order:
        members[player] = True
        yield members.copy()


# Losses and right answers of every set of helpers, where a set's decision is the sum of its members' scores.
#
# All is relative to the true class: a gap is how far another class is ahead of it, in votes or in the exponent. Gaps of
# agents add up as their scores do. The loss is then :math:`\log(1 + \sum_k e^{g_k})`, and the answer is right where no
# gap is positive. So K - 1 numbers do for K classes, and the sums of all sets follow from one another by doubling.


CELLS = 2**15
"""The number of sets times samples in memory at a time: a quarter of a megabyte stays in a processor's cache."""

MOST_LOSS = -float(np.log(LEAST))
FARTHEST = 40.0
"""The largest gap that is computed. Beyond it, the loss is at its maximum anyway."""


class SumsOfSets:
    """Computes the values of sets of helpers, from how far each class is ahead of the true one."""

    def __init__(
        self, own: Floats, scores: Sequence[Floats], codes: Codes, calibration: ScoreCalibration | None
    ) -> None:
        n_classes = own.shape[1]
        others = _other_classes(codes, n_classes)
        self._votes = [_ahead(each, codes, others) for each in (own, *scores)]
        self._exponents: list[Floats] | None = None
        self._factor = (n_classes - 1) / n_classes
        self._sureness = UNCHANGED if calibration is None else calibration.sureness
        if calibration is not None:
            scaled = [calibration.exponents(own), *(each * np.array(calibration.factors) for each in scores)]
            self._exponents = [_ahead(each, codes, others) for each in scaled]
        ties = np.where(codes < others, 0.0, -np.finfo(np.float64).smallest_subnormal)  # the first of equals wins
        self._most = ties[:, np.newaxis, :]

    def add_all(self, loss: Floats, right: Floats, dropped_loss: Floats, dropped_right: Floats) -> None:
        """Write the exact shares, and what is lost without each helper, into these arrays (helpers x samples)."""
        n_helpers = len(self._votes) - 1
        by_set = coefficients(n_helpers)
        without = 2**n_helpers - 1 - 2 ** np.arange(n_helpers)
        step = max(1, CELLS >> n_helpers)
        for start in range(0, loss.shape[1], step):
            block = slice(start, start + step)
            exponents = None if self._exponents is None else _sums(self._exponents, block)
            losses, rights = self._judged(_sums(self._votes, block), exponents, self._most[:, :, block])
            loss[:, block] = -(by_set @ losses)
            right[:, block] = by_set @ rights
            dropped_loss[:, block] = losses[without] - losses[-1]
            dropped_right[:, block] = rights[-1] - rights[without]

    def of(self, members: Bools) -> tuple[Floats, Floats]:
        """Return the losses of all samples with these helpers, and 1.0 where the answer is right."""
        return self._on_the_way([[0, *(np.flatnonzero(members) + 1)]])[0]

    def on_the_way(self, order: NDArray[np.intp]) -> list[tuple[Floats, Floats]]:
        """Return losses and right answers while helpers join in this order: before the first, and after each."""
        return self._on_the_way([[0], *([helper + 1] for helper in order)])

    def _on_the_way(self, steps: Sequence[Sequence[int]]) -> list[tuple[Floats, Floats]]:
        votes = np.zeros_like(self._votes[0])
        exponents = None if self._exponents is None else np.zeros_like(votes)
        found = []
        for joining in steps:
            for agent in joining:
                votes += self._votes[agent]
                if exponents is not None and self._exponents is not None:
                    exponents += self._exponents[agent]
            now = None if exponents is None else exponents[:, np.newaxis].copy()
            losses, rights = self._judged(votes[:, np.newaxis].copy(), now, self._most)
            found.append((losses[0], rights[0]))
        return found

    def _judged(self, gaps: Floats, exponents: Floats | None, most: Floats) -> tuple[Floats, Floats]:
        """Return losses and right answers, sets x samples. Overwrites ``gaps`` and ``exponents``."""
        right = _right(gaps, most)
        if exponents is None:
            gaps *= self._factor
            exponents = gaps
        elif len(gaps) > 1:
            _hold_winner(exponents, gaps, right)
        else:
            _hold_winner_of_two(exponents[0], right)
        if self._sureness != UNCHANGED:
            return np.minimum(_losses(exponents, right, self._sureness), MOST_LOSS), right
        np.minimum(exponents, FARTHEST, out=exponents)
        np.exp(exponents, out=exponents)
        loss = exponents[0]
        for more in exponents[1:]:
            loss += more
        loss += 1.0
        np.log(loss, out=loss)
        return np.minimum(loss, MOST_LOSS, out=loss), right


def _right(gaps: Floats, most: Floats) -> Floats:
    """Return 1.0 where the true class wins: no other class is ahead of it, and no earlier class is equal to it."""
    right: Bools = gaps[0] <= most[0]
    for gap, limit in zip(gaps[1:], most[1:], strict=True):
        right &= gap <= limit
    return right.astype(np.float64)


def _hold_winner(exponents: Floats, gaps: Floats, right: Floats) -> None:
    """Keep the class with the most votes the likeliest, as a calibration does; in place.

    Exponents are relative to the true class.
    """
    best, top = gaps[0].copy(), exponents[0].copy()
    for gap, exponent in zip(gaps[1:], exponents[1:], strict=True):
        ahead = gap > best
        np.copyto(best, gap, where=ahead)
        np.copyto(top, exponent, where=ahead)
    top *= 1.0 - right
    exponents -= np.minimum(top, 0.0)
    np.minimum(exponents, np.maximum(top, 0.0, out=top), out=exponents)


def _losses(exponents: Floats, right: Floats, sureness: tuple[float, float, float]) -> Floats:
    """Return the losses after the correction of the winner's sureness. Exponents are those from _hold_winner."""
    first, second = np.zeros_like(right), np.full_like(right, -np.inf)  # the two highest; the true class has 0
    for each in exponents:
        np.maximum(second, np.minimum(first, each), out=second)
        np.maximum(first, each, out=first)
    others = np.exp(-first) - 1.0  # add the true class, leave out the winner
    for each in exponents:
        others += np.exp(each - first)
    lower = lowering(-np.log(np.maximum(others, np.exp(-SUREST))), first - second, sureness)
    of_truth = np.minimum(-first - lower, 0.0)
    total = 1.0 + np.exp(of_truth) - np.exp(np.minimum(-lower, 0.0))
    for each in exponents:
        total += np.exp(np.minimum(each - first - lower, 0.0))
    losses: Floats = np.log(total) - (1.0 - right) * of_truth
    return losses


def _hold_winner_of_two(exponents: Floats, right: Floats) -> None:
    """Do the same for two classes: the other class's exponent is at most 0 if the true class won, else at least 0."""
    sign = 1.0 - 2.0 * right
    exponents *= sign
    np.maximum(exponents, 0.0, out=exponents)
    exponents *= sign


def _sums(parts: Sequence[Floats], block: slice) -> Floats:
    """Return the gaps of every set: classes x sets x samples. Each helper doubles the sets that are there."""
    own, *helpers = (each[:, block] for each in parts)
    sums = np.empty((own.shape[0], 2 ** len(helpers), own.shape[1]))
    sums[:, 0] = own
    for j, gaps in enumerate(helpers):
        np.add(sums[:, : 2**j], gaps[:, np.newaxis], out=sums[:, 2**j : 2 ** (j + 1)])
    return sums


def _other_classes(codes: Codes, n_classes: int) -> NDArray[np.intp]:
    places = np.arange(n_classes - 1)[:, np.newaxis]
    others: NDArray[np.intp] = places + (places >= codes)
    return others


def _ahead(scores: Floats, codes: Codes, others: NDArray[np.intp]) -> Floats:
    """Return by how much the other classes are ahead of the true one: (K - 1) x samples."""
    rows = np.arange(len(codes))
    gaps: Floats = scores[rows, others] - scores[rows, codes]
    return np.ascontiguousarray(gaps)


NORMAL = 1.959963984540054  # the 97.5 % point of the standard normal distribution


def mean_shares(runs: Iterable[GainShares]) -> GainShares:
    """Return the mean shares of several runs that differ only by chance, with errors that include this chance.

    If two helpers know the same, the one that comes first gets the larger share. With ``order="random"`` this is chance
    alone, and a single run cannot show how large its influence is. Several runs with different seeds can.

    Parameters
    ----------
    runs : iterable of GainShares
        Two or more, of the same helpers on the same samples, by models fitted with different ``random_state``.

    Returns
    -------
    shares : GainShares
        The means. The standard errors include the chance of the samples, which all runs share, and the chance of the
        runs. The second is larger if there are few runs, so that 1.96 errors still make an interval of about 95 %.

    Examples
    --------
    >>> one = Estimate(0.25, 0.0)
    >>> first, second = (
    ...     GainShares(one, one, (GainShare("lab", Estimate(value, 0.0), one, one, one),), 100, None)
    ...     for value in (0.125, 0.375)
    ... )
    >>> mean_shares([first, second]).helpers[0].loss.value
    0.25
    """
    found = list(runs)
    names = [tuple(share.helper for share in each.helpers) for each in found]
    if len(found) < 2 or len(set(names)) > 1 or len({each.n_samples for each in found}) > 1:
        raise SettingsError(
            "A mean over runs needs at least two runs with the same helpers and the same samples; here are "
            f"{len(found)} with the helpers {sorted(set(names))} and {sorted({each.n_samples for each in found})} "
            "samples."
        )
    helpers = tuple(_share(parts) for parts in zip(*(each.helpers for each in found), strict=True))
    loss, accuracy = _mean([each.loss for each in found]), _mean([each.accuracy for each in found])
    return GainShares(loss, accuracy, helpers, found[0].n_samples, found[0].n_orders)


def _share(parts: Sequence[GainShare]) -> GainShare:
    return GainShare(
        parts[0].helper,
        *(_mean([getattr(part, each.name) for part in parts]) for each in fields(GainShare)[1:]),
    )


def _mean(parts: Sequence[Estimate]) -> Estimate:
    mean, error = mean_and_error(np.array([part.value for part in parts]))
    of_samples = float(np.mean([part.error for part in parts]))
    from scipy import stats

    of_runs = error * stats.t.ppf(0.975, len(parts) - 1) / NORMAL
    return Estimate(mean, float(np.hypot(of_samples, of_runs)))
