"""Learning a combination: every way that may serve is tried on folds, and one of them is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.combination.boosted import Boosted, choose_iterations, fit_boosted, why_not_boosted
from assistlearn.combination.combination import Combination
from assistlearn.combination.cross_validation import Tried, folds_of, part_to_choose_on
from assistlearn.combination.evidence import Evidence, evidence
from assistlearn.combination.linear import Linear, fit_linear, outputs, plain_sum
from assistlearn.combination.multinomial import losses
from assistlearn.combination.penalty import choose_penalty
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import SettingsError

KINDS = ("sum", "learned", "auto")

_Made: TypeAlias = tuple[Tried, Callable[[], Linear | Boosted]]


def fit(
    kind: str,
    scores: Mapping[str, Floats],
    codes: Codes,
    *,
    initiator: str,
    weights: Floats | None = None,
    own: Floats | None = None,
    seed: int = 0,
    trees: bool = True,
) -> Combination:
    """Return the combination of these agents' honest scores.

    Choices are made by the log loss of three stratified folds. Where there are more than
    :data:`~assistlearn.combination.cross_validation.MOST_SAMPLES` samples they are made on a random part of so many,
    and what is chosen is fitted to all.

    Parameters
    ----------
    kind : {"sum", "learned", "auto"}
        ``"sum"``: the votes are added up. ``"learned"``: the linear combination, or the boosted one where it is better
        by more than one standard error. ``"auto"``: these, the plain sum, and the initiator alone, which is taken where
        the helpers do not help by more than one standard error.
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
    trees : bool, default=True
        Whether small boosted trees are tried, too.
    """
    if kind not in KINDS:
        raise SettingsError(f"A combination is one of {', '.join(KINDS)}, and not {kind!r}.")
    known = evidence(scores, codes, initiator, weights, own)
    part = known.rows(part_to_choose_on(len(codes), seed))
    folds = folds_of(part.codes, seed)
    made = {"sum": _summed(known, part)}
    skipped = ""
    if kind != "sum":
        made["linear"] = _linear(known, part, folds)
        skipped = why_not_boosted(part) if trees else "nobody asked for trees"
        if not skipped:
            made["boosted"] = _boosted(known, part, folds)
    if kind == "auto":
        alone = (known.of((initiator,)), part.of((initiator,)))
        made |= {"alone": _summed(*alone), "linear alone": _linear(*alone, folds)}
    chosen = _choice(kind, {name: tried for name, (tried, _) in made.items()})
    tried, make = made[chosen]
    found = {name: each.loss for name, (each, _) in made.items()}
    return Combination(
        chosen, tried.loss, tried.error, found, skipped, known.agents, initiator, known.n_classes, make()
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
    return best if tried[best].is_better_than(tried[alone]) else alone


def _summed(known: Evidence, part: Evidence) -> _Made:
    lost = losses(outputs(part.scores).sum(axis=0), part.codes)
    return Tried(lost, part.weights), lambda: plain_sum(known.agents, known.n_classes)


def _linear(known: Evidence, part: Evidence, folds: NDArray[np.intp]) -> _Made:
    penalty, tried = choose_penalty(part, folds)
    return tried, lambda: fit_linear(known, penalty)


def _boosted(known: Evidence, part: Evidence, folds: NDArray[np.intp]) -> _Made:
    n_iterations, tried = choose_iterations(part, folds)
    return tried, lambda: fit_boosted(known, n_iterations)
