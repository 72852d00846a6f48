"""Whether the hold-out samples confirm what an agent says about the training samples, whose labels it was told.

An agent knows the labels of training samples, and so could claim to be right about all of them. It does not know those
of hold-out samples. Where rewards are honest, they come from samples that the model was not fitted to: it should do as
well on hold-out samples, but for chance. An agent that does far worse there has not told the truth, or its data are not
what it thinks they are. Either way the run goes on without it, before anybody hears of its model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assistlearn.agents import Answer
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.means import mean_and_error
from assistlearn.methods.method import Method
from assistlearn.plan import Plan
from assistlearn.session.holdout import HoldOut

ERRORS, ERRORS_LATER, ERRORS_OF_BITS = 4.0, 8.0, 5.0
"""By how many standard errors of the difference an agent must be worse on hold-out samples to be doubted. The first two
are for agents that say how sure they are, in the first round and later; the third is for one bit per sample. From the
second round on, an honest agent that says how sure it is claims a little too much: the residuals that it learns from
contain something about all labels. In the second round of some 200 runs of the example, honest agents were worse by 4,
7 and 10 errors, the last two by very little. Of 1,900 turns with one bit, two were worse by 4, and none by 5."""

LEAST = 0.1
"""By how much an agent must be worse in any case, as a share of the loss of guessing. With very many samples, or an
agent that is hardly sure of anything, a small difference between training and hold-out samples is no lie."""

HALF_A_SAMPLE = 0.5
"""By how many samples a count may be wrong, beside its standard error: no error among few samples is no certainty."""


@dataclass(frozen=True)
class Doubt:
    """Compares an agent's claims about training samples with its answers for hold-out samples.

    Attributes
    ----------
    method : Method
        What rewards and answers mean.
    holdout : HoldOut
        The hold-out samples, whose labels the agent does not know.
    held : ndarray of bool, optional
        The training samples that the agent holds; all by default.
    """

    method: Method
    holdout: HoldOut
    held: Bools | None = None

    def __call__(self, answer: Answer, round: int = 1) -> str:
        """Return why an answer of this round is not believed; an empty text if it is."""
        if answer.holdout is None or answer.verdict.useless:
            return ""
        n_classes = self.holdout.n_classes
        claimed = self.method.reward_losses(answer.reward, n_classes)
        claimed = claimed if self.held is None else claimed[self.held]
        found = self.method.holdout_losses(answer.holdout, self.holdout.codes, n_classes)
        said, seen = _Mean.of(claimed), _Mean.of(found)
        worse, error = seen.mean - said.mean, math.hypot(said.error, seen.error)
        of_scores = ERRORS if round == 1 else ERRORS_LATER
        errors = of_scores if self.method.wants_probabilities else ERRORS_OF_BITS
        if not worse > max(errors * error, LEAST * self.method.loss_of_guessing(n_classes)):
            return ""
        return (
            f"the hold-out samples contradict it. By what it says of {said.n:,} training samples, whose labels it "
            f"knows, its model loses {said.mean:.3f} on average. On {seen.n:,} hold-out samples, whose labels it does "
            f"not know, it loses {seen.mean:.3f}: more by {worse / error:.0f} standard errors"
        )


def doubt_of(plan: Plan, holdout: HoldOut | None, held: Bools | None = None) -> Doubt | None:
    """Return the check of an agent's answers; None where they cannot or must not be checked.

    If rewards come from samples that a model was fitted to, they are better than on other samples without any lie. And
    helpers that do not know the true labels must not learn about them from being sent away.
    """
    method = plan.make_method()
    if holdout is None or plan.honest_reward != "out-of-fold" or method.keeps_labels:
        return None
    return Doubt(method, holdout, held)


@dataclass(frozen=True)
class _Mean:
    n: int
    mean: float
    error: float

    @classmethod
    def of(cls, losses: Floats) -> _Mean:
        """Return the mean loss, without samples on which the agent abstains: they have no loss."""
        there = losses[~np.isnan(losses)]
        mean, error = mean_and_error(there)
        return cls(len(there), mean, math.hypot(error, HALF_A_SAMPLE / max(len(there), 1)))
