"""The set-up of a run: what follows from the plan and the labels before the first turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.alignment import Ids, normalise
from assistlearn.combination.evidence import N_FOLDS
from assistlearn.core import RunState
from assistlearn.core.labels import balanced, class_shares, weighted_by_class
from assistlearn.core.people import Groups, at
from assistlearn.errors import SettingsError
from assistlearn.learners.folds import deal
from assistlearn.learners.weighting import MAX_SEED
from assistlearn.methods.method import Method
from assistlearn.plan import Plan
from assistlearn.session import Combining, HoldOut
from assistlearn.session.combining import Lesson, VotesInTraining
from assistlearn.session.holdout import HoldoutVotes, split
from assistlearn.session.judging import ByHoldout, ByOutOfFold, Calibrating, Evaluating
from assistlearn.tables.labels import classes_in
from assistlearn.tables.table import Table
from assistlearn.types import Codes, Floats

# The initiator's table in a run: its classes, its labels as codes, its weights, and the rows of ids.


def classes_of(table: Table) -> list[Any]:
    """Return the classes in the order of their values."""
    assert table.labels is not None
    return classes_in(table.labels, table.source)


def codes_of(table: Table, classes: Sequence[Any]) -> NDArray[Any]:
    """Return the position of each row's label among the classes; -1 for no label, or for one that is not among them."""
    if table.labels is None:
        return np.full(len(table), -1)
    place = {label: position for position, label in enumerate(classes)}
    return np.array([place.get(label, -1) for label in table.labels.to_list()], dtype=np.int64)


def weights_of(table: Table) -> NDArray[Any] | None:
    """Return each row's weight; None where all count alike. Rows without a label may have none, and get 0."""
    return None if table.weights is None else table.weights.fill_null(0.0).to_numpy()


def rows_of(ids: Ids, table_ids: pl.Series) -> NDArray[Any]:
    """Return the row of each id in a table, or -1 where it has none."""
    table = pl.DataFrame({"id": normalise(table_ids), "row": np.arange(len(table_ids))})
    asked = pl.DataFrame({"id": ids.take(np.arange(len(ids)))})
    found = asked.join(table, on="id", how="left", maintain_order="left")["row"]
    return found.fill_null(-1).to_numpy().astype(np.int64)


# The set-up of a run: what follows from the plan and the labels before the first turn, wherever the agents are.


NEW, TRAINED_ON, HELD_OUT = 0, 1, 2
"""What a sample was in an earlier run. One that was trained on is never held out: the report would be too good."""

Positions = NDArray[np.intp]
Values = TypeVar("Values", Codes, Floats | None)


@dataclass(frozen=True)
class SetUp:
    """What a session begins with.

    Attributes
    ----------
    methods : mapping of str to Method
        How each agent's models are rewarded and weighed; where labels stay with the initiator, its own agent uses
        finer scores.
    codes : mapping of str to ndarray of shape (n_training,)
        The class codes of the samples to train on, as each agent is told them.
    training : ndarray of int, or None
        The positions of the samples to train on; None for all.
    aside : ndarray of int, or None
        The positions of the hold-out samples; None where there are none.
    n_training : int
        How many samples are trained on.
    states : mapping of str to RunState
        Each agent's state before the first turn.
    holdout : HoldOut or None
        The hold-out samples, which show how good a result is.
    seeds : mapping of str to int
        The seed for chance in each agent's preparation.
    folds : mapping of str to ndarray of shape (n_training,)
        Where several samples are about the same person: the fold of each sample to train on, for each agent. Empty
        where agents deal their own folds.
    groups : ndarray of int of shape (n_training,) or None
        Which of the samples to train on are about the same person; None where no two are.
    weights : ndarray or None
        The initial weights of the samples to train on; None where all are equal.
    class_shares : ndarray of shape (n_classes,)
        The share of each class among the labels of the samples to train on, by their own weights, in the open order of
        the classes.
    label_only : bool
        Whether the initiator has labels alone.
    order : ndarray of int, or None
        The class code of each class, where codes are in a secret order.
    """

    methods: Mapping[str, Method]
    codes: Mapping[str, Codes]
    training: Positions | None
    aside: Positions | None
    n_training: int
    states: Mapping[str, RunState]
    holdout: HoldOut | None
    seeds: Mapping[str, int]
    folds: Mapping[str, Positions]
    groups: Groups | None
    weights: Floats | None
    class_shares: Floats
    label_only: bool
    order: Codes | None

    def combining(self, plan: Plan, agents: Sequence[str], codes: Codes, n_classes: int, own: Any) -> Combining | None:
        """Return the object that learns the combination; None where the plan adds votes up.

        Parameters
        ----------
        plan : Plan
            What may be learned, and the seed.
        agents : sequence of str
            Their names, the initiator first.
        codes : ndarray
            The class codes of all samples.
        n_classes : int
            The number of classes.
        own : ndarray or None
            The initiator's own columns for all samples, as numbers.
        """
        if plan.combination == "sum":
            return None
        kept = slice(None) if self.training is None else self.training
        mine = None if own is None else own[kept]
        task = codes[kept], self.codes, n_classes, self.weights, mine, plan.seed, self.groups
        lesson = Lesson(plan.combination, agents, *task)
        return Combining(lesson, plan.make_method())

    def evaluating(self, plan: Plan, agents: Sequence[str], alone: Callable[[int], HoldoutVotes]) -> Evaluating | None:
        """Return the object that judges the result; None where there are no hold-out samples.

        Parameters
        ----------
        plan : Plan
            What happens to a helper that makes the result worse, and the seed.
        agents : sequence of str
            Their names, the initiator first.
        alone : callable
            Trains the initiator alone.
        """
        if self.holdout is None:
            return None
        leave_out = plan.worse_agent == "leave out"
        return Evaluating(self.holdout, agents, alone, plan.seed, leave_out, plan.calibrates)

    def calibrating(self, plan: Plan, codes: Codes, n_classes: int) -> Calibrating | None:
        """Return the object that calibrates probabilities; None where none is needed. ``codes`` are of all samples."""
        if not plan.calibrates:
            return None
        if self.holdout is not None:
            return ByHoldout(self.holdout)
        method = plan.make_method()
        if plan.honest_reward != "out-of-fold" or not method.wants_probabilities:
            return None
        return ByOutOfFold(method, _at(codes, self.training), n_classes, self.weights, self.order)

    def remembering(self, plan: Plan, n_classes: int) -> VotesInTraining:
        """Return the object that collects honest votes, with which those for new people are compared."""
        method = plan.make_method()
        honest = plan.honest_reward == "out-of-fold" and method.wants_probabilities
        return VotesInTraining(method, self.codes, n_classes, honest, self.holdout, self.groups, plan.seed)


def set_up(
    plan: Plan,
    agents: Sequence[str],
    labels: Codes,
    codes: Codes,
    n_classes: int,
    weights: Floats | None = None,
    told: Codes | None = None,
    own: Floats | None = None,
    holdout_words: Sequence[int] = (),
    label_only: bool = False,
    roles: Codes | None = None,
    order: Codes | None = None,
    groups: Groups | None = None,
) -> SetUp:
    """Return what a session begins with.

    Parameters
    ----------
    plan : Plan
        All chance comes from its seed.
    agents : sequence of str
        Their names, the initiator first.
    labels : ndarray of shape (n_samples,)
        The position of each sample's class in the order of the classes. Hold-out samples are drawn by these.
    codes : ndarray of shape (n_samples,)
        The class codes of the run: the labels themselves, or under a secret permutation.
    n_classes : int
        The number of classes.
    weights : ndarray of shape (n_samples,), optional
        The initial weights of the samples.
    told : ndarray of shape (n_samples,), optional
        The class codes that helpers are told, where the true ones stay with the initiator. Those of hold-out samples
        are not looked at: nobody is told them.
    own : ndarray of shape (n_samples, n_columns), optional
        The initiator's own columns as numbers, where a combination may use them.
    holdout_words : sequence of int, optional
        Secret numbers from which the hold-out samples are drawn; by default they are drawn from the seed of the plan.
    label_only : bool, default=False
        Whether the initiator has labels alone, and takes no turns.
    roles : ndarray of shape (n_samples,), optional
        What each sample was in an earlier run that this one goes on from; see :func:`split_of`.
    order : ndarray of int, optional
        The class code of each class, where codes are in a secret order.
    groups : ndarray of int of shape (n_samples,), optional
        Which samples are about the same person. These stay together: all held out, or all in one fold.
    """
    training, aside = split_of(plan, labels, holdout_words, roles, groups)
    own_weights = _starting_weights(plan, _at(labels, training), n_classes, _at(weights, training))
    initiator = agents[0]
    methods = {name: plan.make_method() for name in agents}
    methods[initiator] = plan.at_home().make_method().of_initiator()
    n_training = len(labels) if training is None else len(training)
    true = _at(codes, training)
    heard = true if told is None else _at(told, training)
    shares = class_shares(_at(labels, training), n_classes, _at(weights, training))
    rng = np.random.RandomState([plan.seed, 3])
    told_codes = {name: true if name == initiator else heard for name in agents}
    seeds = {name: int(rng.randint(MAX_SEED)) for name in agents}
    kept = at(groups, training)
    if kept is not None and kept.max() + 1 < N_FOLDS and plan.honest_reward != "in-sample":
        raise SettingsError(
            f"The {len(kept)} samples to train on are about {kept.max() + 1} persons only, by their groups. At least "
            f"{N_FOLDS} persons are needed, so that models can be asked about persons whom they have not seen."
        )
    return SetUp(
        methods=methods,
        codes=told_codes,
        training=training,
        aside=aside,
        n_training=n_training,
        states=_states(methods, n_training, n_classes, own_weights),
        holdout=None
        if aside is None
        else _holdout(plan, agents, codes, aside, weights, own, shares, label_only, order, at(groups, aside)),
        seeds=seeds,
        folds={} if kept is None else {name: deal(told_codes[name], plan.cv, seeds[name], kept) for name in agents},
        groups=kept,
        weights=own_weights,
        class_shares=shares,
        label_only=label_only,
        order=order,
    )


def _holdout(
    plan: Plan,
    agents: Sequence[str],
    codes: Codes,
    aside: Positions,
    weights: Floats | None,
    own: Floats | None,
    shares: Floats,
    label_only: bool,
    order: Codes | None,
    groups: Groups | None,
) -> HoldOut:
    """Return the hold-out samples. They count by their own weights, not by the plan's weights of classes."""
    theirs = None if weights is None else weights[aside]
    if theirs is not None and not theirs.sum() > 0.0:
        raise SettingsError(
            f"holdout={plan.holdout} holds out {len(aside)} samples, and all of them have weight zero: they say "
            "nothing about the result. Hold out more, or give more samples a weight."
        )
    return HoldOut(
        codes[aside],
        len(shares),
        plan.patience,
        plan.make_method(),
        plan.metric,
        theirs,
        None if own is None else own[aside],
        plan.calibrates,
        agents,
        shares,
        order,
        label_only,
        groups,
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
    """Return the values of the samples to train on."""
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
        training, aside = split(labels, plan.holdout, rng, groups)
    else:
        roles = roles if groups is None else _roles_of_persons(roles, groups)
        new = np.flatnonzero(roles == NEW)
        chosen = roles == HELD_OUT
        if len(new):
            chosen[new[split(labels[new], plan.holdout, rng, at(groups, new))[1]]] = True
        training, aside = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    return (training, aside) if len(aside) else (None, None)  # a run that began without any goes on without


def _roles_of_persons(roles: Codes, groups: Groups) -> Codes:
    """Return the roles in which a new sample of a person who is known has the role of that person's other samples."""
    known = np.zeros(int(groups.max()) + 1, dtype=roles.dtype)
    for role in (HELD_OUT, TRAINED_ON):  # where a person has been both, new samples are trained on
        known[groups[roles == role]] = role
    return np.where(roles == NEW, known[groups], roles)
