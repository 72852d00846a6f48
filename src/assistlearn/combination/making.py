"""Make the models of a combination, once it is known which way to combine is the best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistlearn.combination.absence import (
    boosted_for_any_absence,
    linear_for_absences,
    linear_for_any_absence,
    sums_for_absences,
    with_absences,
)
from assistlearn.combination.cross_validation import Tried
from assistlearn.combination.evidence import Evidence
from assistlearn.combination.linear import PLAIN_SUM, Linear, fit_linear, outputs, plain_sum
from assistlearn.combination.multinomial import losses
from assistlearn.combination.own_trees import OwnTrees, fit_own_trees
from assistlearn.combination.tree_combination import TreeCombination, fit_boosted
from assistlearn.combination.weighted_sum import fit_weighted_sum


@dataclass(frozen=True)
class Choosing:
    """The evidence to combine, the samples that choices are made on, and their folds.

    With ``quick``, no trees are tried, and nothing is fitted for samples that some agents do not hold.
    """

    told: Evidence
    chosen_on: NDArray[np.intp]
    folds: NDArray[np.intp]
    seed: int
    quick: bool

    def known(self) -> tuple[Evidence, Evidence]:
        """Return the evidence of all agents that said anything, and the part of it that choices are made on."""
        known = self.told.of(self.told.heard)
        return known, known.rows(self.chosen_on)

    def alone(self) -> tuple[Evidence, Evidence]:
        """Return the evidence of the initiator alone, and the part of it that choices are made on."""
        alone = self.told.of((self.told.initiator,))
        return alone, alone.rows(self.chosen_on)


class Models(NamedTuple):
    """The models of a combination; :class:`~assistlearn.combination.combination.Combination` explains the fields."""

    model: Linear | TreeCombination
    absences: tuple[Linear, ...]
    otherwise: Linear
    trees_otherwise: TreeCombination | None = None
    own_trees: OwnTrees | None = None


class Made(NamedTuple):
    """One way to combine: its losses, a function that makes its models, and one that gives its losses in other folds.

    Without the last one, its losses are the same in any folds, or it is not measured again.
    """

    tried: Tried
    models: Callable[[], Models]
    in_folds: Callable[[NDArray[np.intp]], Tried] | None = None


def summed(known: Evidence, part: Evidence) -> Made:
    """Return the losses of the plain sum, and a function that makes its models."""
    lost = losses(outputs(part.scores).sum(axis=0), part.codes)
    model = plain_sum(known.agents, known.n_classes)
    return Made(Tried(lost, part.weights), lambda: Models(model, (), model))


def linear(known: Evidence, part: Evidence, penalty: float, seed: int, quick: bool = False) -> Models:
    """Return linear models; where the plain sum is the best, it is also used for samples that some agents lack."""
    model = fit_linear(known, penalty)
    if quick or penalty == PLAIN_SUM:
        return Models(model, (), model)
    return Models(model, linear_for_absences(part, penalty), linear_for_any_absence(part, penalty, seed))


def boosted(known: Evidence, part: Evidence, n_iterations: int, penalty: float, seed: int) -> Models:
    """Return boosted models, and linear ones in case the initiator is missing."""
    rest = linear(known, part, penalty, seed)
    return Models(
        fit_boosted(known, n_iterations),
        rest.absences,
        rest.otherwise,
        boosted_for_any_absence(part, n_iterations, seed),
    )


def offset(known: Evidence, part: Evidence, n_trees: int, seed: int, quick: bool = False) -> Models:
    """Return weighted sums, and trees that start from the sum of all agents and serve every set of agents."""
    model = fit_weighted_sum(known)
    trees = fit_own_trees(known, model, n_trees) if n_trees else None
    if quick:
        return Models(model, (), model, own_trees=trees)
    return Models(model, sums_for_absences(part), fit_weighted_sum(with_absences(part, seed)), own_trees=trees)
