"""The label-private method: helpers get labels that were changed at random, and answer once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from assistlearn.core import Reward
from assistlearn.core.labels import kept_share
from assistlearn.core.state import quantise_all_spoken
from assistlearn.core.votes import score_of_truth
from assistlearn.methods.method import PAPER
from assistlearn.methods.soft import Soft
from assistlearn.types import Bools, Codes, Said

BITS = 4

LARGE = 3.0
"""If epsilon is larger than this, labels are hardly protected."""


def caution(epsilon: float) -> str:
    """Return a warning for a large epsilon; an empty text for a small one."""
    if epsilon <= LARGE:
        return ""
    share = kept_share(epsilon, 2)
    return (
        f"epsilon={epsilon:g} hardly protects labels: of two classes, {share + (1 - share) / 2:.1%} are told as they "
        f"are. Use {LARGE:g} or less; 1 is the default.".replace("%", " %")
    )


def spent_in_words(most_spent: float, n_true: int) -> str:
    """Return what all runs so far have given away about labels, as a sentence.

    ``most_spent`` is the largest epsilon about a label that was never told as it is, and ``n_true`` the number of
    people whose true label helpers were told.
    """
    if not n_true:
        return f"All runs so far gave away at most epsilon {most_spent:g} about the label of any one person."
    rest = f" All runs so far gave away at most epsilon {most_spent:g} about any of the others." if most_spent else ""
    return (
        f"Of {n_true:,} people helpers were told the true label in another run: no epsilon limits what they know about "
        f"these.{rest}"
    )


@dataclass(frozen=True)
class LabelPrivate(Soft):
    """Every agent makes one model by itself and tells its scores once. The initiator learns in private to combine them.

    ``epsilon`` says how much a label that an agent is told may say about the true one; infinity where it is the true
    one.
    """

    summary: ClassVar[str] = (
        "helpers never see the true labels. They see labels that were changed at random (``epsilon``). Each helper "
        "says its scores once, and the initiator learns in private how to combine them"
    )
    shares_state: ClassVar[bool] = False
    keeps_labels: ClassVar[bool] = True
    most_rounds: ClassVar[int] = 1
    advised: ClassVar[Mapping[str, Any]] = PAPER
    epsilon: float

    @property
    def label_epsilon(self) -> float:
        return self.epsilon

    def reward(self, said: Said, codes: Codes, held: Bools | None, n_classes: int) -> Reward:
        if n_classes == 2:
            return quantise_all_spoken(score_of_truth(said, codes, 2), self.bits(2), held)
        return super().reward(said, codes, held, n_classes)

    def bits(self, n_classes: int) -> int:
        return self.score_bits or BITS
