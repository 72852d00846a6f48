"""The CSV file of predictions says what the estimator says."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from assistlearn.alignment import join_ids
from assistlearn.cli.predict import _write
from assistlearn.initiator.prediction import Prediction

AGENTS = [
    ("a", DecisionTreeClassifier(max_depth=1), slice(0, 6)),
    ("b", DecisionTreeClassifier(max_depth=2), slice(6, None)),
]


@pytest.mark.parametrize(
    ("id_name", "written"), [("patient", "patient"), ("prediction", "id (prediction)"), ("agents", "id (agents)")]
)
def test_ids_are_never_written_over(tmp_path, id_name, written):
    known = {"a": np.array([True, False]), "b": np.array([True, False])}
    shares = np.array([[0.9, 0.1], [0.5, 0.5]])
    by_shares = np.zeros(2, dtype=bool)
    prediction = Prediction(np.array([[1.0, -1.0], [0.0, 0.0]]), shares, known, {}, ["no", "yes"], by_shares)
    _write(tmp_path / "out.csv", [id_name], pl.Series(["p-1", "p-2"]), prediction)
    table = pl.read_csv(tmp_path / "out.csv")
    assert table.columns == [written, "prediction", "probability of no", "probability of yes", "agents", "absent"]
    assert table.rows() == [("p-1", "no", 0.9, 0.1, "a b", None), ("p-2", None, None, None, None, None)]


def test_the_file_says_whose_votes_are_missing_and_splits_ids_of_several_parts(tmp_path):
    known = {"a": np.array([True, True])}
    absent = {"lab": "it did not answer", "shop": "its models are gone"}
    shares = np.array([[0.9, 0.1], [0.5, 0.5]])
    scores, by_shares = np.array([[1.0, -1.0], [0.0, 0.0]]), np.zeros(2, dtype=bool)
    prediction = Prediction(scores, shares, known, absent, ["no", "yes"], by_shares)
    ids = join_ids([pl.Series(["FR", "D|E"]), pl.Series([17, 4])])
    _write(tmp_path / "out.csv", ["country", "number"], ids, prediction)
    table = pl.read_csv(tmp_path / "out.csv")
    assert table.select("country", "number", "absent").rows() == [("FR", 17, "lab shop"), ("D|E", 4, "lab shop")]
