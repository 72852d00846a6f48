"""Combinations for samples that some agents do not hold: one for each set of agents that is likely to be there.

It is not enough to set a missing agent's scores to zero in a combination that was fitted with all agents: the others'
scores then count as if it had spoken. With a helper gone, that cost up to .16 of accuracy in linear combinations, and
up to .15 in boosted ones, against a combination of those that are there.

With many agents there are too many sets. For all others there is one combination that was fitted to samples from which
helpers were left out at random, with a chance of a half. On digits in eight agents with 30 % of the helpers' samples
missing (four cuts), the linear one was right in .907, the neutral one in .884, and one for every set in .926. Trees are
fitted for absences in this way only; one more set of trees for every agent would take more time and room.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from assistlearn.combination.evidence import Evidence
from assistlearn.combination.linear import Linear, fit_linear, prior
from assistlearn.combination.tree_combination import TreeCombination, fit_boosted
from assistlearn.combination.weighted_sum import fit_weighted_sum

MOST_AGENTS = 4
"""Up to so many agents, there is a linear combination for every set of helpers."""
TOLERANCE = 1e-6
"""Where the search for a combination stops."""
COPIES = 3
"""How often a sample is taken, each time without other helpers."""


def likely_sets(agents: tuple[str, ...], initiator: str) -> list[tuple[str, ...]]:
    """Return sets of agents that a combination of its own is fitted for: some of these, but not all.

    All that the initiator is in, if there are few; else those that one agent is missing from, and the initiator alone.

    >>> likely_sets(("a", "b", "c"), "a")
    [('a',), ('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    always = tuple(agent for agent in agents if agent == initiator)  # nobody, where it has no scores
    sizes = range(1, len(agents)) if len(agents) <= MOST_AGENTS else (len(agents) - 1,)
    found = [each for size in sizes for each in combinations(agents, size) if {*always} <= {*each}]
    helpers = tuple(agent for agent in agents if agent != initiator)
    return [each for each in dict.fromkeys([always, *found, helpers]) if each and each != agents]


def linear_for_absences(evidence: Evidence, penalty: float) -> tuple[Linear, ...]:
    """Return linear combinations for likely sets of agents, and for nobody at all."""
    sets = likely_sets(evidence.agents, evidence.initiator)
    return (*(fit_linear(evidence.of(each), penalty, TOLERANCE) for each in sets), prior(evidence))


def sums_for_absences(evidence: Evidence) -> tuple[Linear, ...]:
    """Return weighted sums for likely sets of agents, and for nobody at all."""
    sets = likely_sets(evidence.agents, evidence.initiator)
    return (*(fit_weighted_sum(evidence.of(each)) for each in sets), prior(evidence))


def linear_for_any_absence(evidence: Evidence, penalty: float, seed: int) -> Linear:
    """Return a linear combination for any set of agents."""
    return fit_linear(with_absences(evidence, seed), penalty, TOLERANCE)


def boosted_for_any_absence(evidence: Evidence, n_iterations: int, seed: int) -> TreeCombination:
    """Return a boosted combination for any set of helpers."""
    return fit_boosted(with_absences(evidence, seed), n_iterations)


def with_absences(evidence: Evidence, seed: int) -> Evidence:
    """Return the evidence :data:`COPIES` times over, each time without some helpers' scores of each sample."""
    n = len(evidence.codes)
    gone = np.random.default_rng(seed).random((len(evidence.agents), n * COPIES)) < 0.5
    gone[[agent == evidence.initiator for agent in evidence.agents]] = False
    many = evidence.rows(np.tile(np.arange(n), COPIES))
    return replace(many, scores=np.where(gone[:, :, None], 0.0, many.scores))
