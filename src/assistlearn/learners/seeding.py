"""Chance in a learner comes from the run's seed."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_SEED = int(np.iinfo(np.int32).max)


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
