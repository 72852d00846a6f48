"""An estimator may be fitted in a process that was forked from one where Polars has run.

Polars' threads do not live on in such a process: whoever calls it there waits for ever.
"""

from __future__ import annotations

import multiprocessing
import sys

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from assistlearn import AssistedClassifier


def fit() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = rng.normal(size=(80, 4)) + y[:, np.newaxis]
    agents = [("clinic", LogisticRegression(), [0, 1]), ("lab", LogisticRegression(), [2, 3])]
    with threadpool_limits(1):  # the threads of OpenMP do not live on either; that is scikit-learn's
        AssistedClassifier(agents, random_state=0).fit(X, y).predict(X)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # Python 3.12 and later warn of it
def test_a_table_in_arrays_is_learned_from_in_a_process_forked_after_polars_has_run():
    assert pl.Series(range(1000)).to_frame("a").lazy().select(pl.col("a").sort().sum()).collect().item() == 499_500
    child = multiprocessing.get_context("fork").Process(target=fit)
    child.start()
    child.join(60)
    waits = child.is_alive()
    if waits:
        child.kill()
        child.join()
    assert not waits
    assert child.exitcode == 0
