"""Figures as people read them, and the question that a pilot answers. It imports fast, for the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from assistlearn.errors import SettingsError

if TYPE_CHECKING:
    from assistlearn.evaluation.result import Findings, Headline


TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss (low is good)",
    "brier": "Brier (low is good)",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
}

VERDICTS = {
    "yes": "Help was worth it.",
    "no": "No: help is not worth it.",
    "worse": "Help made it worse.",
    "undecided": "It is not certain whether help was worth it.",
}

SHARES = ("accuracy", "balanced accuracy", "error rate")

COMBINATIONS = {
    "sum": "they are added up",
    "linear": "a linear model of all agents' scores",
    "boosted": "small trees over all agents' scores and the initiator's own columns",
    "stack": "small trees over all agents' scores and the initiator's own columns",
    "offset": "a weighted sum of all agents' scores, and small trees over the initiator's own columns after it",
    "offset alone": "small trees over the initiator's own scores and columns, because the others did not help",
    "alone": "only the initiator's votes count, because the others did not help",
    "linear alone": "a linear model of the initiator's own scores, because the others did not help",
}


MOST_FREQUENT, LABEL_SHARES = "the most frequent class", "the shares of the labels"
"""What an initiator with labels alone answers without help, and what its probabilities are."""


def combination_in_words(kind: str, label_only: bool = False) -> str:
    if not label_only:
        return COMBINATIONS.get(kind, kind)
    if kind in ("alone", "linear alone", "offset alone"):
        return f"{LABEL_SHARES}, because the helpers did not help"
    said = {"boosted": "small trees over the helpers' scores", "offset": "a weighted sum of the helpers' scores"}
    return (said | {"stack": said["boosted"]}).get(kind, COMBINATIONS.get(kind, kind))


def compared_in_words(label_only: bool) -> str:
    alone = f": {MOST_FREQUENT}, by {LABEL_SHARES}" if label_only else " with as many models"
    return f"With help, and the initiator alone{alone}"


def difference_in_words(found: Headline) -> str:
    if found.assisted is None:
        return f"The {found.what} is not defined on these samples: it needs samples of every class."
    if found.difference is None:
        return ""
    value, low, high = (
        gained(found, each) for each in (found.difference.value, found.difference.low, found.difference.high)
    )
    unit = " percentage points" if found.what in SHARES else ""
    if found.is_gain:
        return (
            f"For samples like these the gain, by which it is lower, is about {value}{unit}. It lies between {low} and "
            f"{high}: these limits hold whenever you stop."
        )
    lower = "" if found.larger_is_better else " (lower is better)"
    return f"The difference is {value}{unit}{lower}; its 95\N{NO-BREAK SPACE}% interval goes from {low} to {high}."


def answer_in_words(found: Headline, label_only: bool = False) -> str:
    verdict = "Yes: help is worth it." if found.is_gain and found.verdict == "yes" else VERDICTS[found.verdict]
    where = f"{counted(found.n_samples, 'sample')} that no model was trained on"
    if found.assisted is None:
        return f"{verdict} {where[0].upper()}{where[1:]} were held out. {difference_in_words(found)}"
    by_labels = f", {alone_in_words(found.what)}" if label_only else ""
    figures = f"{measured(found, found.assisted)} with help and {measured(found, found.alone)} alone{by_labels}"
    return f"{verdict} On {where}, the {found.what} is {figures}. {difference_in_words(found)}".rstrip()


def unchecked_in_words(helpers: Sequence[str]) -> str:
    checked = (
        f"So nothing that {listed(helpers)} said was checked: a helper that repeats the labels it was told looks like "
        "a good one. And nobody"
    )
    return (
        f"Training is finished, but no samples were held out. {checked if helpers else 'So nobody'} can say how good "
        "the result is on samples that no model was trained on. Hold some out: --holdout 0.2 (in a task: holdout = 0.2 "
        "under [training]; in Python: holdout=0.2)."
    )


def shares_in_words(found: Findings, initiator: str) -> str:
    own, alone = found.accuracy_of_own_votes, found.measured("accuracy")
    if own is None or alone is None or found.together is None:
        return ""
    return (
        f"The shares say what the helpers' votes add to those that {initiator} has in this result. With its own votes "
        f"only, the accuracy is {percent(own)}; the helpers' votes add {points(found.together.accuracy)} points, which "
        f"makes {percent(alone.assisted)}. For the comparison above {initiator} was trained alone, with as many models "
        f"as all agents have together: {percent(alone.alone)}."
    )


def measured(found: Headline, value: float | None) -> str:
    return percent(value) if found.what in SHARES else figure(value)


def gained(found: Headline, value: float) -> str:
    return points(value) if found.what in SHARES else f"{value:+.3f}"


def alone_in_words(what: str) -> str:
    return MOST_FREQUENT if what in SHARES else LABEL_SHARES


def size(n_bytes: float) -> str:
    """Return a number of bytes with a unit that people can read.

    >>> size(999), size(12_345_678)
    ('999 bytes', '12.3 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    return f"{n_bytes:.0f} bytes"


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def percent(value: float | None) -> str:
    r"""Return a percentage in which a line never breaks between the number and the sign.

    >>> percent(0.8125), percent(None)
    ('81.2\xa0%', '-')
    """
    return "-" if value is None else f"{100 * value:.1f}\N{NO-BREAK SPACE}%"


def points(value: float) -> str:
    return f"{100 * value:+.1f}"


def figure(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def duration(seconds: float) -> str:
    """Return how long something took.

    >>> duration(0.0123), duration(75), duration(7325)
    ('0.01 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60.0:
        return f"{seconds:.2f} s" if seconds < 10.0 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


def listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


# -- the question that a pilot answers ---------------------------------------------------------------------------------

SampleLoss: TypeAlias = Literal["zero-one", "log"]

LOSS_WORDS = {"zero-one": "error rate", "log": "log loss"}

CLIP = 0.01
"""A smaller probability of the true class counts as this one, because bets need a bounded loss."""


def greatest(loss: SampleLoss) -> float:
    if loss not in get_args(SampleLoss):
        raise SettingsError(f"loss={loss!r} must be one of {list(get_args(SampleLoss))}.")
    return 1.0 if loss == "zero-one" else -math.log(CLIP)


def loss_for(metric: str) -> SampleLoss:
    """Return the loss of a pilot for those who want a metric to improve: the one of the two that is closer to it."""
    return "zero-one" if metric in ("accuracy", "balanced_accuracy") else "log"


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The question that a pilot answers.

    Attributes
    ----------
    at_least : float
        The smallest gain that is worth it. With the zero-one loss 0.02 is 2 points of accuracy.
    alpha : float
        The largest chance that any of the answers is wrong, however often you look.
    block : int
        How many samples are opened at a time.
    train_size : float or int
        The share of the labelled samples that are trained on, at most 5,000; or their number.
    each_helper : bool
        Whether to go on until there is also an answer for each helper by itself.
    """

    at_least: float = 0.0
    alpha: float = 0.05
    loss: SampleLoss = "zero-one"
    block: int = 50
    train_size: float | int = 0.5
    each_helper: bool = False

    def __post_init__(self) -> None:
        most = greatest(self.loss)
        if not -most < self.at_least < most:
            raise SettingsError(
                f"at_least={self.at_least!r} must lie between -{most:.3g} and {most:.3g}, like every difference in "
                f"{self.loss!r} loss."
            )
        if not 0.0 < self.alpha < 1.0:
            raise SettingsError(f"alpha={self.alpha!r} must lie between 0 and 1, for example 0.05.")
        if not isinstance(self.block, Integral) or self.block < 1:
            raise SettingsError(f"block={self.block!r} must be a whole number of at least 1.")
        share = not isinstance(self.train_size, Integral)
        if not (0.0 < self.train_size < 1.0 if share else self.train_size >= 1):
            raise SettingsError(
                f"train_size={self.train_size!r} must be a share between 0 and 1, or a whole number of samples."
            )
