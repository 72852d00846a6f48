"""The CSV file of predictions says what the estimator says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from assistlearn.runs.leader import Prediction
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.cli.predict import _shares, _write

AGENTS = [
    ("a", DecisionTreeClassifier(max_depth=1), slice(0, 6)),
    ("b", DecisionTreeClassifier(max_depth=2), slice(6, None)),
]


@pytest.mark.parametrize("method", ["ascii", "soft", "ensemble"])
def test_probabilities_are_those_of_the_estimator(method):
    X, y = load_wine(return_X_y=True)
    clf = AssistedClassifier(AGENTS, method=method, n_rounds=3, random_state=0).fit(X, y)
    known = {name: np.ones(len(X), dtype=bool) for name in ("a", "b")}
    prediction = Prediction(sum(clf.agent_scores(X).values()), known, {}, clf.classes_.tolist())
    result = {"contributions": [{"agent": made.agent} for made in clf.contributions_]}
    folder = SimpleNamespace(settings=lambda: SimpleNamespace(method=method), result=lambda: result)
    np.testing.assert_array_equal(_shares(prediction, folder), clf.predict_proba(X))
    assert prediction.labels == clf.predict(X).tolist()


@pytest.mark.parametrize(("id_name", "written"), [("patient", "patient"), ("prediction", "id"), ("agents", "id")])
def test_ids_are_never_written_over(tmp_path, id_name, written):
    known = {"a": np.array([True, False]), "b": np.array([True, False])}
    prediction = Prediction(np.array([[1.0, -1.0], [0.0, 0.0]]), known, {}, ["no", "yes"])
    _write(tmp_path / "out.csv", id_name, pl.Series(["p-1", "p-2"]), prediction, np.array([[0.9, 0.1], [0.5, 0.5]]))
    table = pl.read_csv(tmp_path / "out.csv")
    assert table.columns == [written, "prediction", "probability of no", "probability of yes", "agents"]
    assert table.rows() == [("p-1", "no", 0.9, 0.1, "a b"), ("p-2", None, None, None, None)]
