"""Learn a combination: every suitable candidate is tried on folds, and the best one is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistlearn.combination import linear, trees
from assistlearn.combination.combination import Combination
from assistlearn.combination.linear import Evidence, Linear, Tried
from assistlearn.combination.trees import OwnTrees, TreeCombination
from assistlearn.core.people import Groups, at
from assistlearn.errors import SettingsError
from assistlearn.types import Codes, Floats

KINDS = ("sum", "learned", "auto", "stack", "offset", "private")
PRIVATE_KINDS = KINDS[3:]
"""The kinds for helpers that have not seen the true labels."""
CLAIM_FOLDS = 10
"""Folds for what is claimed of the chosen candidate: with a third of the samples left out it would do worse than the
one that is used."""


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
    :data:`~assistlearn.combination.linear.MOST_SAMPLES` samples, they are made on a random part of that size.
    What is chosen is fitted to all samples. What is claimed of it is measured anew, in other and more folds: those of
    the choice flatter the one that was chosen, and leave out too many samples.

    Parameters
    ----------
    kind : {"sum", "learned", "auto", "stack", "offset", "private"}
        ``"sum"``: the votes are added up. ``"learned"``: the linear combination, or the boosted one where it is better
        by more than one standard error. ``"auto"``: the one of these, the plain sum and the initiator alone that has
        the lowest loss.

        The others are for helpers that have not seen the true labels. ``"stack"``: trees over the helpers' scores, the
        initiator's own and its columns, for two classes. With many classes, the K scores of a helper show which row of
        its table they belong to, and trees would gain by that even if the scores were fitted to pure chance.
        ``"offset"``: trees over the initiator's own scores and columns alone, which start from the weighted sum of all
        scores, for more than two classes. ``"private"``: the one of both that suits the number of classes. With two
        classes, it is a linear combination unless trees are better by more than one standard error. Where the initiator
        alone has a lower loss, no helper is listened to.
    own : array of shape (n, p), optional
        The initiator's own columns, as numbers; NaN where one is missing. Only trees look at them.
    groups : ndarray of int of shape (n,), optional
        Which samples are about the same person: those stay together in the folds.
    quick : bool, default=False
        Whether the caller only wants to know how good a combination without trees is. If so, no trees are tried, and
        nothing is fitted for samples that some agents do not hold.
    """
    if kind not in KINDS:
        raise SettingsError(f"A combination must be one of {', '.join(KINDS)}, not {kind!r}.")
    known = linear.evidence(scores, codes, initiator, weights, own)
    chosen_on = linear.part_to_choose_on(len(codes), seed)
    people = at(groups, chosen_on)
    choosing = Choosing(known, chosen_on, linear.folds_of(known.codes[chosen_on], seed, groups=people), seed, quick)
    candidates, skipped = choosing.candidates(kind)
    tried = {name: replace(each.tried, groups=people) for name, each in candidates.items()}
    chosen = _choice(kind, tried)
    models, in_folds, claimed = candidates[chosen].models(), candidates[chosen].in_folds, tried[chosen]
    # Fewer folds where trees would take long, and matter less.
    n_folds = CLAIM_FOLDS if chosen != "boosted" else min(CLAIM_FOLDS, linear.MOST_SAMPLES // len(chosen_on))
    if in_folds and kind not in PRIVATE_KINDS and not quick and n_folds > linear.N_FOLDS:
        claimed = replace(in_folds(linear.folds_of(known.codes[chosen_on], seed + 1, n_folds, people)), groups=people)
    return Combination(
        kind=chosen,
        loss=claimed.loss,
        error=claimed.error,
        losses={name: each.loss for name, each in tried.items()},
        skipped=skipped,
        agents=known.agents,
        initiator=initiator,
        n_classes=known.n_classes,
        **models._asdict(),
    )


def _choice(kind: str, tried: Mapping[str, Tried]) -> str:
    if kind == "sum":
        return "sum"
    best = next(name for name in ("offset", "linear") if name in tried)
    grown = next((name for name in ("boosted", "stack") if name in tried), None)
    if grown and (kind == "stack" or tried[grown].is_better_than(tried[best])):
        best = grown
    if kind not in ("auto", "private"):
        return best
    if kind == "auto" and tried["sum"].loss <= tried[best].loss:
        best = "sum"
    alone = min((name for name in tried if name.endswith("alone")), key=lambda each: tried[each].loss)
    return best if tried[best].loss < tried[alone].loss else alone


class Models(NamedTuple):
    """The models of a combination; :class:`~assistlearn.combination.combination.Combination` explains the fields."""

    model: Linear | TreeCombination
    absences: tuple[Linear, ...]
    otherwise: Linear
    trees_otherwise: TreeCombination | None = None
    own_trees: OwnTrees | None = None


class Candidate(NamedTuple):
    """A combination that is tried: its losses, what makes its models, and what gives its losses in other folds.

    Without the last one, its losses are the same in any folds, or it is not measured again.
    """

    tried: Tried
    models: Callable[[], Models]
    in_folds: Callable[[NDArray[np.intp]], Tried] | None = None


@dataclass(frozen=True)
class Choosing:
    """The evidence to combine, the samples that choices are made on, and their folds."""

    evidence: Evidence
    chosen_on: NDArray[np.intp]
    folds: NDArray[np.intp]
    seed: int
    quick: bool

    def candidates(self, kind: str) -> tuple[dict[str, Candidate], str]:
        """Return the candidates by name, and the reason why trees are not tried, if there is one."""
        heard, alone = (self.evidence.of(agents) for agents in (self.evidence.heard, (self.evidence.initiator,)))
        if kind == "sum":
            return {"sum": self.summed(self.evidence)}, ""
        if kind in ("learned", "auto"):
            found, skipped = self.linear_and_trees(heard, "boosted")
            found = {"sum": self.summed(self.evidence)} | found
            if kind == "auto":
                found |= {"alone": self.summed(alone), "linear alone": self.linear(alone)}
            return found, skipped
        if kind == "stack" or (kind == "private" and self.evidence.n_classes == 2):
            found, skipped = self.linear_and_trees(heard, "stack")
            if kind == "private":
                found |= {"alone": self.summed(alone), "linear alone": self.linear(alone)}
            return found, skipped
        skipped = self.why_no_trees(alone)  # an offset's trees see nothing of the helpers
        found = {"offset": self.offset(heard, grow=not skipped)}
        if kind == "private":
            found |= {"alone": self.summed(alone), "offset alone": self.offset(alone, grow=not skipped)}
        return found, skipped

    def why_no_trees(self, seen: Evidence) -> str:
        return "trees take too long for a quick fit" if self.quick else trees.why_not_boosted(seen)

    def summed(self, known: Evidence) -> Candidate:
        part = known.rows(self.chosen_on)
        lost = linear.losses(linear.outputs(part.scores).sum(axis=0), part.codes)
        model = linear.plain_sum(known.agents, known.n_classes)
        return Candidate(Tried(lost, part.weights), lambda: Models(model, (), model))

    def linear(self, known: Evidence) -> Candidate:
        part = known.rows(self.chosen_on)
        penalty, tried = linear.choose_penalty(part, self.folds)

        def models() -> Models:
            model = linear.fit_linear(known, penalty)
            if self.quick or penalty == linear.PLAIN_SUM:  # also used for samples that some agents lack
                return Models(model, (), model)
            otherwise = linear.fit_linear(with_absences(part, self.seed), penalty, TOLERANCE)
            return Models(
                model, for_absences(part, lambda each: linear.fit_linear(each, penalty, TOLERANCE)), otherwise
            )

        return Candidate(tried, models, lambda folds: linear.losses_under(part, penalty, folds))

    def linear_and_trees(self, known: Evidence, name: str) -> tuple[dict[str, Candidate], str]:
        """Return the linear combination and, under a name, the boosted one; or why the latter is not tried.

        The boosted one has linear models, too, in case the initiator is missing.
        """
        by_matrices = self.linear(known)
        skipped = self.why_no_trees(known)
        if skipped:
            return {"linear": by_matrices}, skipped
        part = known.rows(self.chosen_on)
        n_iterations, tried = trees.choose_iterations(part, self.folds, by_matrices.tried)

        def models() -> Models:
            trees_otherwise = trees.fit_boosted(with_absences(part, self.seed), n_iterations)
            model = trees.fit_boosted(known, n_iterations)
            return by_matrices.models()._replace(model=model, trees_otherwise=trees_otherwise)

        boosted = Candidate(tried, models, lambda folds: trees.losses_after(part, n_iterations, folds))
        return {"linear": by_matrices, name: boosted}, ""

    def offset(self, known: Evidence, grow: bool) -> Candidate:
        """Return weighted sums, and trees that start from the sum of all agents and serve every set of agents."""
        part = known.rows(self.chosen_on)
        n_trees, tried = (
            trees.choose_trees(part, self.folds) if grow else (0, linear.try_weighted_sum(part, self.folds))
        )

        def models() -> Models:
            model = linear.fit_weighted_sum(known)
            grown = trees.fit_own_trees(known, model, n_trees) if n_trees else None
            if self.quick:
                return Models(model, (), model, own_trees=grown)
            otherwise = linear.fit_weighted_sum(with_absences(part, self.seed))
            return Models(model, for_absences(part, linear.fit_weighted_sum), otherwise, own_trees=grown)

        return Candidate(tried, models)


# Combinations for samples that some agents do not hold: one for each set of agents that is likely to be there.
#
# It is not enough to set a missing agent's scores to zero in a combination that was fitted with all agents: the
# others' scores then count as if it had spoken. With a helper gone, that cost up to .16 of accuracy in linear
# combinations, and up to .15 in boosted ones, compared with a combination of the agents that are there.
#
# With many agents there are too many sets. The sets that get none of their own share one combination. It is fitted to
# samples from which helpers were left out at random, with a chance of a half. On digits in eight agents with 30 % of
# the helpers' samples missing (four cuts), this combination had an accuracy of .907 where it was linear. It was .884
# with missing scores set to zero, and .926 with a combination for every set. Trees are fitted for absences in this way
# only; one more set of trees for every agent would take more time and room.


MOST_AGENTS = 4
"""The largest number of agents for which every set of helpers gets a linear combination of its own."""
TOLERANCE = 1e-6
"""The search for a combination stops at this relative change of the loss."""
COPIES = 3
"""How many copies there are of each sample. Each copy leaves out helpers of its own."""


def likely_sets(agents: tuple[str, ...], initiator: str) -> list[tuple[str, ...]]:
    """Return the sets of agents that get a combination of their own. The set of all agents is not among them.

    With few agents, these are all sets with the initiator in them. With many, they are the sets without one helper, and
    the initiator alone. The set of all helpers is always among them.
    """
    always = tuple(agent for agent in agents if agent == initiator)  # nobody, where the initiator has no scores
    sizes = range(1, len(agents)) if len(agents) <= MOST_AGENTS else (len(agents) - 1,)
    found = [each for size in sizes for each in combinations(agents, size) if {*always} <= {*each}]
    helpers = tuple(agent for agent in agents if agent != initiator)
    return [each for each in dict.fromkeys([always, *found, helpers]) if each and each != agents]


def for_absences(evidence: Evidence, fit: Callable[[Evidence], Linear]) -> tuple[Linear, ...]:
    """Return a combination for each likely set of agents, and one for samples that no agent speaks about."""
    return (
        *(fit(evidence.of(each)) for each in likely_sets(evidence.agents, evidence.initiator)),
        linear.prior(evidence),
    )


def with_absences(evidence: Evidence, seed: int) -> Evidence:
    """Return :data:`COPIES` copies of the evidence; for each sample, the scores of helpers drawn at random are zero."""
    n = len(evidence.codes)
    gone = np.random.default_rng(seed).random((len(evidence.agents), n * COPIES)) < 0.5
    gone[[agent == evidence.initiator for agent in evidence.agents]] = False
    many = evidence.rows(np.tile(np.arange(n), COPIES))
    return replace(many, scores=np.where(gone[:, :, None], 0.0, many.scores))
