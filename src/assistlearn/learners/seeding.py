"""Seeds for chance in a learner, all drawn from the run's seed."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_SEED = int(np.iinfo(np.int32).max)
"""The largest seed of a learner."""

MAX_RUN_SEED = 2**32 - 1
"""The largest seed of a run. The seeds of learners are drawn from it."""


def seed_all(estimator: Any, seed: int) -> None:
    """Set every ``random_state`` of an estimator, nested ones too, from one seed.

    A single ``random_state`` gets the seed itself; several get numbers drawn from it, in the order of their names.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier()
    >>> seed_all(tree, 7)
    >>> tree.random_state
    7
    """
    names = sorted(
        name for name in estimator.get_params(deep=True) if name == "random_state" or name.endswith("__random_state")
    )
    if len(names) == 1:
        estimator.set_params(**{names[0]: seed})
    elif names:
        drawn = np.random.RandomState(seed).randint(MAX_SEED, size=len(names))
        estimator.set_params(**dict(zip(names, map(int, drawn), strict=True)))


class TurnSeeds:
    """The seeds of the turns of a run, all drawn from one number. Whoever knows this number draws the same seeds.

    >>> TurnSeeds(7).of(3) == [TurnSeeds(7).of(turn) for turn in (1, 2, 3)][2]
    True
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.RandomState(seed)
        self._drawn: list[int] = []

    def of(self, turn: int) -> int:
        """Return the seed of a turn. Turns are counted from 1."""
        missing = turn - len(self._drawn)
        if missing > 0:
            self._drawn += self._rng.randint(MAX_SEED, size=missing).tolist()
        return self._drawn[turn - 1]
