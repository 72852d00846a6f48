"""Tables of few distinct values whose class follows from a rule: learners say few different scores about them.

Every combination of the columns' levels is a row, as in tables of admissions or of the ratings of cars. The rule is
drawn once. A row's merit is the sum of what its levels are worth, and cuts of the merit are the classes; one level of
the first column refuses whatever the others say. So all columns together tell the class, and no agent's alone do.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from bench.accuracy.problems.problem import Cut, Problem, Shape, cut

LEVELS = (3, 5, 4, 4, 3, 2, 3, 3)
SHARES = (0.04, 0.44)
"""The shares of the second and third class among the rows by merit; the fourth has the rest."""


def ratings(columns: dict[str, list[int]], levels: tuple[int, ...] = LEVELS):
    def of_seed(seed: int) -> Cut:
        X = np.array(list(product(*(range(n) for n in levels))), dtype=np.float64)
        rng = np.random.default_rng(7)
        worth = [np.sort(rng.exponential(size=n)) for n in levels]
        merit = sum(each[X[:, place].astype(int)] for place, each in enumerate(worth))
        ends = np.quantile(merit, np.cumsum(SHARES))
        y = 1 + np.searchsorted(ends, merit)
        y[X[:, 0] == 0] = 0
        y[(X[:, 0] == 2) & (X[:, 1] == 4) & (y == 3)] = 4
        return cut(X, y, columns, seed, 0.7, 4_000)

    return of_seed


def _ruled(name: str, columns: dict[str, list[int]]) -> Problem:
    widths = tuple(len(known) for known in columns.values())
    learners = ("tree-3", "tree", "bayes", "logistic", "forest")
    return Problem(name, ratings(columns), learners, shape=Shape(9_072, 3_888, 5, widths), interacts=True)


RULED = (
    _ruled("ratings", {"A": [0, 1, 2, 3], "B": [4, 5, 6, 7]}),
    _ruled("ratings x 4", {"A": [0, 1], "B": [2, 3], "C": [4, 5], "D": [6, 7]}),
)
