"""Combinations for samples that some agents do not hold: one for each set of agents that is likely to be there.

To leave an agent's scores at zero in a combination that was fitted with all is not enough: the others' scores then
count as if it had spoken. With a helper gone, that cost up to .16 of accuracy in linear combinations, and up to .15 in
boosted ones, against a combination of those that are there.

With many agents there are too many sets. For all others there is one linear combination that was fitted to samples from
which helpers were left out at random, with a chance of a half. With eight agents and 30 % of the helpers' samples
missing it was right in .914, the neutral one in .878, one combination for every set in .927.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from assistlearn.combination.boosted import Boosted, fit_boosted
from assistlearn.combination.evidence import Evidence
from assistlearn.combination.linear import Linear, fit_linear, prior

MOST_AGENTS = 4
"""Up to so many agents, there is a combination for every set of helpers."""
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


def linear_for_any_absence(evidence: Evidence, penalty: float, seed: int) -> Linear:
    """Return a linear combination for any set of agents, fitted to samples that helpers were left out of at random."""
    n = len(evidence.codes)
    gone = np.random.default_rng(seed).random((len(evidence.agents), n * COPIES)) < 0.5
    gone[[agent == evidence.initiator for agent in evidence.agents]] = False
    many = evidence.rows(np.tile(np.arange(n), COPIES))
    return fit_linear(replace(many, scores=np.where(gone[:, :, None], 0.0, many.scores)), penalty, TOLERANCE)


def boosted_for_absences(evidence: Evidence, n_iterations: int) -> tuple[Boosted, ...]:
    """Return boosted combinations for a helper that is missing, and for the initiator alone.

    There are no more of them, as trees take time and room.
    """
    without_one = len(evidence.agents) - 1
    sets = likely_sets(evidence.agents, evidence.initiator)
    helped = [
        each for each in sets if len(each) == without_one and {evidence.initiator} & {*evidence.agents} <= {*each}
    ]
    alone = [each for each in sets if each == (evidence.initiator,)]
    return tuple(fit_boosted(evidence.of(each), n_iterations) for each in dict.fromkeys([*alone, *helped]))
