"""Columns of weights and of persons: they are no features, and belong to rows and not to the learner."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from assistlearn.agent.loading import describe, from_loaded, load_agent
from assistlearn.errors import ColumnsError, DescriptionError, TableError

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
ROWS = "id,x,ill,w\na,1,yes,2\nb,2,no,0.5\nc,3,yes,0\nd,4,,\n"


def loaded(write_agent, content=ROWS, more="", **lines):
    return load_agent(write_agent(content, more, **({"label": '"ill"', "weight": '"w"'} | lines)))


def test_weights_are_read_beside_the_features(write_agent):
    table = loaded(write_agent).table
    assert table.weights.to_list() == [2.0, 0.5, 0.0, None]  # a row to predict needs none
    assert table.features.columns == ["x"]
    assert loaded(write_agent, more='[features]\ninclude = ["*"]\n').table.features.columns == ["x"]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Float32, pl.Decimal(9, 2)])
def test_weights_of_a_parquet_file_are_numbers_of_any_type(write_agent, dtype):
    frame = pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0], "ill": [0, 1], "w": pl.Series([2, 3]).cast(dtype)})
    assert loaded(write_agent, frame).table.weights.to_list() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (["2", "-0.5", "1", ""], r"row 2 has -0.5, which is negative; 1 of 4 rows"),
        (["2", "inf", "inf", ""], r"row 2 has inf, which is not finite; 2 of 4 rows"),
        (["", "1", "", ""], r"2 of 3 rows that have a label have no weight \(first: row 1\)"),
        (["nan", "1", "1", ""], r"1 of 3 rows that have a label have no weight \(first: row 1\)"),
        (["0", "0", "0.0", "5"], r"every one of the 3 rows that have a label is 0"),
        (["1", "much", "1", ""], r"row 2 has 'much', which is no number"),
    ],
    ids=["negative", "infinite", "missing", "no number", "all zero", "text"],
)
def test_weights_that_cannot_be_are_refused_with_file_column_and_row(write_agent, weights, words):
    labels = ("yes", "no", "yes", "")
    rows = "".join(f"{i},{i},{label},{weight}\n" for i, (label, weight) in enumerate(zip(labels, weights, strict=True)))
    with pytest.raises(TableError, match=rf"lab\.csv: column 'w' \(weight\).*{words}"):
        loaded(write_agent, "id,x,ill,w\n" + rows)


@pytest.mark.parametrize("dtype", [pl.String, pl.Boolean, pl.Date])
def test_weights_of_another_type_are_refused(write_agent, dtype):
    weights = pl.Series([None, None], dtype=pl.Int32).cast(dtype)
    frame = pl.DataFrame({"id": ["a", "b"], "x": [1.0, 2.0], "ill": [0, 1], "w": weights})
    with pytest.raises(TableError, match=rf"lab\.parquet: column 'w' \(weight\) is of type {dtype}"):
        loaded(write_agent, frame)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ({"label": None}, r"lab\.toml, line 5: weight names the column 'w', but the file names no column with labels"),
        ({"weight": '"ill"'}, r"line 6: weight and label both name the column 'ill'"),
        ({"weight": '"id"'}, r"line 6: weight and id both name the column 'id'"),
    ],
    ids=["helper", "label", "id"],
)
def test_a_file_that_cannot_have_this_weight_is_refused_with_its_line(write_agent, lines, words):
    with pytest.raises(DescriptionError, match=words):
        loaded(write_agent, **lines)


def test_a_weight_column_that_is_not_there_or_is_asked_for_as_a_feature_is_refused(write_agent):
    with pytest.raises(ColumnsError, match=r"line 6: .*lab\.csv has no column 'ww' \(weight\)\. Did you mean 'w'"):
        loaded(write_agent, weight='"ww"')
    with pytest.raises(ColumnsError, match="'w' is the weight column and cannot be a feature too"):
        loaded(write_agent, more='[features]\ninclude = ["x", "w"]\n')


def test_other_weights_are_another_table_and_a_table_without_them_is_the_one_it_was(write_agent):
    without = "id,x,ill\na,1,yes\nb,2,no\n"
    kept = "05e1cee2edf30770"
    assert loaded(write_agent, without, weight=None).table.fingerprint.startswith(kept)
    one, other = ("id,x,ill,w\na,1,yes,1\n" + f"b,2,no,{w}\n" for w in (1, 2))
    prints = [loaded(write_agent, content).table.fingerprint for content in (one, other)]
    assert len({*prints, loaded(write_agent, without, weight=None).table.fingerprint}) == 3


def test_rows_for_prediction_need_no_weights_and_a_feature_of_training_cannot_become_one(write_agent):
    schema = loaded(write_agent).table.schema
    path = write_agent("id,x\ne,5\n", label='"ill"', weight='"w"')
    assert load_agent(path, schema=schema).table.weights is None
    as_feature = load_agent(write_agent(ROWS, label='"ill"')).table.schema
    with pytest.raises(ColumnsError, match="weight = 'w' names a column that the models were trained with"):
        load_agent(write_agent(ROWS, label='"ill"', weight='"w"'), schema=as_feature)


def test_the_owner_is_shown_the_weights_and_that_they_leave(write_agent):
    facts = describe(loaded(write_agent), NOW)
    assert facts["weights"] == {"column": "w", "least": 0.0, "greatest": 2.0, "zero": 1}
    assert any("the weight of every shared sample" in line for line in facts["leaves"])
    without = describe(load_agent(write_agent(ROWS, label='"ill"')), NOW)
    assert without["weights"] is None
    assert not any("the weight of every" in line for line in without["leaves"])


VISITS = "visit,x,ill,who\na,1,yes,7\nb,2,no,07\nc,3,yes,7\nd,4,no,\ne,5,no,\n"


def loaded_visits(write_agent, content=VISITS, more="", **lines):
    keys = {"id": '"visit"', "label": '"ill"', "person": '"who"'}
    return load_agent(write_agent(content, more, **(keys | lines)))


def test_rows_of_a_person_are_told_from_a_column_that_is_no_feature(write_agent):
    agent = loaded_visits(write_agent, more='[features]\ninclude = ["*"]\n')
    assert agent.table.features.columns == ["x"]
    first, second, third, *unknown = agent.table.groups().tolist()
    assert first == third != second  # texts of a CSV file are compared as they are
    assert len({first, second, *unknown}) == 4  # a row that names nobody is about somebody else
    assert from_loaded(agent).groups.tolist() == agent.table.groups().tolist()


def test_a_helper_may_name_persons_too_and_a_part_of_an_id_may_name_them(write_agent):
    assert loaded_visits(write_agent, label=None, more='[features]\nexclude = ["ill"]\n').table.groups() is not None
    frame = pl.DataFrame({"who": [1, 1, 2], "visit": [1, 2, 1], "x": [1.0, 2.0, 3.0], "ill": [0, 1, 1]})
    table = loaded_visits(write_agent, frame, id='["who", "visit"]').table
    assert table.groups().tolist()[0] == table.groups().tolist()[1] != table.groups().tolist()[2]
    assert table.features.columns == ["x"]


def test_persons_who_all_occur_once_are_as_if_nobody_were_named(write_agent):
    assert loaded_visits(write_agent, "visit,x,ill,who\na,1,yes,7\nb,2,no,8\n").table.groups() is None


@pytest.mark.parametrize(
    ("lines", "error", "words"),
    [
        ({"person": '"ill"'}, DescriptionError, r"line 6: person and label both name the column 'ill'"),
        ({"person": '"visit"'}, DescriptionError, r"line 6: person and id both name .* Ids occur once each"),
        ({"person": '"whom"'}, ColumnsError, r"no column 'whom' \(person\)\. Did you mean 'who'"),
    ],
)
def test_a_column_that_cannot_name_persons_is_refused_with_its_line(write_agent, lines, error, words):
    with pytest.raises(error, match=words):
        loaded_visits(write_agent, **lines)


def test_a_column_that_names_nobody_is_refused(write_agent):
    with pytest.raises(TableError, match=r"none of the 2 rows names anybody in column 'who' \(person\)"):
        loaded_visits(write_agent, "visit,x,ill,who\na,1,yes,\nb,2,no,\n")
    with pytest.raises(ColumnsError, match="'who' is the person column and cannot be a feature too"):
        loaded_visits(write_agent, more='[features]\ninclude = ["x", "who"]\n')


def test_other_persons_are_another_table_and_rows_to_predict_need_none(write_agent):
    before = loaded_visits(write_agent).table
    assert before.fingerprint != loaded_visits(write_agent, VISITS.replace("07", "7")).table.fingerprint
    path = write_agent("visit,x\ne,5\n", id='"visit"', label='"ill"', person='"who"')
    assert load_agent(path, schema=before.schema).table.groups() is None


def test_check_says_that_folds_leave(write_agent):
    assert any("in which fold" in line for line in describe(loaded_visits(write_agent), NOW)["leaves"])
    assert not any("in which fold" in line for line in describe(loaded_visits(write_agent, person=None), NOW)["leaves"])
