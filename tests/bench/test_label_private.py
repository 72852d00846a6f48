"""The benchmark of the label-private method: a small run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_digits

from bench.label_private.measure import one_run
from bench.label_private.problems import PROBLEMS, Table


def test_one_run_is_worth_something():
    """Of the digits three classes, of which there are enough samples, and which need no data folder."""
    X, codes = load_digits(n_class=3, return_X_y=True)
    thirds = tuple(np.array_split(np.arange(64), 3))
    found = one_run(replace(PROBLEMS["digits, columns"], table=lambda: Table(X, codes, thirds)), seed=0, epsilon=2.0)
    assert found.score > 0.95
    assert found.kind in {"offset", "offset alone"}
