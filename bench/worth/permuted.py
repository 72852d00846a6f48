"""A helper whose rows are permuted, so that its columns have nothing to do with the labels; and the same, in order."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, assistance_gain
from assistlearn.evaluation.pilots import Worth

N_SAMPLES, N_TRAINING, N_COLUMNS = 600, 200, 4
RECOMMENDED = {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 20, "n_rounds": 1}
LEARNERS = (DecisionTreeClassifier(max_depth=3), LogisticRegression())
"""Taken in turn, by the seed."""


def pilot(seed: int, permuted: bool) -> Worth:
    """Return what a pilot finds on samples of their own, with a helper that knows as much as the initiator does.

    Parameters
    ----------
    seed : int
        Where the samples, their split and the run's chance come from.
    permuted : bool
        Whether the helper's rows are in an order that has nothing to do with the initiator's.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_SAMPLES, 2 * N_COLUMNS))
    y = (X.sum(axis=1) + rng.normal(size=N_SAMPLES) > 0.0).astype(np.int64)
    if permuted:
        X[:, N_COLUMNS:] = rng.permutation(X[:, N_COLUMNS:])
    learner = LEARNERS[seed % len(LEARNERS)]
    agents = [("initiator", learner, slice(0, N_COLUMNS)), ("helper", learner, slice(N_COLUMNS, 2 * N_COLUMNS))]
    clf = AssistedClassifier(agents, **RECOMMENDED, random_state=seed)
    return assistance_gain(clf, X, y, train_size=N_TRAINING, random_state=seed)
