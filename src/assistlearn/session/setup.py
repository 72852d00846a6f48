"""What a session begins with, as it follows from the plan and the labels; and the baseline of the initiator alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from assistlearn.agent.agent import Agent, TrainingSamples
from assistlearn.combination.linear import N_FOLDS
from assistlearn.core import RunState
from assistlearn.core.labels import balanced, class_shares, weighted_by_class
from assistlearn.core.people import Groups, at
from assistlearn.errors import SettingsError
from assistlearn.evaluation.calibration import ScoreCalibration
from assistlearn.evaluation.constancy import kept as kept_rows
from assistlearn.events import RunFinished
from assistlearn.learners.folds import deal
from assistlearn.learners.model import MAX_SEED
from assistlearn.methods.method import Method
from assistlearn.plan import Plan
from assistlearn.session import judging
from assistlearn.session.session import LocalParticipant, Participant, Session
from assistlearn.types import Codes, Floats

NEW, TRAINED_ON, HELD_OUT = 0, 1, 2
"""What a sample was in an earlier run. One that was trained on is never held out: the report would be too good."""

Positions = NDArray[np.intp]
Values = TypeVar("Values", Codes, Floats | None)


@dataclass(frozen=True)
class Task:
    """What is trained on: the plan, the agents (the initiator first), and what the initiator knows of every sample.

    ``labels`` are in the open order of the classes; ``codes`` are those of the run, under a secret permutation where
    ``order`` has one. ``told`` is what helpers are told where the true labels stay with the initiator; those of
    hold-out samples are not looked at. ``own`` has the initiator's own columns as numbers, where a combination may use
    them. Hold-out samples are drawn from ``holdout_words``, by default from the seed of the plan. ``roles`` say what a
    sample was in an earlier run (:func:`split_of`). Samples of one of the ``groups`` are about the same person: all are
    held out, or all are in one fold.
    """

    plan: Plan
    agents: Sequence[str]
    labels: Codes
    codes: Codes
    n_classes: int
    weights: Floats | None = None
    told: Codes | None = None
    own: Floats | None = None
    holdout_words: Sequence[int] = ()
    label_only: bool = False
    roles: Codes | None = None
    order: Codes | None = None
    groups: Groups | None = None


@dataclass(frozen=True)
class SetUp:
    """What a session begins with; arrays are about the samples to train on.

    ``methods``, ``codes``, ``states``, ``seeds`` (for chance in its preparation) and ``folds`` are each agent's. Where
    labels stay with the initiator, its own agent uses finer scores. ``training`` and ``aside`` are positions among all
    samples; None for all, and for none. ``folds`` are empty where no two samples are about the same person: agents then
    deal their own. ``class_shares`` are those among the labels, by their own weights, in the open order of the classes.
    """

    task: Task
    methods: Mapping[str, Method]
    codes: Mapping[str, Codes]
    training: Positions | None
    aside: Positions | None
    n_training: int
    states: Mapping[str, RunState]
    holdout: judging.HoldOut | None
    seeds: Mapping[str, int]
    folds: Mapping[str, Positions]
    groups: Groups | None
    weights: Floats | None
    class_shares: Floats

    def session(
        self,
        participants: Sequence[Participant],
        alone: Callable[[int], judging.HoldoutVotes] | None = None,
        n_jobs: int | None = None,
        again: Sequence[Sequence[str]] = (),
        afresh: bool = True,
    ) -> Session:
        """Return the session; its result is judged if ``alone`` trains the initiator alone, to compare with."""
        plan, combining = self.task.plan, self._combining()
        evaluating = None if alone is None else self._evaluating(alone)
        return Session(
            plan, participants, self.states, self.holdout, n_jobs, combining, evaluating, again=again, afresh=afresh
        )

    def _combining(self) -> judging.Combining | None:
        plan, n_classes = self.task.plan, len(self.class_shares)
        if plan.combination == "sum":
            return None
        own, codes = _at(self.task.own, self.training), self.codes[self.task.agents[0]]
        made = plan.combination, plan.make_method(), codes, self.codes, n_classes, plan.seed
        return judging.Combining(*made, self.weights, own, self.groups)

    def _evaluating(self, alone: Callable[[int], judging.HoldoutVotes]) -> judging.Evaluating | None:
        holdout, plan, label_only = self.holdout, self.task.plan, self.task.label_only
        if holdout is None:
            return None
        if label_only:  # nobody votes, so that the shares of the classes decide
            alone = lambda n_models: holdout.votes_of(0)  # noqa: E731
        leave_out = plan.worse_agent == "leave out"
        return judging.Evaluating(holdout, self.task.agents, alone, plan.seed, leave_out, plan.calibrates, label_only)

    @property
    def _honest(self) -> bool:
        plan = self.task.plan
        return plan.honest_reward == "out-of-fold" and plan.make_method().wants_probabilities

    def calibration(self, session: Session, n_rounds: int) -> ScoreCalibration | None:
        """Return the calibration of the result of a finished session; None where there is nothing to do it by."""
        if not self.task.plan.calibrates:
            return None
        if self.holdout is not None:
            left_out = () if session.report is None else session.report.left_out
            return judging.calibration_on_holdout(self.holdout, n_rounds, left_out)
        if not self._honest:
            return None
        codes, method = self.codes[self.task.agents[0]], self.task.plan.make_method()
        order = self.task.order
        return judging.calibration_out_of_fold(session.kept, method, codes, len(self.class_shares), self.weights, order)

    def votes_in_training(self, session: Session, n_rounds: int) -> dict[str, Floats]:
        """Return each agent's honest votes by one unit of model weight, with which those for new people are compared.

        They are about training samples, one for each person, where rewards are honest, and otherwise about the hold-out
        samples; empty where there are neither.
        """
        plan = self.task.plan
        if self._honest:
            one_each = np.arange(self.n_training)
            if self.groups is not None:
                one_each = np.unique(self.groups, return_index=True)[1]
            rows = one_each[kept_rows(len(one_each), plan.seed)]
            models = [each for each in session.kept if each.round <= n_rounds]
            return judging.honest_votes(models, plan.make_method(), self.codes, rows)
        said = {} if self.holdout is None else self.holdout.votes_of(n_rounds).said
        return {name: each.scores / each.weight for name, each in said.items() if each.weight > 0.0}


def set_up(task: Task) -> SetUp:
    """Return what a session begins with. All chance comes from the seed of the plan."""
    plan, agents, n_classes = task.plan, task.agents, task.n_classes
    training, aside = split_of(plan, task.labels, task.holdout_words, task.roles, task.groups)
    labels, groups = _at(task.labels, training), at(task.groups, training)
    weights = _starting_weights(plan, labels, n_classes, _at(task.weights, training))
    initiator = agents[0]
    methods = {name: plan.make_method() for name in agents}
    methods[initiator] = plan.at_home().make_method().of_initiator()
    true = _at(task.codes, training)
    heard = true if task.told is None else _at(task.told, training)
    codes = {name: true if name == initiator else heard for name in agents}
    rng = np.random.RandomState([plan.seed, 3])
    seeds = {name: int(rng.randint(MAX_SEED)) for name in agents}
    if groups is not None and groups.max() + 1 < N_FOLDS and plan.honest_reward != "in-sample":
        raise SettingsError(
            f"The {len(groups)} samples to train on are about {groups.max() + 1} persons only, by their groups. At "
            f"least {N_FOLDS} persons are needed, so that models can be asked about persons whom they have not seen."
        )
    shares = class_shares(labels, n_classes, _at(task.weights, training))
    return SetUp(
        task=task,
        methods=methods,
        codes=codes,
        training=training,
        aside=aside,
        n_training=len(labels),
        states=_states(methods, len(labels), n_classes, weights),
        holdout=None if aside is None else _holdout(task, aside, shares),
        seeds=seeds,
        folds={} if groups is None else {name: deal(codes[name], plan.cv, seeds[name], groups) for name in agents},
        groups=groups,
        weights=weights,
        class_shares=shares,
    )


def _holdout(task: Task, aside: Positions, shares: Floats) -> judging.HoldOut:
    """Return the hold-out samples. They count by their own weights, not by the plan's weights of classes."""
    plan, weights = task.plan, _at(task.weights, aside)
    if weights is not None and not weights.sum() > 0.0:
        raise SettingsError(
            f"holdout={plan.holdout} holds out {len(aside)} samples, and all of them have weight zero: they say "
            "nothing about the result. Hold out more, or give more samples a weight."
        )
    return judging.HoldOut(
        task.codes[aside],
        task.n_classes,
        plan.patience,
        plan.make_method(),
        plan.metric,
        weights,
        _at(task.own, aside),
        plan.calibrates,
        task.agents,
        shares,
        task.order,
        at(task.groups, aside),
    )


def _starting_weights(plan: Plan, labels: Codes, n_classes: int, weights: Floats | None) -> Floats | None:
    """Return the weights that the samples to train on begin with; None where all are equal.

    The order of the classes must not matter, so it is the labels that are counted, and not the secret codes.
    """
    if isinstance(plan.class_weight, Mapping):  # by the position of the class
        factors = np.array([plan.class_weight.get(position, 1.0) for position in range(n_classes)])
        weights = weighted_by_class(labels, factors, weights)
    if weights is not None and not weights.sum() > 0.0:
        why = "The run" if plan.holdout is None else f"holdout={plan.holdout}"
        raise SettingsError(
            f"{why} leaves {len(labels)} samples to train on, and all of them have weight zero. Hold out less, or "
            "give more samples a weight."
        )
    return balanced(labels, n_classes, weights) if plan.class_weight == "balanced" else weights


def _states(
    methods: Mapping[str, Method], n_training: int, n_classes: int, weights: Floats | None
) -> dict[str, RunState]:
    """Return each agent's first state. Weights stay with the initiator where labels do: they may reveal labels."""
    initiator, *helpers = methods
    if not methods[initiator].keeps_labels:
        return methods[initiator].states([*methods], n_training, n_classes, weights)
    own = {initiator: methods[initiator].start(n_training, n_classes, weights)}
    return own | {name: methods[name].start(n_training, n_classes) for name in helpers}


def _at(values: Values, training: Positions | None) -> Values:
    return values if values is None or training is None else values[training]


def check_holdout(plan: Plan, labels: Codes, roles: Codes | None = None, groups: Groups | None = None) -> None:
    """Refuse a share that is so small that it holds out nothing. This is checked before a run begins."""
    if plan.holdout is not None and split_of(plan, labels, roles=roles, groups=groups)[1] is None:
        which = (
            "" if roles is None else f", of whom {int(np.count_nonzero(roles == TRAINED_ON)):,} were trained on before,"
        )
        raise SettingsError(
            f"holdout={plan.holdout} of {len(labels)} samples{which} leaves nothing to hold out. Use a larger share, "
            "or none: --holdout none, holdout=None."
        )


def split_of(
    plan: Plan,
    labels: Codes,
    words: Sequence[int] = (),
    roles: Codes | None = None,
    groups: Groups | None = None,
) -> tuple[Positions, Positions] | tuple[None, None]:
    """Return the positions of the samples to train on, and of the hold-out samples; None and None without any.

    Where a run goes on from an earlier one (``roles``), people who were held out stay held out, and people who were
    trained on are never held out. The share is drawn from the new people alone. A new sample of a person who is known
    from the earlier run is what that person's other samples were.
    """
    if plan.holdout is None:
        return None, None
    if plan.make_method().keeps_labels:
        labels = np.zeros_like(labels)  # who is held out must not reveal labels
    rng = np.random.RandomState([*words] or [plan.seed, 2])
    if roles is None:
        training, aside = judging.split(labels, plan.holdout, rng, groups)
    else:
        roles = roles if groups is None else _roles_of_persons(roles, groups)
        new = np.flatnonzero(roles == NEW)
        chosen = roles == HELD_OUT
        if len(new):
            chosen[new[judging.split(labels[new], plan.holdout, rng, at(groups, new))[1]]] = True
        training, aside = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    return (training, aside) if len(aside) else (None, None)  # a run that began without any goes on without


def _roles_of_persons(roles: Codes, groups: Groups) -> Codes:
    """Return the roles in which a new sample of a person who is known has the role of that person's other samples."""
    known = np.zeros(int(groups.max()) + 1, dtype=roles.dtype)
    for role in (HELD_OUT, TRAINED_ON):  # where a person has been both, new samples are trained on
        known[groups[roles == role]] = role
    return np.where(roles == NEW, known[groups], roles)


# -- the baseline: the initiator without help


def train_alone(
    task: Task, agent: Agent, samples: Callable[[SetUp], TrainingSamples], n_models: int
) -> tuple[SetUp, Session, int]:
    """Train the initiator alone, and return the set-up, the finished session and the number of rounds that count.

    It has the same learner, columns, samples and rules, and at most ``n_models`` models. ``agent`` is a fresh one.
    ``samples`` returns the initiator's rows of the samples to train on, and of the hold-out samples.
    """
    plan = replace(task.plan.at_home(), n_rounds=n_models, order="chain")
    made = set_up(replace(task, plan=plan, agents=[agent.name], told=None, label_only=False))
    agent.begin(samples(made), made.seeds[agent.name])
    session = made.session([LocalParticipant(agent, made.states[agent.name], made.methods[agent.name])])
    finished = next(event for event in session.run() if isinstance(event, RunFinished))
    agent.end(finished.n_rounds)
    return made, session, finished.n_rounds


def votes_alone(
    task: Task, agent: Agent, samples: Callable[[SetUp], TrainingSamples], n_models: int
) -> judging.HoldoutVotes:
    """Train the initiator alone, and return its votes on the hold-out samples."""
    made, session, n_rounds = train_alone(task, agent, samples, n_models)
    assert made.holdout is not None, "there is nothing to compare on"
    return made.holdout.votes_of(n_rounds, None if session.combining is None else session.combining.final)
