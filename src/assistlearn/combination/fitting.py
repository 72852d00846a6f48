"""Learn a combination: every suitable way is tried on folds, and the best one is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assistlearn.combination.combination import Combination
from assistlearn.combination.cross_validation import (
    CLAIM_FOLDS,
    MOST_SAMPLES,
    N_FOLDS,
    Tried,
    folds_of,
    part_to_choose_on,
)
from assistlearn.combination.evidence import evidence
from assistlearn.combination.making import Choosing, Made, boosted, linear, summed
from assistlearn.combination.penalty import choose_penalty, losses_under
from assistlearn.combination.private_fitting import PRIVATE_KINDS, private_choice, private_ways
from assistlearn.combination.tree_combination import choose_iterations, losses_after, why_not_boosted
from assistlearn.core.groups import Groups, at
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import SettingsError

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
    :data:`~assistlearn.combination.cross_validation.MOST_SAMPLES` samples, they are made on a random part of that size.
    What is chosen is fitted to all samples. What is claimed of it is measured anew, in other and more folds: those of
    the choice flatter the one that was chosen, and leave out too many samples.

    Parameters
    ----------
    kind : {"sum", "learned", "auto", "stack", "offset", "private"}
        ``"sum"``: the votes are added up. ``"learned"``: the linear combination, or the boosted one where it is better
        by more than one standard error. ``"auto"``: the one of these, the plain sum and the initiator alone that has
        the lowest loss. The others are for helpers that have not seen the true labels
        (:mod:`assistlearn.combination.private_fitting`).
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
