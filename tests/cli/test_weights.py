"""Weights by the command line: a column of the initiator's file and balanced classes, as the estimator has them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from tests.cli.program import assistlearn
from tests.papers_settings import PAPERS, PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")

ROUNDS = 3


def test_a_run_with_weights_is_the_estimators_and_its_owner_is_shown_them(agents):
    clinic, lab, _ = agents
    table = pl.read_csv(clinic.with_suffix(".csv"))
    weights = np.round(np.random.default_rng(4).random(len(table)) * 3, 2)
    rows = np.flatnonzero(table["ill"].is_not_null().to_numpy())
    weights[rows[0]] = 0.0
    table.with_columns(cost=weights).write_csv(clinic.with_suffix(".csv"))
    clinic.write_text(clinic.read_text() + 'weight = "cost"\n')
    shown = assistlearn("check", clinic)
    assert f"weights: column 'cost', from 0 to {weights[rows].max():g};" in shown.out
    assert "not trained on, with weight 0: 1 row\n" in shown.out
    assert "the weight of every shared sample" in shown.out
    options = [*PAPERS_OPTIONS, "--rounds", ROUNDS, "--class-weight", "balanced", "--seed", 5, "--json"]
    trained = assistlearn("simulate", clinic, lab, "--run", "weighted", "--out", clinic.parent / "run", *options)
    assert trained.code == 0, trained.err
    made = trained.json["result"]["contributions"]

    X = table.join(pl.read_csv(lab.with_suffix(".csv")), on="patient", maintain_order="left", suffix=" of lab")
    stumps = [
        ("clinic", DecisionTreeClassifier(max_depth=1), [0, 1]),
        ("lab", DecisionTreeClassifier(max_depth=1), [2, 3]),
    ]
    clf = AssistedClassifier(stumps, n_rounds=ROUNDS, random_state=5, class_weight="balanced", **PAPERS)
    columns = X.select(pl.selectors.numeric()).to_numpy()[rows]
    clf.fit(columns, table["ill"].to_numpy()[rows], sample_weight=weights[rows])
    assert [(c["agent"], c["model_weight"]) for c in made] == [(c.agent, c.model_weight) for c in clf.contributions_]
    settings = assistlearn("show", clinic.parent / "run", "--json").json["settings"]
    assert settings["class_weight"] == "balanced"


def test_a_way_to_weigh_classes_that_is_not_known_is_refused(agents):
    assistlearn("simulate", *agents, "--class-weight", "even").failed(2, "--class-weight", "balanced")
