"""An agent from its file to a fitted model, on FATE's own files too, and what a check tells its owner."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assistlearn.agent.file import load_description
from assistlearn.agent.loading import describe, load_agent
from assistlearn.errors import ColumnsError, DescriptionError, LearnerError
from assistlearn.learners import Learner

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)

FATE = {
    "breast": (569, 10, 20, {0: 212, 1: 357}),
    "default_credit": (30_000, 13, 10, {0: 23_364, 1: 6_636}),
    "vehicle_scale": (846, 9, 9, {0: 212, 1: 217, 2: 218, 3: 199}),
}


def fate_agent(write_agent, folder, name: str, side: str, learner: str):
    lines = {"label": '"y"'} if side == "guest" else {}
    table = json.dumps(str(folder / f"{name}_hetero_{side}.csv"))
    return load_agent(write_agent(name=f'"{side}"', table=table, learner=json.dumps(learner), **lines))


@pytest.mark.parametrize("name", FATE)
def test_fates_files_load_as_they_are(write_agent, fate, name):
    n_rows, n_guest, n_host, classes = FATE[name]
    guest = fate_agent(write_agent, fate, name, "guest", "sklearn.tree.DecisionTreeClassifier")
    host = fate_agent(write_agent, fate, name, "host", "sklearn.tree.DecisionTreeClassifier")
    assert guest.rows().shape == (n_rows, n_guest)
    assert host.rows().shape == (n_rows, n_host)
    assert guest.table.ids.n_unique() == n_rows
    assert set(guest.table.ids) == set(host.table.ids)
    assert dict(guest.table.labels.value_counts().iter_rows()) == classes
    assert host.table.labels is None
    assert not guest.table.features.null_count().to_numpy().any()
    with (fate / f"{name}_hetero_guest.csv").open() as file:
        header, first = file.readline().strip().split(","), file.readline().strip().split(",")
    assert header == ["id", "y", *guest.table.features.columns]
    read = [guest.table.ids[0], str(guest.table.labels[0]), *guest.table.features.row(0)]
    assert read == [*first[:2], *map(float, first[2:])]


@pytest.mark.parametrize("learner", ["sklearn.tree.DecisionTreeClassifier", "sklearn.linear_model.LogisticRegression"])
def test_a_fate_guest_learns_from_some_rows_and_answers_for_others(write_agent, fate, learner):
    agent = fate_agent(write_agent, fate, "breast", "guest", learner)
    codes = agent.table.labels.to_numpy()
    train, test = np.arange(0, 400), np.arange(400, 569)
    own = Learner(agent.estimator, agent.description.name)
    own.prepare(agent.rows()[train], codes[train], seed=0)
    model, _ = own.fit(np.full(len(train), 1 / len(train)), seed=0, when="round 1")
    assert np.mean(model.predict(agent.rows()[test]) == codes[test]) > 0.85


def test_the_default_preprocessing_is_what_one_would_write_by_hand(write_agent, fate):
    agent = fate_agent(write_agent, fate, "vehicle_scale", "guest", "sklearn.linear_model.LogisticRegression")
    agent.estimator.set_params(learner__max_iter=1000)
    by_hand = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    labels = agent.table.labels.to_numpy()
    ours = cross_val_score(agent.estimator, agent.rows(), labels)
    np.testing.assert_allclose(ours, cross_val_score(by_hand, agent.table.features.to_numpy(), labels), atol=1e-12)


def test_text_without_an_encoder_is_refused_before_work_begins(write_agent):
    path = write_agent("id,age,town\na,1,Ulm\nb,2,Bern\n", "[preprocessing]\nenabled = false\n")
    with pytest.raises(ColumnsError, match=r"lab\.toml, line 5: .*lab\.csv: The features 'town' hold text"):
        load_agent(path)


def test_a_bad_learner_is_found_before_the_table_is_read(write_agent):
    with pytest.raises(LearnerError, match="there is no module"):
        load_agent(write_agent(table='"nowhere.csv"', learner='"nowhere.Nothing"'))


def test_a_file_in_place_of_the_models_folder_is_refused(write_agent, tmp_path):
    (tmp_path / "lab-models").write_text("")
    with pytest.raises(DescriptionError, match=r"lab-models' is a file\. Name a folder"):
        load_agent(write_agent("id,x\na,1\n"))


@contextmanager
def without_roots_rights():
    """Root may write everywhere: be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_models_folder_that_cannot_be_written_is_refused(write_agent):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        description = load_description(write_agent("id,x\na,1\n", models=f'"{folder}/deep/models"'))
        with without_roots_rights(), pytest.raises(DescriptionError, match=r"lab\.toml, line 5: .* is not writable"):
            load_agent(description)


def test_loading_writes_nothing(write_agent, tmp_path):
    path = write_agent("id,x\na,1\n")
    before = sorted(tmp_path.iterdir())
    load_agent(path)
    assert sorted(tmp_path.iterdir()) == before


def test_files_are_read_without_duckdb(write_agent):
    path = write_agent("id,x\na,1\n")
    read = path.rename(path.with_name("file.toml"))
    asked = write_agent(query='"select 1 as id, 2 as x"', table=None)
    code = (
        "import sys; sys.modules['duckdb'] = None; from assistlearn.agent.loading import load_agent\n"
        "load_agent(sys.argv[1]); print('read'); load_agent(sys.argv[2])"
    )
    failed = subprocess.run([sys.executable, "-c", code, str(read), str(asked)], capture_output=True, text=True)
    assert failed.stdout == "read\n"
    assert "MissingExtraError: A table from a query needs DuckDB: pip install 'duckdb" in failed.stderr


def _summary_row(n: int) -> str:
    age, town, on = "" if n % 4 == 0 else n, "Ulm" if n % 2 else "Bern", "true" if n % 3 else "false"
    return f"p{n},{age},{town},{on},2020-01-0{n % 9 + 1},1,{n % 2},{n % 2}\n"


SUMMARY_CSV = "id,age,town,on,day,same,copy,y\n" + "".join(_summary_row(n) for n in range(40))


def test_a_check_counts_rows_kinds_gaps_and_classes(write_agent):
    summary = describe(load_agent(write_agent(SUMMARY_CSV, label='"y"')), NOW)
    assert (summary["name"], summary["role"], summary["rows"]) == ("lab", "initiator", 40)
    assert summary["kinds"] == {"number": 3, "boolean": 1, "date": 1, "category": 1}
    assert summary["classes"] == {"0": 20, "1": 20}
    age, town = summary["columns"][:2]
    assert age == {"name": "age", "kind": "number", "missing": 0.25, "distinct": 30}
    assert town == {"name": "town", "kind": "category", "missing": 0.0, "distinct": 2}
    assert summary["missing"] == pytest.approx(10 / (6 * 40))


def test_a_check_says_what_the_owner_may_want_to_change(write_agent):
    names = "id,name,x,none,y\n" + "".join(f"p{n},Name {n},{n},,{n % 2}\n" for n in range(40))
    more = '[allow]\ninitiators = ["clinic"]\nexpires = 2029-12-30\n'
    notes = " ".join(describe(load_agent(write_agent(names, more, label='"y"')), NOW)["notes"])
    assert "Left out, because no row has a value: 'none'" in notes
    assert "different in most rows: 'name'" in notes
    assert "Numbers that only count the rows: 'x'" in notes
    assert "has expired (it was valid until the end of 2029-12-30)" in notes
    other = " ".join(describe(load_agent(write_agent(SUMMARY_CSV, label='"y"')), NOW)["notes"])
    assert "The same value in every row: 'same'" in other
    assert "The label under another name: 'town', 'copy'" in other
    assert describe(load_agent(write_agent("id,x\na,1\nb,2\n")), NOW)["notes"] == ()


def test_what_leaves_names_nothing_of_the_table(write_agent):
    agent = load_agent(write_agent("id,pulse,town\na1,71,Ulm\na2,72,Bern\n"))
    summary = describe(agent, NOW)
    leaving = " ".join(summary["leaves"])
    for secret in ("pulse", "town", "71", "Ulm", "a1", "DecisionTree", agent.table.fingerprint):
        assert secret not in leaving
    assert not any("label" in line for line in summary["leaves"])
    assert summary["role"] == "helper"


def test_only_the_initiator_is_told_that_labels_leave(write_agent):
    summary = describe(load_agent(write_agent(SUMMARY_CSV, label='"y"')), NOW)
    assert any("label" in line and "which class is secret" in line for line in summary["leaves"])


def test_a_check_can_be_written_as_json(write_agent):
    summary = describe(load_agent(write_agent(SUMMARY_CSV, label='"y"')), NOW)
    assert json.loads(json.dumps(summary))["columns"][0]["name"] == "age"


def test_a_check_says_how_columns_are_prepared(write_agent):
    text = "id,age,town\na,1,Ulm\nb,2,Bern\n"
    tree = describe(load_agent(write_agent(text)), NOW)["preprocessing"]
    assert tree == ("1 column of numbers: as they are", "1 column of categories: OrdinalEncoder")
    linear = describe(load_agent(write_agent(text, learner='"sklearn.linear_model.LogisticRegression"')), NOW)
    assert linear["preprocessing"][0] == "1 column of numbers: SimpleImputer, StandardScaler"
