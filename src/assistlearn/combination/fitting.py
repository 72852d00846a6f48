"""Learn a combination: every suitable way is tried on folds, and the best one is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistlearn.combination.combination import (
    Combination,
    boosted_for_any_absence,
    linear_for_absences,
    linear_for_any_absence,
    sums_for_absences,
    with_absences,
)
from assistlearn.combination.evidence import (
    CLAIM_FOLDS,
    MOST_SAMPLES,
    N_FOLDS,
    Evidence,
    Tried,
    evidence,
    folds_of,
    part_to_choose_on,
)
from assistlearn.combination.linear import (
    PLAIN_SUM,
    Linear,
    choose_penalty,
    fit_linear,
    fit_weighted_sum,
    losses,
    losses_under,
    outputs,
    plain_sum,
    try_weighted_sum,
)
from assistlearn.combination.trees import (
    OwnTrees,
    TreeCombination,
    choose_iterations,
    choose_trees,
    fit_boosted,
    fit_own_trees,
    losses_after,
    why_not_boosted,
)
from assistlearn.core.people import Groups, at
from assistlearn.errors import SettingsError
from assistlearn.types import Codes, Floats

# Make the models of a combination, once it is known which way to combine is the best.


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


# Ways to combine scores of helpers that have not seen the true labels.
#
# *Stack*: trees over the helpers' scores, the initiator's own and its columns, for two classes. With many classes,
# the K scores of a helper show which row of its table they belong to. Trees would gain by that even if the scores were
# fitted to pure chance.
#
# *Offset*: trees over the initiator's own scores and columns alone, which start from the weighted sum of all scores. It
# is for more than two classes.
#
# *Private*: the one of both that suits the number of classes. With two classes, it is a linear combination unless trees
# are better by more than one standard error. Where the initiator alone has a lower loss, no helper is listened to.


PRIVATE_KINDS = ("stack", "offset", "private")


def private_ways(kind: str, choosing: Choosing) -> tuple[dict[str, Made], str]:
    """Return the ways that are tried, by name, and the reason why trees are not, if there is one."""
    stacked = kind == "stack" or (kind == "private" and choosing.told.n_classes == 2)
    made, skipped = _stack(choosing) if stacked else _offset(choosing)
    if kind == "private":
        made["alone"] = summed(*choosing.alone())
        made |= _linear_alone(choosing) if stacked else _offset_alone(choosing)
    return made, skipped


def private_choice(kind: str, tried: Mapping[str, Tried]) -> str:
    """Return the name of the way to use."""
    best = next(name for name in ("stack", "offset", "linear") if name in tried)
    if kind != "private":
        return best
    if best == "stack" and not tried["stack"].is_better_than(tried["linear"]):
        best = "linear"
    alone = min((name for name in tried if name.endswith("alone")), key=lambda each: tried[each].loss)
    return best if tried[best].loss < tried[alone].loss else alone


def _stack(choosing: Choosing) -> tuple[dict[str, Made], str]:
    known, part = choosing.known()
    penalty, tried = choose_penalty(part, choosing.folds)
    made: dict[str, Made] = {"linear": Made(tried, lambda: linear(known, part, penalty, choosing.seed, choosing.quick))}
    skipped = _why_no_trees(choosing, known)
    if not skipped:
        n_iterations, better = choose_iterations(part, choosing.folds, tried)
        made["stack"] = Made(better, lambda: boosted(known, part, n_iterations, penalty, choosing.seed))
    return made, skipped


def _linear_alone(choosing: Choosing) -> dict[str, Made]:
    known, part = choosing.alone()
    penalty, tried = choose_penalty(part, choosing.folds)
    return {"linear alone": Made(tried, lambda: linear(known, part, penalty, choosing.seed, choosing.quick))}


def _offset(choosing: Choosing) -> tuple[dict[str, Made], str]:
    known, part = choosing.known()
    skipped = _why_no_trees(choosing, choosing.alone()[0])
    n_trees, tried = (0, try_weighted_sum(part, choosing.folds)) if skipped else choose_trees(part, choosing.folds)
    return {"offset": Made(tried, lambda: offset(known, part, n_trees, choosing.seed, choosing.quick))}, skipped


def _offset_alone(choosing: Choosing) -> dict[str, Made]:
    known, part = choosing.alone()
    skipped = _why_no_trees(choosing, known)
    n_trees, tried = (0, try_weighted_sum(part, choosing.folds)) if skipped else choose_trees(part, choosing.folds)
    return {"offset alone": Made(tried, lambda: offset(known, part, n_trees, choosing.seed, choosing.quick))}


def _why_no_trees(choosing: Choosing, seen: Evidence) -> str:
    """Return why trees over the evidence that they would see are not tried; an empty text where they are."""
    return "trees take too long for a quick fit" if choosing.quick else why_not_boosted(seen)


# Learn a combination: every suitable way is tried on folds, and the best one is fitted.


KINDS = ("sum", "learned", "auto", *PRIVATE_KINDS)


def fit(
    kind: str,
    scores: Mapping[str, Floats],
    codes: Codes,
    *,
    initiator: str,
    weights: Floats | None = None,
    own: Floats | None = None,
    groups: Groups | None = None,
    seed: int = 0,
    quick: bool = False,
) -> Combination:
    """Return the combination of these agents' honest scores.

    Choices are made by the log loss on three stratified folds. With more than
    :data:`~assistlearn.combination.evidence.MOST_SAMPLES` samples, they are made on a random part of that size.
    What is chosen is fitted to all samples. What is claimed of it is measured anew, in other and more folds: those of
    the choice flatter the one that was chosen, and leave out too many samples.

    Parameters
    ----------
    kind : {"sum", "learned", "auto", "stack", "offset", "private"}
        ``"sum"``: the votes are added up. ``"learned"``: the linear combination, or the boosted one where it is better
        by more than one standard error. ``"auto"``: the one of these, the plain sum and the initiator alone that has
        the lowest loss. The others are for helpers that have not seen the true labels
        (:mod:`assistlearn.combination.fitting`).
    scores : mapping of agent to array of shape (n, K)
        Each agent's model weights times its honest votes, summed over its kept models.
    codes : array of shape (n,)
        The true classes.
    initiator : str
        The agent that learns.
    weights : array of shape (n,), optional
        The weights of the samples.
    own : array of shape (n, p), optional
        The initiator's own columns, as numbers; NaN where one is missing. Only trees look at them.
    groups : ndarray of int of shape (n,), optional
        Which samples are about the same person: those stay together in the folds.
    seed : int, default=0
        For all that is drawn at random: the folds, the part of many samples, and the helpers that are left out.
    quick : bool, default=False
        Whether the caller only wants to know how good a combination without trees is. If so, no trees are tried, and
        nothing is fitted for samples that some agents do not hold.
    """
    if kind not in KINDS:
        raise SettingsError(f"A combination must be one of {', '.join(KINDS)}, not {kind!r}.")
    told = evidence(scores, codes, initiator, weights, own)
    chosen_on = part_to_choose_on(len(codes), seed)
    people = at(groups, chosen_on)
    choosing = Choosing(told, chosen_on, folds_of(told.codes[chosen_on], seed, groups=people), seed, quick)
    private = kind in PRIVATE_KINDS
    made, skipped = private_ways(kind, choosing) if private else _ways(kind, choosing)
    lost = {name: replace(each.tried, groups=people) for name, each in made.items()}
    chosen = private_choice(kind, lost) if private else _choice(kind, lost)
    models, in_folds, claimed = made[chosen].models(), made[chosen].in_folds, lost[chosen]
    n_folds = _folds_to_claim(chosen, len(chosen_on))
    if in_folds and not quick and n_folds > N_FOLDS:
        claimed = replace(in_folds(folds_of(told.codes[chosen_on], seed + 1, n_folds, people)), groups=people)
    return Combination(
        kind=chosen,
        loss=claimed.loss,
        error=claimed.error,
        losses={name: each.tried.loss for name, each in made.items()},
        skipped=skipped,
        agents=told.agents,
        initiator=initiator,
        n_classes=told.n_classes,
        **models._asdict(),
    )


def _folds_to_claim(chosen: str, n_samples: int) -> int:
    """Return in how many folds to measure what is claimed; fewer where trees would take long, and matter less."""
    return CLAIM_FOLDS if chosen != "boosted" else min(CLAIM_FOLDS, MOST_SAMPLES // n_samples)


def _ways(kind: str, choosing: Choosing) -> tuple[dict[str, Made], str]:
    """Return the ways that are tried, by name, and the reason why trees are not, if there is one."""
    told, (known, part) = choosing.told, choosing.known()
    made = {"sum": summed(told, told.rows(choosing.chosen_on))}
    skipped = ""
    if kind != "sum":
        penalty, tried = choose_penalty(part, choosing.folds)
        made["linear"] = Made(
            tried,
            lambda: linear(known, part, penalty, choosing.seed, choosing.quick),
            lambda folds: losses_under(part, penalty, folds),
        )
        skipped = "trees take too long for a quick fit" if choosing.quick else why_not_boosted(known)
        if not skipped:
            n_iterations, better = choose_iterations(part, choosing.folds, tried)
            made["boosted"] = Made(
                better,
                lambda: boosted(known, part, n_iterations, penalty, choosing.seed),
                lambda folds: losses_after(part, n_iterations, folds),
            )
    if kind == "auto":
        alone, alone_part = choosing.alone()
        made["alone"] = summed(alone, alone_part)
        own_penalty, own_tried = choose_penalty(alone_part, choosing.folds)
        made["linear alone"] = Made(
            own_tried,
            lambda: linear(alone, alone_part, own_penalty, choosing.seed, choosing.quick),
            lambda folds: losses_under(alone_part, own_penalty, folds),
        )
    return made, skipped


def _choice(kind: str, tried: Mapping[str, Tried]) -> str:
    """Return the name of the way to use."""
    if kind == "sum":
        return "sum"
    best = "linear"
    if "boosted" in tried and tried["boosted"].is_better_than(tried["linear"]):
        best = "boosted"
    if kind == "learned":
        return best
    if tried["sum"].loss <= tried[best].loss:
        best = "sum"
    alone = min(("alone", "linear alone"), key=lambda each: tried[each].loss)
    return best if tried[best].loss < tried[alone].loss else alone
