"""Ways to combine scores of helpers that have not seen the true labels.

*Stack*: trees over the helpers' scores, the initiator's own and its columns. It is for two classes. With many classes,
the K scores of a helper show which row of its table they belong to. Trees would gain by that even if the scores were
fitted to pure chance.

*Offset*: trees over the initiator's own scores and columns alone, which start from the weighted sum of all scores. It
is for more than two classes.

*Private*: the one of both that suits the number of classes. With two classes, it is a linear combination unless trees
are better by more than one standard error. Where the initiator alone has a lower loss, no helper is listened to.
"""

from __future__ import annotations

from collections.abc import Mapping

from assistlearn.combination.cross_validation import Tried
from assistlearn.combination.evidence import Evidence
from assistlearn.combination.making import Choosing, Made, boosted, linear, offset, summed
from assistlearn.combination.own_trees import choose_trees
from assistlearn.combination.penalty import choose_penalty
from assistlearn.combination.tree_combination import choose_iterations, why_not_boosted
from assistlearn.combination.weighted_sum import try_weighted_sum

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
