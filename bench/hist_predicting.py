"""How long the kept models of one agent take to vote: together, and one by one."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

from assistlearn import AssistedClassifier
from assistlearn.learners import HistTreeClassifier
from bench.hist_result import Figure, made_table, seconds


def measure(quick: bool) -> Iterator[Figure]:
    n, rounds = (5_000, 5) if quick else (300_000, 100)
    for classes in (2, 5):
        X, y = made_table(n, 20, classes)
        agents = [("pooled", HistTreeClassifier(5, n_jobs=1), slice(None))]
        run = AssistedClassifier(agents, n_rounds=rounds, random_state=0, method="ascii").fit(
            X[: n // 10], y[: n // 10]
        )
        together, scores = seconds(lambda run=run, X=X: run.decision_function(X))
        with patch.object(HistTreeClassifier, "join", return_value=None):
            apart, same = seconds(lambda run=run, X=X: run.decision_function(X))
        assert np.array_equal(scores, same)
        case = f"{n:,} x 20, {classes} classes, {len(run.contributions_)} trees of depth 5"
        yield Figure("predicting", case, "seconds, trees together", together)
        yield Figure("predicting", case, "seconds, trees one by one", apart)
        yield Figure("predicting", case, "times faster together, with the same bits", apart / together)
