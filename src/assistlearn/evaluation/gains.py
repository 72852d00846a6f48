r"""Find out what all helpers together gain, and what each of them gains, while a pilot opens samples.

A pilot stops when the answer is clear, and an answer is clear sooner where the opened samples happen to look good. So
their mean gain is too high after a *yes*, and too low after a *no*. The limits allow for this, the mean does not. So
what the opened samples show by chance is taken off. Let the mean have the standard error :math:`s`, and let the nearer
limit be :math:`d` beyond the gain that was asked for. The answer would have come for every mean that is up to
:math:`d` less favourable, and for no other. Of normal numbers with the spread :math:`s`, those above the line at
:math:`z = d / s` below their centre are on average higher than it by

.. math:: s \, \frac{\varphi(z)}{\Phi(z)}.

This is nearly .8 of a standard error if the answer was close, and nothing if it was clear by far.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from assistlearn.core.ignorance import Floats
from assistlearn.evaluation.betting import ConfidenceSequence
from assistlearn.evaluation.terms import LOSS_WORDS, Terms, greatest

WorthAnswer: TypeAlias = Literal["yes", "no", "undecided"]


class Look(NamedTuple):
    """The gain and its limits after ``n_opened`` opened samples."""

    n_opened: int
    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Gain:
    """What some helpers gain, and whether that is enough.

    Attributes
    ----------
    helpers : tuple of str
        The helpers whose gain this is.
    answer : {"yes", "no", "undecided"}
        Whether the gain is as large as was asked for.
    estimate : float
        How much lower the loss is with their help. It is the mean over the opened samples, less what these show by
        chance because the answer came when they did.
    lower, upper : float
        The limits of the gain for samples like these. They are valid however often you look.
    alpha : float
        The largest chance that the limits do not hold.
    path : tuple of Look
        The gain and its limits after each block.
    """

    helpers: tuple[str, ...]
    answer: WorthAnswer
    estimate: float
    lower: float
    upper: float
    alpha: float
    path: tuple[Look, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the gain as plain values, with the path as lists."""
        return asdict(self) | {"helpers": list(self.helpers), "path": [list(look) for look in self.path]}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Gain:
        """Return a gain from the values of :meth:`to_dict`. Other values are ignored."""
        own = {each.name: facts[each.name] for each in fields(cls)}
        return cls(**own | {"helpers": tuple(own["helpers"]), "path": tuple(Look(*look) for look in own["path"])})


@dataclass(frozen=True)
class Worth:
    """What a pilot has found.

    Attributes
    ----------
    together : Gain
        The gain of all helpers together: the answer.
    helpers : mapping of str to Gain
        The gain of each helper alone with the initiator.
    terms : Terms
        The question that the pilot answers.
    n_training, n_opened, n_closed : int
        How many samples were trained on, were opened, and stayed closed.
    loss_alone, loss_assisted : float
        The mean loss on the opened samples.
    n_bytes : mapping of str to int, or None
        How many bytes were exchanged with each helper; None if all agents were in one process.
    alone_by_labels : bool
        Whether the initiator has labels and no features: alone it answers the most frequent class, with the shares of
        the labels as probabilities.
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
        """Whether all helpers together gain as much as was asked for."""
        return self.together.answer

    @property
    def interval(self) -> tuple[float, float]:
        """The limits of what all helpers together gain."""
        return self.together.lower, self.together.upper

    def __str__(self) -> str:
        """Return the answer in a sentence."""
        found, (lower, upper), what = self.together, self.interval, LOSS_WORDS[self.terms.loss]
        alone = f"{self.loss_alone:.3f}{' (the most frequent class)' if self.alone_by_labels else ''}"
        return (
            f"{found.answer}: help lowers the {what} by {found.estimate:+.3f} ({lower:+.3f} to {upper:+.3f}; asked "
            f"for: {self.terms.at_least:+g}). On {self.n_opened:,} opened samples it is {self.loss_assisted:.3f}, "
            f"alone {alone}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result of the pilot as plain values."""
        facts = {name: getattr(self, name) for name in ("n_training", "n_opened", "n_closed")}
        facts |= {"loss_alone": self.loss_alone, "loss_assisted": self.loss_assisted}
        each = {name: gain.to_dict() for name, gain in self.helpers.items()}
        n_bytes = None if self.n_bytes is None else dict(self.n_bytes)
        asked = asdict(self.terms)
        facts |= {"each": each, "asked": asked, "n_bytes": n_bytes, "alone_by_labels": self.alone_by_labels}
        return self.together.to_dict() | facts

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Worth:
        """Return the result of a pilot from the values of :meth:`to_dict`."""
        each = {name: Gain.from_dict(gain) for name, gain in facts["each"].items()}
        names = ("n_training", "n_opened", "n_closed", "loss_alone", "loss_assisted", "n_bytes")
        counts = (facts[name] for name in names)
        found = cls(Gain.from_dict(facts), each, Terms(**facts["asked"]), *counts)
        return replace(found, alone_by_labels=facts["alone_by_labels"])


class Weighing:
    """Collects the losses of opened samples, block by block, and answers the questions of a pilot.

    Half of alpha is for the question about all helpers together. The questions about each helper share the other half.
    With a single helper there is one question, which gets all of alpha.

    Parameters
    ----------
    terms : Terms
        The question that the pilot answers.
    helpers : sequence of str
        The helpers' names.

    Attributes
    ----------
    sets : list of tuple of str
        The helpers that each question is about. The first question is about all of them.

    Examples
    --------
    >>> weighing = Weighing(Terms(at_least=0.02), ["lab", "scans"])
    >>> weighing.sets
    [('lab', 'scans'), ('lab',), ('scans',)]
    >>> alone, right, wrong = np.repeat([1.0, 0.0], [15, 35]), np.zeros(50), np.ones(50)
    >>> weighing.hear(np.array([alone, right, right, wrong]))
    >>> weighing.answered, [gain.answer for gain in weighing.gains()]
    (True, ['yes', 'yes', 'no'])
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
        """How many samples were opened."""
        return self._questions[0].sequence.n

    @property
    def answered(self) -> bool:
        """Whether there is an answer to every question for which samples are opened."""
        asked = self._questions if self.terms.each_helper else self._questions[:1]
        return all(question.answer != "undecided" for question in asked)

    def hear(self, losses: Floats) -> None:
        """Add the losses of a block of samples.

        Parameters
        ----------
        losses : ndarray of shape (1 + len(sets), n)
            The losses of the initiator alone, then those with the help of each set.
        """
        alone, *helped = losses
        for question, loss in zip(self._questions, helped, strict=True):
            question.hear(alone - loss)
        self._sum += losses[:2].sum(axis=1)

    def gains(self) -> list[Gain]:
        """Return the present answer to each question, with the gain and its limits."""
        return [question.gain() for question in self._questions]

    def worth(
        self, n_training: int, n_pool: int, n_bytes: Mapping[str, int] | None = None, alone_by_labels: bool = False
    ) -> Worth:
        """Return the result of the pilot.

        Parameters
        ----------
        n_training, n_pool : int
            How many samples were trained on, and how many might have been opened.
        n_bytes : mapping of str to int, optional
            How many bytes were exchanged with each helper.
        alone_by_labels : bool, default=False
            Whether the initiator has labels alone.
        """
        together, *each = self.gains()
        by_helper = {gain.helpers[0]: gain for gain in each or [together]}
        alone, assisted = (float(mean) for mean in self._sum / max(self.n_opened, 1))
        n_closed = n_pool - self.n_opened
        losses = n_closed, alone, assisted
        return Worth(together, by_helper, self.terms, n_training, self.n_opened, *losses, n_bytes, alone_by_labels)


class _Question:
    """Whether some helpers gain enough."""

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

    Parameters
    ----------
    error : float
        The standard error of the mean.
    beyond : float
        By how much less favourable the mean might have been and still have ended it.

    Examples
    --------
    >>> [round(shown_by_chance(0.1, beyond), 4) for beyond in (0.0, 0.1, 0.3)]
    [0.0798, 0.0288, 0.0004]
    """
    if error == 0.0:
        return 0.0
    z = beyond / error
    density, share = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi), math.erfc(-z / math.sqrt(2.0)) / 2.0
    return error * density / share
