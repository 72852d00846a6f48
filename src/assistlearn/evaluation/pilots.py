"""Pilots: what is drawn, and intervals that stay valid however often you look."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from assistlearn.core.people import Groups, in_order, mean_and_error
from assistlearn.errors import SettingsError
from assistlearn.evaluation.words import LOSS_WORDS, Terms, greatest
from assistlearn.types import Codes, Floats

# An interval for a mean, found by betting. It stays valid however often you look.
#
# To test a candidate mean :math:`m` of values in [0, 1], somebody bets that the values are above it. Before every
# value a share :math:`l` of the capital is bet, at odds that are fair if :math:`m` is the mean. After the values
# :math:`x_1, \dots, x_n` a capital of 1 has become
#
# .. math:: K_n(m) = \prod_{i \le n} \Bigl(1 - l + l \, \frac{x_i}{m}\Bigr).
#
# If :math:`m` is the mean, this is a fair game, and the chance that the capital *ever* reaches :math:`1 / \alpha` is
# at most :math:`\alpha` (Ville's inequality). So a candidate is excluded for good once the capital reaches this value,
# and you may look after every value. This is the method of Waudby-Smith and Ramdas (2023), except that the capital is
# divided among many bets at the beginning. Their single bet changes on the way. So here there is nothing to tune, and
# the order of the values does not matter.
#
# The capital falls as :math:`m` rises. So all excluded candidates lie below one limit, which is found by bisection.
# The upper limit is one minus the lower limit of :math:`1 - x`.


N_BETS = 32
BETS: Floats = (np.arange(1, N_BETS + 1) / (N_BETS + 1)) ** 2
"""The shares that are bet. Each gets an equal part of the capital. They are squares, so that many are small: small
differences need small bets. They are not a setting, and were not chosen by looking at data."""

HALVINGS = 32
"""How many steps the bisection takes: the limit is then exact to 3e-10 of the range, and never too tight."""

NOTHING = 1e-12
"""A mean of the values up to this counts as zero: no limit is searched for."""


class ConfidenceSequence:
    """Limits of a mean. With probability ``1 - alpha``, the mean is within them at all times.

    Values lie between ``low`` and ``high``. The limits never get wider.

    >>> sequence = ConfidenceSequence(alpha=0.05, low=-1.0, high=1.0)
    >>> for _ in range(3):
    ...     limits = sequence.hear(np.repeat([1.0, 0.0, -1.0], [8, 41, 1]))
    ...     print(f"{sequence.n}: {limits[0]:+.3f} to {limits[1]:+.3f}")
    50: -0.049 to +0.350
    100: +0.016 to +0.284
    150: +0.041 to +0.256
    """

    def __init__(self, alpha: float, low: float = 0.0, high: float = 1.0) -> None:
        if not 0.0 < alpha < 1.0:
            raise SettingsError(f"alpha={alpha!r} must lie between 0 and 1, for example 0.05.")
        self._low, self._range = low, high - low
        self._log_threshold = float(np.log(2.0 / alpha))  # each limit has half of alpha
        self._values: Floats = np.empty(0)
        self._counts: Floats = np.empty(0)
        self._lower, self._upper = 0.0, 1.0

    @property
    def n(self) -> int:
        return int(self._counts.sum())

    @property
    def mean(self) -> float:
        return self._low + self._range * float(self._values @ self._counts) / self.n if self.n else float("nan")

    @property
    def error(self) -> float:
        return self._range * mean_and_error(np.repeat(self._values, self._counts.astype(np.intp)))[1]

    @property
    def limits(self) -> tuple[float, float]:
        return self._low + self._range * self._lower, self._low + self._range * self._upper

    def hear(self, values: Floats) -> tuple[float, float]:
        """Add values, and return the new limits. They are valid whenever the caller decides to stop."""
        scaled = (np.asarray(values, dtype=np.float64) - self._low) / self._range
        if not np.all((scaled >= 0.0) & (scaled <= 1.0)):  # also refuses what is not a number
            raise SettingsError(f"Values must lie between {self._low} and {self._low + self._range}.")
        every, counts = np.append(self._values, scaled), np.append(self._counts, np.ones(len(scaled)))
        self._values, place = np.unique(every, return_inverse=True)
        self._counts = np.bincount(place, weights=counts).astype(np.float64)
        self._lower = lower_limit(self._values, self._counts, self._log_threshold, self._lower)
        below = lower_limit(1.0 - self._values, self._counts, self._log_threshold, 1.0 - self._upper)
        self._upper = min(1.0 - below, self._upper)
        return self.limits


def lower_limit(values: Floats, counts: Floats, log_threshold: float, least: float = 0.0) -> float:
    """Return the largest candidate mean that is excluded: against it, the capital has reached a threshold.

    ``values`` lie between 0 and 1, and ``counts`` says how often each was seen. Candidates up to ``least`` are already
    excluded.
    """
    greatest = float(values @ counts / counts.sum()) if len(values) else 0.0
    if greatest <= max(least, NOTHING) or (least > 0.0 and log_capital(values, counts, least) < log_threshold):
        return least
    out, left = least, greatest  # the mean of the values itself is never excluded
    for _ in range(HALVINGS):
        middle = 0.5 * (out + left)
        if log_capital(values, counts, middle) >= log_threshold:
            out = middle
        else:
            left = middle
    return out


def log_capital(values: Floats, counts: Floats, candidate: float) -> float:
    """Return the logarithm of the capital after bets that the mean is above a candidate. It was 1 at first."""
    grown = np.log((1.0 - BETS)[:, None] + np.outer(BETS, values / candidate)) @ counts
    most = grown.max()
    return float(most + np.log(np.mean(np.exp(grown - most))))


MOST_TRAINING = 5_000
"""The largest number of samples to train on, if ``train_size`` is a share."""

MOST_OPENED = 10_000

STREAM = 5
"""The number of the pilot's stream of random numbers. A seed has several streams; the others belong to the run."""


def drawn(
    terms: Terms, labels: Codes, seed: int, groups: Groups | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions of the samples to train on, and of those that may be opened, in the order of opening.

    The draw does not look at labels: samples that are opened later must be like those opened before. But every class
    must be among those to train on. All samples of a person (``groups``) are trained on, or one of them may be opened:
    a second one would say little more.
    """
    order = np.random.RandomState([seed, STREAM]).permutation(len(labels))
    n_training = _n_training(terms.train_size, len(labels))
    if not 0 < n_training < len(labels):
        raise SettingsError(
            f"train_size={terms.train_size!r} of {len(labels)} labelled samples leaves {n_training} to train on and "
            f"{max(len(labels) - n_training, 0)} to open. Both are needed: use another size, or more samples."
        )
    training, pool = _parted(order, n_training, groups)
    if not len(pool):
        raise SettingsError(
            f"train_size={terms.train_size!r} of {len(labels)} labelled samples leaves nobody to open: too many of "
            "them are about the same person. Train on fewer samples."
        )
    lost = np.setdiff1d(labels, labels[training])
    if len(lost):
        rare = int(np.count_nonzero(labels == lost[0]))
        raise SettingsError(
            f"None of the {n_training} samples to train on has the label {lost[0]}, but {rare} of all {len(labels)} "
            "samples have it. Train on more samples, use another seed, or leave such rare labels out."
        )
    return training, pool


def _parted(
    order: NDArray[np.intp], n_training: int, groups: Groups | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if groups is None:
        return np.sort(order[:n_training]), order[n_training : n_training + MOST_OPENED]
    place = in_order(groups, order)
    persons = np.argsort(place)
    n_persons = max(int(np.count_nonzero(np.cumsum(np.bincount(groups)[persons]) <= n_training)), 1)
    trained_on = np.zeros(len(place), dtype=bool)
    trained_on[persons[:n_persons]] = True
    return np.flatnonzero(trained_on[groups]), order[place[persons[n_persons : n_persons + MOST_OPENED]]]


def _n_training(size: float, n: int) -> int:
    return int(size) if isinstance(size, Integral) else min(math.floor(size * n), MOST_TRAINING)


# A pilot stops when the answer is clear, and an answer is clear sooner where the opened samples happen to look good.
# So their mean gain is too high after a *yes*, and too low after a *no*. The limits allow for this, the mean does not.
# So what the opened samples show by chance is taken off. Let the mean have the standard error :math:`s`, and let the
# nearer limit be :math:`d` beyond the gain that was asked for. The answer would have come for every mean that is up to
# :math:`d` less favourable, and for no other. Of normal numbers with the spread :math:`s`, those above the line at
# :math:`z = d / s` below their centre are on average higher than it by
#
# .. math:: s \, \frac{\varphi(z)}{\Phi(z)}.
#
# This is nearly .8 of a standard error if the answer was close, and nothing if it was clear by far.


WorthAnswer: TypeAlias = Literal["yes", "no", "undecided"]


class Look(NamedTuple):
    n_opened: int
    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Gain:
    """What some helpers gain, and whether that is enough.

    The ``estimate`` is the mean over the opened samples, less what these show by chance because the answer came when
    they did. The limits ``lower`` and ``upper`` are valid however often you look, but for a chance of ``alpha``. The
    ``path`` has the gain and its limits after each block.
    """

    helpers: tuple[str, ...]
    answer: WorthAnswer
    estimate: float
    lower: float
    upper: float
    alpha: float
    path: tuple[Look, ...] = field(repr=False)


@dataclass(frozen=True)
class Worth:
    """What a pilot has found. The answer is about all helpers ``together``.

    The gains of ``helpers`` are those of each alone with the initiator. The losses are means over the
    opened samples. ``n_closed`` samples might have been opened, and were not. ``n_bytes`` were exchanged with each
    helper; it is None if all agents were in one process. Where ``alone_by_labels``, the initiator has labels and no
    features: alone it answers the most frequent class, with the shares of the labels as probabilities.
    """

    together: Gain
    helpers: Mapping[str, Gain]
    terms: Terms
    n_training: int
    n_opened: int
    n_closed: int
    loss_alone: float
    loss_assisted: float
    n_bytes: Mapping[str, int] | None = None
    alone_by_labels: bool = False

    @property
    def answer(self) -> WorthAnswer:
        return self.together.answer

    @property
    def interval(self) -> tuple[float, float]:
        return self.together.lower, self.together.upper

    def __str__(self) -> str:
        found, (lower, upper), what = self.together, self.interval, LOSS_WORDS[self.terms.loss]
        alone = f"{self.loss_alone:.3f}{' (the most frequent class)' if self.alone_by_labels else ''}"
        return (
            f"{found.answer}: help lowers the {what} by {found.estimate:+.3f} ({lower:+.3f} to {upper:+.3f}; asked "
            f"for: {self.terms.at_least:+g}). On {self.n_opened:,} opened samples it is {self.loss_assisted:.3f}, "
            f"alone {alone}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, those of the gain of all helpers at the top."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        together, each, asked = (facts.pop(name) for name in ("together", "helpers", "terms"))
        return {**together, "each": each, "asked": asked, **facts}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Worth:
        return msgspec.convert({**facts, "together": facts, "helpers": facts["each"], "terms": facts["asked"]}, cls)


class Weighing:
    """Collects the losses of opened samples, block by block, and answers the questions of a pilot.

    The first question is about all helpers together and has half of alpha. The others are about each helper and share
    the other half. With a single helper there is one question, which gets all of alpha.
    """

    def __init__(self, terms: Terms, helpers: Sequence[str]) -> None:
        self.terms = terms
        self.sets: list[tuple[str, ...]] = [tuple(helpers)]
        alphas = [terms.alpha]
        if len(helpers) > 1:
            self.sets += [(helper,) for helper in helpers]
            alphas = [terms.alpha / 2, *[terms.alpha / 2 / len(helpers)] * len(helpers)]
        self._questions = [_Question(helpers, alpha, terms) for helpers, alpha in zip(self.sets, alphas, strict=True)]
        self._sum = np.zeros(2)

    @property
    def n_opened(self) -> int:
        return self._questions[0].sequence.n

    @property
    def answered(self) -> bool:
        """Whether there is an answer to every question for which samples are opened."""
        asked = self._questions if self.terms.each_helper else self._questions[:1]
        return all(question.answer != "undecided" for question in asked)

    def hear(self, losses: Floats) -> None:
        """Add the losses of a block of samples: a row for the initiator alone, then one with the help of each set."""
        alone, *helped = losses
        for question, loss in zip(self._questions, helped, strict=True):
            question.hear(alone - loss)
        self._sum += losses[:2].sum(axis=1)

    def gains(self) -> list[Gain]:
        return [question.gain() for question in self._questions]

    def worth(
        self, n_training: int, n_pool: int, n_bytes: Mapping[str, int] | None = None, alone_by_labels: bool = False
    ) -> Worth:
        together, *each = self.gains()
        by_helper = {gain.helpers[0]: gain for gain in each or [together]}
        alone, assisted = (float(mean) for mean in self._sum / max(self.n_opened, 1))
        n_closed = n_pool - self.n_opened
        losses = n_closed, alone, assisted
        return Worth(together, by_helper, self.terms, n_training, self.n_opened, *losses, n_bytes, alone_by_labels)


class _Question:
    def __init__(self, helpers: tuple[str, ...], alpha: float, terms: Terms) -> None:
        most = greatest(terms.loss)
        self.sequence = ConfidenceSequence(alpha, -most, most)
        self.answer: WorthAnswer = "undecided"
        self._helpers, self._alpha, self._at_least = helpers, alpha, terms.at_least
        self._by_chance = 0.0  # what the samples that brought the answer show too much, in all
        self._path: list[Look] = []

    def hear(self, differences: Floats) -> None:
        lower, upper = self.sequence.hear(differences)
        if self.answer == "undecided":  # the first answer counts
            self.answer = "yes" if lower > self._at_least else "no" if upper < self._at_least else "undecided"
            if self.answer != "undecided":
                sign, beyond = (1.0, lower - self._at_least) if self.answer == "yes" else (-1.0, self._at_least - upper)
                self._by_chance = sign * self.sequence.n * shown_by_chance(self.sequence.error, beyond)
        self._path.append(Look(self.sequence.n, self._estimate(), lower, upper))

    def gain(self) -> Gain:
        limits = self.sequence.limits
        return Gain(self._helpers, self.answer, self._estimate(), *limits, self._alpha, tuple(self._path))

    def _estimate(self) -> float:
        """Return the mean less what is chance. What is opened after the answer counts as it is."""
        if not self.sequence.n:
            return math.nan
        lower, upper = self.sequence.limits
        return min(max(self.sequence.mean - self._by_chance / self.sequence.n, lower), upper)


def shown_by_chance(error: float, beyond: float) -> float:
    """Return how much too favourable the mean of samples is on average, where it ends a pilot.

    ``error`` is the standard error of the mean, and ``beyond`` by how much less favourable it might have been and still
    have ended it.

    >>> [round(shown_by_chance(0.1, beyond), 4) for beyond in (0.0, 0.1, 0.3)]
    [0.0798, 0.0288, 0.0004]
    """
    if error == 0.0:
        return 0.0
    z = beyond / error
    density, share = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi), math.erfc(-z / math.sqrt(2.0)) / 2.0
    return error * density / share
