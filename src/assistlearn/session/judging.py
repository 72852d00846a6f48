"""What a result predicts for a person, and how good it is: held-out samples, the learned combination, evaluations."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn import combination
from assistlearn.agent.agent import Answer
from assistlearn.combination import Combination
from assistlearn.combination.linear import Linear
from assistlearn.core import Reward, votes
from assistlearn.core.labels import silent
from assistlearn.core.people import Groups, mean_and_error, rarest_classes
from assistlearn.evaluation.calibration import HOLDOUT, OUT_OF_FOLD, ScoreCalibration, cross_fitted, fit_calibration
from assistlearn.evaluation.metrics import METRICS, answers_of
from assistlearn.evaluation.result import Decided, Report, compare
from assistlearn.evaluation.shares import Estimate, GainShares, shares_of_decisions, shares_of_sum
from assistlearn.methods.method import HoldoutAnswer, Method
from assistlearn.plan import Plan
from assistlearn.types import Bools, Codes, Floats

Rows = NDArray[np.intp]

Doubt: TypeAlias = Callable[..., str]
"""Returns why an answer (and its round) is not believed; an empty text if it is."""


# What a session keeps of a model, and what a result predicts for a person from the agents' votes.
#
# Every judgement goes by this, whoever judges: the hold-out samples after a round, the report, the helpers' shares, a
# pilot and a prediction. So a figure is about the decisions that users get.


class Kept(NamedTuple):
    """What a session remembers of a kept model. All that is computed from a run is a replay of these."""

    round: int
    agent: str
    model_weight: float
    reward: Reward | None = None  # where it is honest; otherwise nothing is computed from it after the turn
    holdout: HoldoutAnswer | None = None


class Votes(NamedTuple):
    """One agent's votes, as the initiator gets them, and the sum of the weights of the models that voted.

    A row of zeros means that the agent says nothing about the sample. An agent that has kept no model has weight zero.
    """

    scores: Floats
    weight: float


class Decision(NamedTuple):
    """What is decided about some samples. Classes are in their open order, except in ``parts``."""

    total: Floats  # the score of each class; the highest one, the first among equals, is the answer
    probabilities: Floats
    spoken: Bools  # about which samples somebody says something; the shares of the classes decide about the others
    parts: dict[str, Floats]  # each agent's share of the total, by class code; the class shares are the first agent's


@dataclass(frozen=True)
class Deciding:
    """How a result decides about samples.

    ``class_shares`` are the shares of the classes among the samples that were trained on, by weight, in the open order.
    They decide about a sample about which nobody says anything: no agent that counts holds it, or has kept a model.
    ``order`` has the class code of each class, where codes are in a secret order.

    Examples
    --------
    >>> from assistlearn.methods import method_named
    >>> deciding = Deciding(method_named("ascii", {}), np.array([0.2, 0.8]))
    >>> said = {"clinic": Votes(np.array([[1.0, -1.0], [0.0, 0.0]]), 1.0), "lab": Votes(np.zeros((2, 2)), 0)}
    >>> decision = deciding.about(said, 2)
    >>> votes.winners(decision.total), decision.probabilities.round(2).tolist()
    (array([0, 1]), [[0.73, 0.27], [0.2, 0.8]])
    """

    method: Method
    class_shares: Floats
    learned: Combination | None = None
    calibration: ScoreCalibration | None = None
    order: Codes | None = None

    def about(self, said: Mapping[str, Votes], n_samples: int, own: Floats | None = None) -> Decision:
        """Return what these agents decide.

        ``said`` are votes by class code, of the agents that are there, in the order of the run. An initiator that has
        labels alone is one of them, without votes. ``own`` are its columns as numbers, where a combination may look at
        them.
        """
        shape = n_samples, len(self.class_shares)
        spoken = self._spoken(said, n_samples, own)
        prior = votes.scores_of(self.class_shares[np.newaxis])
        parts = self._parts(said, own)
        for place, part in enumerate(parts.values()):
            part[~spoken] = 0.0 if place else self._by_code(prior)
        total = self.in_order(sum(parts.values(), np.zeros(shape)))
        total[~spoken] = prior
        return Decision(total, self._probabilities(total, spoken, said.values()), spoken, parts)

    def _spoken(self, said: Mapping[str, Votes], n_samples: int, own: Floats | None) -> Bools:
        """Return about which samples an agent that the decision listens to says something.

        Trees that look at the initiator's own columns say something wherever one of these has a value.
        """
        heard = [each for name, each in said.items() if self.learned is None or name in self.learned.model.agents]
        spoken: Bools = ~silent([each.scores for each in heard], n_samples)
        if self.learned is None or own is None or self.learned.initiator not in said:
            return spoken
        sees = self.learned.own_trees is not None or not isinstance(self.learned.model, Linear)
        return spoken | ~np.isnan(own).all(axis=1) if sees and own.shape[1] else spoken

    def _parts(self, said: Mapping[str, Votes], own: Floats | None) -> dict[str, Floats]:
        scores = {name: each.scores for name, each in said.items()}
        if self.learned is not None and scores:
            return self.learned.decide(scores, own if self.learned.initiator in scores else None)
        shares = self.method.combine(scores, {name: each.weight for name, each in said.items()})
        return {name: share.copy() if share is scores[name] else share for name, share in shares.items()}

    def _probabilities(self, total: Floats, spoken: Bools, said: Iterable[Votes]) -> Floats:
        out = np.tile(self.class_shares, (len(total), 1))
        if self.calibration is not None:
            out[spoken] = self.calibration.probabilities(total[spoken])
        elif self.learned is not None:
            out[spoken] = self.learned.probabilities(total[spoken])
        else:
            out[spoken] = self.method.probabilities(total[spoken], sum(each.weight > 0.0 for each in said))
        return out

    def in_order(self, table: Floats) -> Floats:
        """Return a table that has a column for each class code with its columns in the open order of the classes."""
        return table if self.order is None else np.ascontiguousarray(table[:, self.order])

    def _by_code(self, table: Floats) -> Floats:
        return table if self.order is None else table[:, np.argsort(self.order)]


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

    ``patience`` is how many rounds without a better result end the training. If probabilities will be calibrated on
    these samples (``calibrates``), a metric of probabilities uses those calibrated on other samples than the one that
    is judged. ``order`` has the class code of each class, where codes are in a secret order. ``labels`` and
    ``class_shares`` are in the open order: all figures go by these. ``best_round`` is the earliest among equals; 0
    before the first.
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
            name: each if name == self._initiator else Votes(method.received_votes(*each), each.weight)
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
    """Return the check of an agent's answers; None where they cannot or must not be checked: all are believed then.

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


# -- at the end: the result with help and alone, who helped, and who made it worse


BEYOND_CHANCE = 1.96
"""If a difference is more than this many standard errors from zero, it is not explained by chance."""

LEAST_SAMPLES = 2
"""Fewer hold-out samples say nothing about who helped."""


@dataclass(frozen=True)
class Evaluating:
    """How a result is judged on the hold-out samples.

    ``alone`` trains the initiator alone with at most the given number of models, and returns its votes on them.
    ``seed`` is for intervals and shares that are drawn at random. With ``leave_out``, helpers that make the result
    worse are left out of it. Where probabilities are calibrated, each sample is judged by a calibration on others.
    """

    holdout: HoldOut
    agents: Sequence[str]
    alone: Callable[[int], HoldoutVotes]
    seed: int
    leave_out: bool = True
    calibrates: bool = False
    label_only: bool = False  # the initiator has labels alone: without help it knows the shares of the classes, no more

    def report(self, n_rounds: int, n_models: int, learned: Combination | None, doubted: Sequence[str] = ()) -> Report:
        heard = self.holdout.votes_of(n_rounds, learned)
        worse, left_out = self._worse(heard, doubted)
        kept = heard.of([agent for agent in self.agents if agent not in left_out])
        alone = self._decided(self.alone(max(n_models, 1)))
        found = compare(
            self.holdout.labels, self._decided(kept), alone, self.holdout.weights, self.seed, self.holdout.groups
        )
        return Report(
            models_alone=0 if self.label_only else n_models,
            shares=self._shares(kept, left_out),
            worse=worse,
            left_out=left_out,
            alone_by_labels=self.label_only,
            **found,
        )

    def _worse(self, heard: HoldoutVotes, doubted: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return who makes the result worse, and who is left out: the worst first, until none makes it worse."""
        left_out = list(doubted)
        while True:
            staying = heard.of([agent for agent in self.agents if agent not in left_out])
            harm = {helper: _harm(each) for helper, each in self._dropped(staying).items()}
            worse = sorted((helper for helper in harm if harm[helper] > 0.0), key=lambda helper: -harm[helper])
            if not worse or not self.leave_out:
                return [*left_out[len(doubted) :], *worse], left_out
            left_out.append(worse[0])

    def _dropped(self, heard: HoldoutVotes) -> dict[str, Estimate]:
        """Return for each helper that has a vote by how much the log loss is higher without it, with all others."""
        if len(self.holdout.labels) < LEAST_SAMPLES:
            return {}
        helpers = [agent for agent in self.agents[1:] if agent in heard.said and heard.said[agent].weight > 0.0]
        return {helper: self._loss_without(helper, heard) for helper in helpers}

    def _loss_without(self, helper: str, heard: HoldoutVotes) -> Estimate:
        others, weights = {*heard.said} - {helper}, self.holdout.weights

        def decide(there: frozenset[str]) -> tuple[Floats, Floats]:
            found = self._decided(heard.of(others | there))
            return found.total, found.probabilities if found.calibrated is None else found.calibrated

        return shares_of_decisions([helper], decide, self.holdout.labels, weights, groups=self.holdout.groups).loss

    def _shares(self, heard: HoldoutVotes, left_out: Sequence[str]) -> GainShares | None:
        helpers, weights = [agent for agent in self.agents[1:] if agent not in left_out], self.holdout.weights
        if len(self.holdout.labels) < LEAST_SAMPLES or not helpers:
            return None
        calibration = self._calibration(heard) if self.calibrates else None
        how: Any = {"seed": self.seed, "groups": self.holdout.groups}
        if heard.adds_up:
            named = {agent: heard.deciding.in_order(heard.said[agent].scores) for agent in (self.agents[0], *helpers)}
            own = named.pop(self.agents[0])
            return shares_of_sum(own, named, self.holdout.labels, weights, calibration=calibration, **how)
        by_all = heard.calibrated_by(calibration)

        def decide(there: frozenset[str]) -> tuple[Floats, Floats]:
            found = by_all.of({self.agents[0]} | there).decided()
            return found.total, found.probabilities

        return shares_of_decisions(helpers, decide, self.holdout.labels, weights, **how)

    def _calibration(self, heard: HoldoutVotes) -> ScoreCalibration | None:
        """Return the calibration on all samples about which an agent says something; None if there are none."""
        decision, weights = heard.decided(), self.holdout.weights
        spoken = decision.spoken
        if not spoken.any():
            return None
        labels = self.holdout.labels[spoken]
        return fit_calibration(decision.total[spoken], labels, None if weights is None else weights[spoken])

    def _decided(self, heard: HoldoutVotes) -> Decided:
        found = heard.decided()
        judged = calibrated(found, self.holdout.labels, self.holdout.weights) if self.calibrates else None
        return Decided(found.total, found.probabilities, judged)


def _harm(dropped: Estimate) -> float:
    """Return by how much dropping a helper lowers the loss beyond chance; at most zero where it does not."""
    return -dropped.value - BEYOND_CHANCE * dropped.error


# Probabilities are calibrated on decisions about samples that no model has seen: hold-out samples, or else training
# samples by what out-of-fold rewards say of them. Samples about which no agent says anything do not count, because
# their decision does not come from votes.


def calibration_on_holdout(holdout: HoldOut, n_rounds: int, left_out: Container[str] = ()) -> ScoreCalibration | None:
    """Return the calibration on the hold-out samples; None where nobody has a vote, or no sample any weight."""
    said = holdout.votes_of(n_rounds)
    decision = said.of([agent for agent in said.said if agent not in left_out]).decided()
    return _fitted(decision.total, holdout.labels, holdout.weights, decision.spoken, HOLDOUT)


def calibration_out_of_fold(
    models: Iterable[Kept], method: Method, codes: Codes, n_classes: int, weights: Floats | None, order: Codes | None
) -> ScoreCalibration | None:
    """Return the calibration on the training samples, by honest rewards; without hold-out samples all models count."""
    total = np.zeros((len(codes), n_classes))
    for each in models:
        assert each.reward is not None
        total += each.model_weight * method.class_votes(each.reward, codes)
    order = np.arange(n_classes) if order is None else order
    spoken = ~silent([total], len(total))
    return _fitted(np.ascontiguousarray(total[:, order]), np.argsort(order)[codes], weights, spoken, OUT_OF_FOLD)


def _fitted(total: Floats, labels: Codes, weights: Floats | None, spoken: Bools, kind: str) -> ScoreCalibration | None:
    if not spoken.all():
        total, labels, weights = total[spoken], labels[spoken], None if weights is None else weights[spoken]
        if not len(total) or (weights is not None and not weights.sum() > 0.0):
            return None
    return fit_calibration(total, labels, weights, fitted_to=kind)


# What the initiator learns from honest rewards: a combination of scores after every round, and what votes are like.

WORTH, LEAST_WORTH = 0.01, 0.002
"""A round pays if it lowers the honest loss of the combination by more than this share, and more than this amount."""

HALF = 0.5
"""From the third round on, half of the agents must bring at least this share of what pays; else the others are spared.
"""


@dataclass
class Combining:
    """The combination after each round, and which round was the best.

    ``told`` are the class codes that each agent was told, the initiator first: its rewards are about these. ``own`` are
    the initiator's own columns, as numbers. No trees are tried for the combinations of ``rounds``, so that a round
    costs little; for the ``final`` one they are. ``best_round`` is the last that paid; 0 before the first.
    """

    kind: str
    method: Method
    codes: Codes
    told: Mapping[str, Codes]
    n_classes: int
    seed: int
    weights: Floats | None = None
    own: Floats | None = None
    groups: Groups | None = None
    rounds: dict[int, Combination] = field(default_factory=dict, init=False)
    best_round: int = field(default=0, init=False)
    final: Combination | None = field(default=None, init=False)
    _kept: list[Kept] = field(default_factory=list, init=False)
    _round: int = field(default=0, init=False)

    def add(self, kept: Kept) -> None:
        self._kept.append(kept)

    def finish_round(self) -> Combination | None:
        self._round += 1
        if not self._kept:
            return None
        learned = self.rounds[self._round] = self._learned(self._round, quick=True)
        best = self.rounds[self.best_round].loss if self.best_round else sys.float_info.max
        if learned.loss < best - _worth(best):
            self.best_round = self._round
        return learned

    @property
    def promising(self) -> bool:
        """Whether the models of half of the agents in the round that has begun have brought half of what pays."""
        if not self.best_round:
            return True
        if all(each.round <= self._round for each in self._kept):
            return False
        best = self.rounds[self.best_round].loss
        return self._learned(self._round + 1, quick=True).loss < best - HALF * _worth(best)

    @property
    def exhausted(self) -> bool:
        """Whether the last round has not paid, though somebody has kept a model."""
        return bool(self.rounds) and self._round > self.best_round

    def finish(self, n_rounds: int) -> Combination | None:
        if any(each.round <= n_rounds for each in self._kept):
            self.final = self._learned(n_rounds, quick=False)
            self.rounds = {number: each for number, each in self.rounds.items() if number <= n_rounds}
        return self.final

    def _learned(self, n_rounds: int, quick: bool) -> Combination:
        scores = {agent: np.zeros((len(self.codes), self.n_classes)) for agent in self.told}
        for each in self._kept:
            if each.round <= n_rounds:
                assert each.reward is not None
                scores[each.agent] += each.model_weight * self.method.class_votes(each.reward, self.told[each.agent])
        return combination.fit(
            self.kind,
            scores,
            self.codes,
            initiator=next(iter(self.told)),
            weights=self.weights,
            own=self.own,
            groups=self.groups,
            seed=self.seed,
            quick=quick,
        )


def _worth(best: float) -> float:
    return max(WORTH * best, LEAST_WORTH)


def honest_votes(
    models: Iterable[Kept], method: Method, codes: Mapping[str, Codes], rows: NDArray[np.intp]
) -> dict[str, Floats]:
    """Return each agent's votes on some training samples that its models were not fitted to, by one unit of weight."""
    total: dict[str, Floats] = {}
    weights: dict[str, float] = {}
    for _, agent, weight, reward, _ in models:
        assert reward is not None
        said = weight * method.class_votes(reward, codes[agent])[rows]
        total[agent] = total.get(agent, np.zeros_like(said)) + said
        weights[agent] = weights.get(agent, 0.0) + weight
    return {agent: votes / weights[agent] for agent, votes in total.items()}
