"""Rows for prediction are read as the training rows were, whatever has become of the file, or they are refused."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assistlearn.agent.loading import load_agent
from assistlearn.errors import ColumnsError, RunError, TableError
from assistlearn.learners import Learner
from assistlearn.tables.schema import Column, Kind, Schema

TRAINED = pl.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "age": [41.0, 22.5, None, 70.0],
        "visits": pl.Series([3, 1, 2, None], dtype=pl.Int16),
        "smoker": [True, False, None, True],
        "since": [dt.date(2020, 2, 29), None, dt.date(1999, 1, 1), dt.date(2001, 1, 1)],
        "town": ["Ulm", "Bern", None, "Ulm"],
    }
)
FEATURES = TRAINED.columns[1:]


def write(folder: Path, frame: pl.DataFrame, ending: str, more: str = "") -> Path:
    """Write an agent's file and its table, of which nothing is left from before."""
    frame.write_csv(folder / "lab.csv") if ending == "csv" else frame.write_parquet(folder / "lab.parquet")
    text = f'name = "lab"\ntable = "lab.{ending}"\nid = "id"\nlearner = "sklearn.tree.DecisionTreeClassifier"\n'
    (folder / "lab.toml").write_text(text + more, encoding="utf-8")
    return folder / "lab.toml"


def read_again(folder: Path, frame: pl.DataFrame, ending: str):
    """Read this frame with the schema of the training table, after a journey through JSON."""
    trained = load_agent(write(folder, TRAINED, ending))
    kept = Schema.from_dict(json.loads(json.dumps(trained.table.schema.to_dict())))
    assert kept == trained.table.schema
    return trained, load_agent(write(folder, frame, ending), schema=kept)


BOTH = pytest.mark.parametrize("ending", ["csv", "parquet"])


@BOTH
@pytest.mark.parametrize(
    "frame",
    [
        TRAINED.select("town", "id", "since", "smoker", "visits", "age"),
        TRAINED.select("id", *FEATURES[::-1]),
        TRAINED.with_columns(more=pl.lit("new"), Age=pl.lit(-1.0)).select("more", "Age", pl.exclude("more", "Age")),
    ],
    ids=["another order", "the reverse order", "further columns"],
)
def test_columns_are_found_by_name(tmp_path, ending, frame):
    trained, later = read_again(tmp_path, frame, ending)
    assert later.table.features.schema == trained.table.features.schema
    assert later.table.features.equals(trained.table.features)
    assert later.table.schema == trained.table.schema
    assert str(later.estimator) == str(trained.estimator)


@BOTH
def test_predictions_do_not_depend_on_the_order_of_the_columns(tmp_path, ending):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"id": np.arange(200), "x": rng.normal(size=200), "z": rng.normal(size=200)})
    first = load_agent(write(tmp_path, frame, ending))
    codes = (frame["x"] > 0).cast(pl.Int64).to_numpy()
    own = Learner(first.estimator, "lab")
    own.prepare(first.rows(), codes, seed=0)
    model, answers = own.fit(np.full(200, 1 / 200), seed=0, when="round 1")
    path = write(tmp_path, frame.select("z", "x", "id"), ending)
    later = load_agent(path, schema=first.table.schema)
    assert np.array_equal(model.predict(later.rows()), answers)
    assert not np.array_equal(model.predict(load_agent(path).rows()), answers)  # what the schema is for


@BOTH
@pytest.mark.parametrize("name", ["age", "town"])
def test_a_column_that_is_gone_is_refused_by_name(tmp_path, ending, name):
    with pytest.raises(ColumnsError) as caught:
        read_again(tmp_path, TRAINED.drop(name), ending)
    assert str(caught.value).startswith(
        f"{tmp_path / 'lab.toml'}, line 2: {tmp_path / 'lab'}.{ending} has no column {name!r}, which the models were "
        "trained with. Its columns are 'id', "
    )
    assert str(caught.value).endswith("Bring the column back under this name, or train a new run.")


@BOTH
def test_a_column_with_another_name_is_refused_and_guessed(tmp_path, ending):
    with pytest.raises(ColumnsError, match=r"no column 'town', which .* trained with\. Did you mean 'Town'\?"):
        read_again(tmp_path, TRAINED.rename({"town": "Town"}), ending)


def test_a_column_that_is_there_already_is_not_what_was_meant(tmp_path):
    schema = load_agent(write(tmp_path, pl.DataFrame({"id": [1], "x1": [1], "x2": [2]}), "csv")).table.schema
    path = write(tmp_path, pl.DataFrame({"id": [1], "x2": [2], "X_1": [1]}), "csv")
    with pytest.raises(ColumnsError, match=r"no column 'x1'.* Did you mean 'X_1'\?"):
        load_agent(path, schema=schema)


RETYPED = {
    "numbers, now text": ("age", ["41", "young", "old", None], "numbers", "2 of 4", "2, 'young'"),
    "numbers, now booleans": ("age", [None, True, False, True], "numbers", "3 of 4", "2, '?[Tt]rue"),
    "numbers, now dates": ("visits", [dt.date(2020, 1, 1)] * 4, "numbers", "4 of 4", "1, .*2020"),
    "booleans, now words": ("smoker", ["yes", "no", "no", None], "true and false", "3 of 4", "1, 'yes'"),
    "booleans, now numbers": ("smoker", [1, 0, 2, None], "true and false", "1 of 4", "3, 2"),
    "dates, now another style": ("since", ["29/02/2020"] * 4, "dates", "4 of 4", "1, '29/02/2020'"),
    "dates, now numbers": ("since", [20200229, None, 3, 4], "dates", "3 of 4", "1, 20200229"),
}


@BOTH
@pytest.mark.parametrize(("name", "values", "held", "n_rows", "first"), RETYPED.values(), ids=RETYPED.keys())
def test_a_column_whose_values_no_longer_fit_is_refused_by_name(tmp_path, ending, name, values, held, n_rows, first):
    said = rf"lab\.{ending}: column '{name}' held {held} .*, but {n_rows} rows do not fit \(first: row {first}"
    with pytest.raises(TableError, match=said):
        read_again(tmp_path, TRAINED.with_columns(pl.Series(name, values)), ending)


@pytest.mark.parametrize(
    ("name", "values"),
    [*zip(FEATURES, [[[1]] * 4, [{"a": 1}] * 4, [b"a"] * 4, [dt.time(1)] * 4, [["u"]] * 4], strict=True)],
)
def test_a_column_of_a_type_that_is_no_feature_is_refused_by_name(tmp_path, name, values):
    with pytest.raises(TableError, match=rf"column '{name}' held .*, and is of type .* now\. Change it back"):
        read_again(tmp_path, TRAINED.with_columns(pl.Series(name, values)), "parquet")


FITTING = {
    "numbers as text": ("age", ["41", " 22.5", "", "70"], [41.0, 22.5, None, 70.0]),
    "floats as integers": ("age", [41, 22, None, 70], [41.0, 22.0, None, 70.0]),
    "small integers as floats": ("visits", [3.0, 1.0, 0.5, None], [3.0, 1.0, 0.5, None]),
    "booleans as words": ("smoker", ["True", "FALSE", "true", None], [1.0, 0.0, 1.0, None]),
    "booleans as numbers": ("smoker", [1, 0, 1, None], [1.0, 0.0, 1.0, None]),
    "dates as text": ("since", ["1970-01-02", None, "1970-01-01", "1970-01-01T12:00"], [1.0, None, 0.0, 0.5]),
    "categories that look like numbers": ("town", [1, 2, None, 2], ["1", "2", None, "2"]),
    "categories that look like booleans": ("town", [True, None, False, True], ["true", None, "false", "true"]),
    "categories that look like dates": ("town", [dt.date(2020, 1, 1)] * 4, ["2020-01-01"] * 4),
    **{f"no {name}": (name, [None] * 4, [None] * 4) for name in FEATURES},
}


@BOTH
@pytest.mark.parametrize(("name", "values", "read"), FITTING.values(), ids=FITTING.keys())
def test_values_that_still_fit_become_the_kind_of_training(tmp_path, ending, name, values, read):
    trained, later = read_again(tmp_path, TRAINED.with_columns(pl.Series(name, values)), ending)
    assert later.table.features.schema == trained.table.features.schema
    assert later.table.features[name].to_list() == read
    assert later.table.left_out == ()


def test_numbers_have_the_bits_of_training(tmp_path):
    _, later = read_again(tmp_path, TRAINED.with_columns(visits=pl.lit(0.1)), "parquet")
    assert later.table.features["visits"].to_list() == [float(np.float32(0.1))] * 4


def test_a_number_too_large_for_the_bits_of_training_is_refused(tmp_path):
    with pytest.raises(TableError, match=r"column 'visits' held numbers of 32 bits .*first: row 2, 1e\+300"):
        read_again(tmp_path, TRAINED.with_columns(visits=pl.Series([None, 1e300, 2.0, 1.0])), "parquet")


def test_what_the_file_says_about_features_now_does_not_change_what_the_models_were_trained_with(tmp_path):
    trained = load_agent(write(tmp_path, TRAINED, "csv"))
    path = write(tmp_path, TRAINED, "csv", '[features]\nexclude = ["age"]\n[preprocessing]\nas_category = ["visits"]\n')
    later = load_agent(path, schema=trained.table.schema)
    assert later.table.features.equals(trained.table.features)


@pytest.mark.parametrize("key", ["id", "label"])
def test_a_feature_of_training_cannot_be_the_id_or_the_label_now(tmp_path, key):
    trained = load_agent(write(tmp_path, TRAINED, "csv"))
    path = write(tmp_path, TRAINED, "csv", 'label = "more"\n')
    path.write_text(path.read_text().replace('id = "id"' if key == "id" else 'label = "more"', f'{key} = "town"'))
    with pytest.raises(ColumnsError, match=rf"lab\.toml, line \d: {key} = 'town' names a column that the models were"):
        load_agent(path, schema=trained.table.schema)


def test_a_later_table_is_prepared_as_the_first_was(write_agent):
    path = write_agent("id,age,town\na,1,Ulm\nb,2,Bern\nc,,Ulm\nd,4,Bern\n")
    first = load_agent(path)
    own = Learner(first.estimator, "lab")
    own.prepare(first.rows(), np.array([0, 1, 0, 1]), seed=0)
    model, _ = own.fit(np.full(4, 0.25), seed=0, when="round 1")
    write_agent("town,more,id,age\nBern,x,e,\n,x,f,\n")  # other columns, another order, ages all missing
    later = load_agent(path, schema=first.table.schema)
    assert later.table.features.schema == first.table.features.schema
    assert model.predict(later.rows())[0] == 1


def test_labels_keep_the_type_of_training(write_agent):
    path = write_agent("id,x,y\na,1,1\nb,2,c\n", label='"y"')
    schema = load_agent(path).table.schema
    write_agent("id,x,y\na,1,1\nb,2,2\n", label='"y"')
    assert load_agent(path, schema=schema).table.labels.to_list() == ["1", "2"]
    numbers = load_agent(path).table.schema
    write_agent("id,x,y\na,1,1\nb,2,c\n", label='"y"')
    with pytest.raises(TableError, match="were whole numbers in training, but row 2 has 'c'"):
        load_agent(path, schema=numbers)


@pytest.mark.parametrize(("header", "labels"), [("id,x,y\na,1,\n", [None]), ("id,x\na,1\n", None)])
def test_labels_are_not_needed_for_prediction(write_agent, header, labels):
    path = write_agent("id,x,y\na,1,0\nb,2,1\n", label='"y"')
    schema = load_agent(path).table.schema
    write_agent(header, label='"y"')
    later = load_agent(path, schema=schema).table
    assert later.features["x"].to_list() == [1.0]
    assert (later.labels if labels is None else later.labels.to_list()) == labels
    with pytest.raises((TableError, ColumnsError), match="'y'"):
        load_agent(path)


def test_ids_are_still_needed_for_prediction(tmp_path):
    with pytest.raises(ColumnsError, match=r"line 3: .* has no column 'id' \(id\)\. Did you mean 'ID'\?"):
        read_again(tmp_path, TRAINED.rename({"id": "ID"}), "csv")


GOOD = Schema((Column("x", Kind.NUMBER, narrow=True), Column("c", Kind.CATEGORY)), "Int64")


@pytest.mark.parametrize("schema", [GOOD, Schema((), "String")], ids=["columns", "labels alone"])
def test_a_schema_survives_json_and_has_the_same_plain_values_after_it(schema):
    plain = json.loads(json.dumps(schema.to_dict()))
    assert Schema.from_dict(plain) == schema
    assert plain == schema.to_dict()  # else a table whose columns are the same would be read for every prediction


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda kept: None, "Expected `object`, got `null`"),
        (lambda kept: [], "Expected `object`, got `array`"),
        (lambda kept: {}, "missing required field `columns`"),
        (lambda kept: {"columns": []}, "neither columns nor labels"),
        (lambda kept: {**kept, "columns": kept["columns"] * 2}, "the same column twice"),
        (lambda kept: {**kept, "label_type": "Float64"}, "Invalid enum value 'Float64'"),
        (lambda kept: {**kept, "more": 1}, "unknown field `more`"),
        (lambda kept: {**kept, "columns": [{"name": "x", "kind": "colour"}]}, "Invalid enum value 'colour'"),
        (lambda kept: {**kept, "columns": [{"name": 3, "kind": "date"}]}, "Expected `str`, got `int`"),
        (lambda kept: {**kept, "columns": [{"name": "x", "kind": "date", "narrow": "no"}]}, "Expected `bool`"),
    ],
)
def test_a_damaged_schema_is_refused_with_its_file(damage, said):
    with pytest.raises(RunError, match=said) as caught:
        Schema.from_dict(damage(GOOD.to_dict()), Path("kept/schema.json"))
    assert str(caught.value).startswith("kept/schema.json: the schema that was kept with the models is damaged: ")
