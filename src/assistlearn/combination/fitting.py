"""Learning a combination: every way that may serve is tried on folds, and one of them is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from assistlearn.combination.absence import boosted_for_any_absence, linear_for_absences, linear_for_any_absence
from assistlearn.combination.combination import Combination
from assistlearn.combination.cross_validation import Tried, folds_of, part_to_choose_on
from assistlearn.combination.evidence import Evidence, evidence
from assistlearn.combination.linear import PLAIN_SUM, Linear, fit_linear, outputs, plain_sum
from assistlearn.combination.multinomial import losses
from assistlearn.combination.penalty import choose_penalty
from assistlearn.combination.tree_combination import TreeCombination, choose_iterations, fit_boosted, why_not_boosted
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import SettingsError

KINDS = ("sum", "learned", "auto")

_Made: TypeAlias = tuple[Tried, Callable[[], "_Models"]]


class _Models(NamedTuple):
    """The model for samples that all agents hold, those for some other sets of agents, and one for all other sets."""

    model: Linear | TreeCombination
    absences: tuple[Linear, ...]
    otherwise: Linear
    trees_otherwise: TreeCombination | None = None


def fit(
    kind: str,
    scores: Mapping[str, Floats],
    codes: Codes,
    *,
    initiator: str,
    weights: Floats | None = None,
    own: Floats | None = None,
    seed: int = 0,
    quick: bool = False,
) -> Combination:
    """Return the combination of these agents' honest scores.

    Choices are made by the log loss of three stratified folds. Where there are more than
    :data:`~assistlearn.combination.cross_validation.MOST_SAMPLES` samples they are made on a random part of so many,
    and what is chosen is fitted to all.

    Parameters
    ----------
    kind : {"sum", "learned", "auto"}
        ``"sum"``: the votes are added up. ``"learned"``: the linear combination, or the boosted one where it is better
        by more than one standard error. ``"auto"``: these, the plain sum, and the initiator alone, whichever loses
        least.
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
    seed : int, default=0
        Where the folds, and the part of many samples, are drawn from.
    quick : bool, default=False
        Whether it is only to be known how good a linear combination is: no trees are tried then, and nothing is
        fitted for samples that agents are missing from.
    """
    if kind not in KINDS:
        raise SettingsError(f"A combination is one of {', '.join(KINDS)}, and not {kind!r}.")
    told = evidence(scores, codes, initiator, weights, own)
    chosen_on = part_to_choose_on(len(codes), seed)
    made = {"sum": _summed(told, told.rows(chosen_on))}
    known = told.of(told.heard)
    part = known.rows(chosen_on)
    folds = folds_of(part.codes, seed)
    skipped = ""
    if kind != "sum":
        penalty, tried = choose_penalty(part, folds)
        made["linear"] = tried, lambda: _linear(known, part, penalty, seed, quick)
        skipped = "it had to be quick" if quick else why_not_boosted(known)
        if not skipped:
            n_iterations, better = choose_iterations(part, folds, tried)
            made["boosted"] = better, lambda: _boosted(known, part, n_iterations, penalty, seed)
    if kind == "auto":
        alone = told.of((initiator,))
        alone_part = alone.rows(chosen_on)
        made["alone"] = _summed(alone, alone_part)
        own_penalty, own_tried = choose_penalty(alone_part, folds)
        made["linear alone"] = own_tried, lambda: _linear(alone, alone_part, own_penalty, seed, quick)
    chosen = _choice(kind, {name: tried for name, (tried, _) in made.items()})
    tried, make = made[chosen]
    models = make()
    return Combination(
        kind=chosen,
        loss=tried.loss,
        error=tried.error,
        losses={name: each.loss for name, (each, _) in made.items()},
        skipped=skipped,
        agents=told.agents,
        initiator=initiator,
        n_classes=told.n_classes,
        **models._asdict(),
    )


def _choice(kind: str, tried: Mapping[str, Tried]) -> str:
    """Return which of the ways is taken."""
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


def _summed(known: Evidence, part: Evidence) -> _Made:
    lost = losses(outputs(part.scores).sum(axis=0), part.codes)
    model = plain_sum(known.agents, known.n_classes)
    return Tried(lost, part.weights), lambda: _Models(model, (), model)


def _linear(known: Evidence, part: Evidence, penalty: float, seed: int, quick: bool = False) -> _Models:
    """Return linear models; where the best is the plain sum, that serves absences, too."""
    model = fit_linear(known, penalty)
    if quick or penalty == PLAIN_SUM:
        return _Models(model, (), model)
    return _Models(model, linear_for_absences(part, penalty), linear_for_any_absence(part, penalty, seed))


def _boosted(known: Evidence, part: Evidence, n_iterations: int, penalty: float, seed: int) -> _Models:
    """Return boosted models, and linear ones for where the initiator is not there."""
    linear = _linear(known, part, penalty, seed)
    return _Models(
        fit_boosted(known, n_iterations),
        linear.absences,
        linear.otherwise,
        boosted_for_any_absence(part, n_iterations, seed),
    )
