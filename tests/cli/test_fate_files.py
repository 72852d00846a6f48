"""FATE's own guest and host files train and predict as they are, with the models of the estimator on the joined table.

The guest has the labels (``y``); the host has none. Both name samples in the column ``id``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.initiator.folder import RunFolder
from tests.cli.program import assistlearn
from tests.papers_settings import PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")

ROUNDS, SEED = 3, 11
TREE = DecisionTreeClassifier(max_depth=3)
LINEAR = LogisticRegression(max_iter=1000)
FOREST = RandomForestClassifier(n_estimators=5, max_depth=3)


@pytest.fixture(params=["breast", "vehicle_scale"])
def tables(request, data_folder) -> dict[str, Path]:
    """Return where FATE's own tables of a pair lie."""
    return {role: data_folder / "fate_hetero" / f"{request.param}_hetero_{role}.csv" for role in ("guest", "host")}


def write_agents(folder: Path, tables: dict[str, Path], host: Any) -> list[Path]:
    """Write the files of two agents that name these tables; the guest's learner is a tree. Return them."""
    (folder / "shared.key").write_text("shared by guest and host")
    for role, learner in (("guest", TREE), ("host", host)):
        asked = {
            key: value for key, value in learner.get_params().items() if value != type(learner)().get_params()[key]
        }
        lines = [f'name = "{role}"', f"table = {json.dumps(str(tables[role]))}", 'id = "id"', 'secret = "shared.key"']
        lines += ['label = "y"'] if role == "guest" else []
        lines += ["[learner]", f'kind = "{type(learner).__module__}.{type(learner).__name__}"', "[learner.parameters]"]
        lines += [f"{key} = {value}" for key, value in asked.items()]
        (folder / f"{role}.toml").write_text("\n".join(lines) + "\n")
    return [folder / f"{role}.toml" for role in tables]


def joined(tables: dict[str, Path], host: Any) -> tuple[pl.Series, NDArray[Any], AssistedClassifier]:
    """Return the labels, both tables in one, and the estimator on it: not fitted, with the same agents."""
    left, right = (pl.read_csv(tables[role]) for role in ("guest", "host"))
    both = left.join(right, on="id", how="inner", validate="1:1", maintain_order="left", suffix=" of host")
    assert len(both) == len(left)
    split = left.width - 2
    agents = [("guest", TREE, slice(0, split)), ("host", host, slice(split, None))]
    return (
        both["y"],
        both.drop("id", "y").to_numpy(),
        AssistedClassifier(agents, n_rounds=ROUNDS, random_state=SEED, method="ascii"),
    )


def codes_of(labels: pl.Series, folder: RunFolder) -> NDArray[Any]:
    """Return the labels as the run's secret class codes."""
    place = {label: position for position, label in enumerate(folder.settings().classes)}
    return np.asarray([folder.permutation()[place[label]] for label in labels])


def test_the_files_train_and_predict_by_two_commands(tables, tmp_path):
    agents = write_agents(tmp_path, tables, LINEAR)
    run, out = tmp_path / "run", tmp_path / "predictions.csv"
    trained = assistlearn(
        "simulate", *agents, "--out", run, "--rounds", ROUNDS, "--seed", SEED, *PAPERS_OPTIONS, "--json"
    ).json
    predicted = assistlearn("predict", run, "--out", out, "--json").json
    labels, X, clf = joined(tables, make_pipeline(StandardScaler(), LINEAR))
    folder = RunFolder(run)
    clf.fit(X, codes_of(labels, folder))
    made = trained["result"]["contributions"]
    assert [c["agent"] for c in made] == ["guest", "host"] * ROUNDS
    assert [c["model_weight"] for c in made] == [c.model_weight for c in clf.contributions_]
    assert predicted["known"] == {"guest": len(X), "host": len(X)}
    table = pl.read_csv(out)
    assert codes_of(table["prediction"], folder).tolist() == clf.predict(X).tolist()
    shares = table.select(pl.col("^probability of .*$")).to_numpy()
    np.testing.assert_allclose(shares, clf.predict_proba(X)[:, folder.permutation()], rtol=1e-12)
    most_frequent = labels.value_counts(normalize=True)["proportion"].max()
    assert (table["prediction"] == labels).mean() > most_frequent
