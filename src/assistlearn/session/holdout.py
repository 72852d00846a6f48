"""Samples kept aside, whose labels only the initiator knows. They show when to stop, and how good the result is."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.agent.agent import Answer
from assistlearn.combination import Combination
from assistlearn.core import votes
from assistlearn.core.people import Groups, mean_and_error, rarest_classes
from assistlearn.evaluation.calibration import ScoreCalibration, cross_fitted
from assistlearn.evaluation.metrics import METRICS, answers_of
from assistlearn.methods.method import Method
from assistlearn.plan import Plan
from assistlearn.session.deciding import Deciding, Decision, Kept, Votes
from assistlearn.types import Bools, Codes, Floats

Rows = NDArray[np.intp]

Doubt: TypeAlias = Callable[..., str]
"""Returns why an answer (and its round) is not believed; an empty text if it is."""


@dataclass(frozen=True)
class HoldoutVotes:
    """The agents' votes on the hold-out samples, the initiator's first, and how these are decided.

    ``own`` are the initiator's own columns, as numbers, where a combination may look at them.
    """

    said: Mapping[str, Votes]
    deciding: Deciding
    n_samples: int
    own: Floats | None = None

    @property
    def adds_up(self) -> bool:
        """Whether the decision is the sum of the agents' scores, with any helpers, as the initiator always speaks."""
        first = next(iter(self.said.values()))
        return self.deciding.learned is None and self.deciding.method.adds_up and bool(first.scores.any(axis=1).all())

    def of(self, agents: Container[str]) -> HoldoutVotes:
        return replace(self, said={name: each for name, each in self.said.items() if name in agents})

    def calibrated_by(self, calibration: ScoreCalibration | None) -> HoldoutVotes:
        return replace(self, deciding=replace(self.deciding, calibration=calibration))

    def decided(self) -> Decision:
        return self.deciding.about(self.said, self.n_samples, self.own)


def calibrated(decision: Decision, labels: Codes, weights: Floats | None) -> Floats:
    """Return probabilities, those of each sample calibrated on other samples.

    Where no agent says anything about a sample, the shares of the classes stay as they are. ``labels`` are the places
    of the samples' classes in their open order.
    """
    spoken, said = decision.spoken, decision.probabilities.copy()
    if spoken.any():
        own = None if weights is None else weights[spoken]
        said[spoken] = cross_fitted(decision.total[spoken], labels[spoken], own)
    return said


def split(codes: Codes, fraction: float, rng: np.random.RandomState, groups: Groups | None = None) -> tuple[Rows, Rows]:
    """Return the rows to train on and the rows to hold out, the same share of every class.

    A class always keeps at least one sample to train on. Samples of one group, which are about the same person, stay
    together.

    >>> train, held_out = split(np.array([0, 0, 0, 0, 1, 1, 2]), 0.5, np.random.RandomState(0))
    >>> len(train), len(held_out)
    (4, 3)
    """
    if groups is not None:
        return _split_groups(codes, groups, fraction, rng)
    held_out = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held_out.append(rows[: min(round(fraction * len(rows)), len(rows) - 1)])
    aside = np.zeros(len(codes), dtype=bool)
    aside[np.concatenate(held_out)] = True
    return np.flatnonzero(~aside), np.flatnonzero(aside)


def _split_groups(codes: Codes, groups: Groups, fraction: float, rng: np.random.RandomState) -> tuple[Rows, Rows]:
    """Return the rows to train on and to hold out; a group counts for the rarest class among its rows.

    A group that is larger than what is to be held out of its class is trained on.
    """
    rarest, sizes = rarest_classes(codes, groups)
    held_out = np.zeros(len(sizes), dtype=bool)
    for kind in np.unique(rarest):
        alike = rng.permutation(np.flatnonzero(rarest == kind))
        wanted = round(fraction * int(sizes[alike].sum()))
        small = alike[sizes[alike] <= wanted]
        near = np.cumsum(sizes[small]) - sizes[small] / 2 <= wanted
        held_out[small[near][: len(alike) - 1]] = True
    for code in np.setdiff1d(codes, codes[~held_out[groups]]):
        having = np.unique(groups[codes == code])
        held_out[having[sizes[having].argmin()]] = False
    aside = held_out[groups]
    return np.flatnonzero(~aside), np.flatnonzero(aside)


class HoldOut:
    """The votes of all kept models on the hold-out samples, and which round was the best.

    Parameters
    ----------
    codes : ndarray of shape (n_holdout,)
        The class codes of the hold-out samples.
    patience : int
        How many rounds without a better result end the training.
    metric : str
        The metric that has to improve: a name in :data:`~assistlearn.evaluation.metrics.METRICS`.
    own : ndarray of shape (n_holdout, n_columns), optional
        The initiator's own columns, as numbers, where a combination may look at them.
    calibrates : bool, default=False
        Whether probabilities will be calibrated on these samples. A metric of probabilities then uses probabilities
        that were calibrated on other hold-out samples than the one that is judged.
    agents : sequence of str, optional
        All of them, the initiator first.
    class_shares : ndarray of shape (n_classes,), optional
        The share of each class among the samples to train on, in the open order of the classes; equal by default.
    order : ndarray of int, optional
        The class code of each class, where codes are in a secret order.
    groups : ndarray of int of shape (n_holdout,), optional
        Which hold-out samples are about the same person; by default no two are.

    Attributes
    ----------
    labels : ndarray of shape (n_holdout,)
        The class of each sample, as its place in the open order of the classes. All figures go by these.
    best_round : int
        The best round so far, the earliest among equals; 0 before the first.
    """

    def __init__(
        self,
        codes: Codes,
        n_classes: int,
        patience: int,
        method: Method,
        metric: str = Plan.metric,
        weights: Floats | None = None,
        own: Floats | None = None,
        calibrates: bool = False,
        agents: Sequence[str] = (),
        class_shares: Floats | None = None,
        order: Codes | None = None,
        groups: Groups | None = None,
    ) -> None:
        self.codes = codes
        self.labels = codes if order is None else np.argsort(order)[codes]
        self.n_classes = n_classes
        self.weights = weights
        self.groups = groups
        self.best_round = 0
        shares = np.full(n_classes, 1.0 / n_classes) if class_shares is None else class_shares
        self._deciding = Deciding(method, shares, order=order)
        self._patience = patience
        self._metric = METRICS[metric]
        self._own = own
        self._calibrates = calibrates and self._metric.of_probabilities
        self._kept: list[Kept] = []
        self._initiator = next(iter(agents), "")
        self._so_far = {name: self._silence() for name in agents}
        self._best: float | None = None
        self._round = 0

    def add(self, kept: Kept) -> None:
        if kept.holdout is not None:
            self._kept.append(kept)
            self._add(self._so_far, kept)

    def finish_round(self, learned: Combination | None = None) -> tuple[float, float | None]:
        """Return the accuracy and the metric after this round, of the sum of the votes or of the combination.

        If the metric is not defined, because a class does not occur, it is None. It is then no improvement.
        """
        self._round += 1
        accuracy, measured = self.measured(self._votes(self._so_far, learned))
        better = measured is not None and (self._best is None or self._metric.better(measured, self._best))
        if self.best_round == 0 or better:
            self._best = measured
            self.best_round = self._round
        return accuracy, measured

    def measured(self, heard: HoldoutVotes) -> tuple[float, float | None]:
        """Return the accuracy and the metric of what these votes decide."""
        decision = heard.decided()
        said = calibrated(decision, self.labels, self.weights) if self._calibrates else decision.probabilities
        answers = answers_of(self.labels, said, self.weights, votes.winners(decision.total))
        return METRICS["accuracy"].of(answers) or 0.0, self._metric.of(answers)

    @property
    def exhausted(self) -> bool:
        """Whether the result has not become better for ``patience`` rounds."""
        return self._round - self.best_round >= self._patience

    def votes_of(self, n_rounds: int, learned: Combination | None = None) -> HoldoutVotes:
        """Return the votes of the models of the first ``n_rounds`` rounds."""
        said = {name: self._silence() for name in self._so_far}
        for kept in self._kept:
            if kept.round <= n_rounds:
                self._add(said, kept)
        return self._votes(said, learned)

    def _votes(self, said: Mapping[str, Votes], learned: Combination | None) -> HoldoutVotes:
        """Return votes as the initiator gets them in prediction: those of helpers are rounded."""
        method = self._deciding.method
        heard = {
            name: each if name == self._initiator else Votes(method.heard_votes(*each), each.weight)
            for name, each in said.items()
        }
        return HoldoutVotes(heard, replace(self._deciding, learned=learned), len(self.codes), self._own)

    def _add(self, said: dict[str, Votes], kept: Kept) -> None:
        before = said.get(kept.agent) or self._silence()
        assert kept.holdout is not None
        self._deciding.method.add_holdout(before.scores, kept.holdout, kept.model_weight)
        said[kept.agent] = Votes(before.scores, before.weight + kept.model_weight)

    def _silence(self) -> Votes:
        return Votes(np.zeros((len(self.codes), self.n_classes)), 0.0)


# Whether the hold-out samples confirm what an agent says about the training samples, whose labels it was told.
#
# An agent knows the labels of training samples, and so could claim to be right about all of them. It does not know
# those of hold-out samples. Where rewards are honest, they come from samples that the model was not fitted to: it
# should do as well on hold-out samples, but for chance. An agent that does far worse there has not told the truth, or
# its data are not what it thinks they are. Either way the run goes on without it, before anybody hears of its model.


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


def contradiction(method: Method, holdout: HoldOut, held: Bools | None, answer: Answer, round: int = 1) -> str:
    """Return why an agent's answer in a round is not believed; an empty text if it is.

    ``held`` are the training samples that the agent holds; None for all.
    """
    if answer.holdout is None or answer.verdict.useless:
        return ""
    claimed = method.reward_losses(answer.reward, holdout.n_classes)
    n_said, said, error_said = _mean(claimed if held is None else claimed[held])
    n_seen, seen, error_seen = _mean(method.holdout_losses(answer.holdout, holdout.codes, holdout.n_classes))
    worse, error = seen - said, math.hypot(error_said, error_seen)
    of_scores = ERRORS if round == 1 else ERRORS_LATER
    errors = of_scores if method.wants_probabilities else ERRORS_OF_BITS
    if not worse > max(errors * error, LEAST * method.loss_of_guessing(holdout.n_classes)):
        return ""
    return (
        f"the hold-out samples contradict it. By what it says of {n_said:,} training samples, whose labels it knows, "
        f"its model loses {said:.3f} on average. On {n_seen:,} hold-out samples, whose labels it does not know, it "
        f"loses {seen:.3f}: more by {worse / error:.0f} standard errors"
    )


def doubt_of(plan: Plan, holdout: HoldOut | None, held: Bools | None = None) -> Doubt | None:
    """Return the check of an agent's answers; None where they cannot or must not be checked.

    If rewards come from samples that a model was fitted to, they are better than on other samples without any lie. And
    helpers that do not know the true labels must not learn about them from being sent away.
    """
    method = plan.make_method()
    if holdout is None or plan.honest_reward != "out-of-fold" or method.keeps_labels:
        return None
    return partial(contradiction, method, holdout, held)


def _mean(losses: Floats) -> tuple[int, float, float]:
    """Return the number of losses, their mean and its error; samples on which the agent abstains have no loss."""
    there = losses[~np.isnan(losses)]
    mean, error = mean_and_error(there)
    return len(there), mean, math.hypot(error, HALF_A_SAMPLE / max(len(there), 1))
