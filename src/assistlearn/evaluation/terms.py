"""The question that a pilot answers. The module is fast to import: the command line uses the same defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, TypeAlias, get_args

from assistlearn.errors import SettingsError

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
    train_size: float = 0.5
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
