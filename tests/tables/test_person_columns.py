"""A column that says who is the same person: it is no feature, and says which rows stay together."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from assistlearn.agent.holdings import from_loaded
from assistlearn.agent.loading import describe, load_agent
from assistlearn.errors import ColumnsError, DescriptionError, TableError

NOW = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)
ROWS = "visit,x,ill,who\na,1,yes,7\nb,2,no,07\nc,3,yes,7\nd,4,no,\ne,5,no,\n"


def loaded(write_agent, content=ROWS, more="", **lines):
    keys = {"id": '"visit"', "label": '"ill"', "person": '"who"'}
    return load_agent(write_agent(content, more, **(keys | lines)))


def test_rows_of_a_person_are_told_from_a_column_that_is_no_feature(write_agent):
    agent = loaded(write_agent, more='[features]\ninclude = ["*"]\n')
    assert agent.table.features.columns == ["x"]
    first, second, third, *unknown = agent.table.groups().tolist()
    assert first == third != second  # texts of a CSV file are compared as they are
    assert len({first, second, *unknown}) == 4  # a row that names nobody is about somebody else
    assert from_loaded(agent).groups.tolist() == agent.table.groups().tolist()


def test_a_helper_may_name_persons_too_and_a_part_of_an_id_may_name_them(write_agent):
    assert loaded(write_agent, label=None, more='[features]\nexclude = ["ill"]\n').table.groups() is not None
    frame = pl.DataFrame({"who": [1, 1, 2], "visit": [1, 2, 1], "x": [1.0, 2.0, 3.0], "ill": [0, 1, 1]})
    table = loaded(write_agent, frame, id='["who", "visit"]').table
    assert table.groups().tolist()[0] == table.groups().tolist()[1] != table.groups().tolist()[2]
    assert table.features.columns == ["x"]


def test_persons_who_all_occur_once_are_as_if_nobody_were_named(write_agent):
    assert loaded(write_agent, "visit,x,ill,who\na,1,yes,7\nb,2,no,8\n").table.groups() is None


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
        loaded(write_agent, **lines)


def test_a_column_that_names_nobody_is_refused(write_agent):
    with pytest.raises(TableError, match=r"none of the 2 rows names anybody in column 'who' \(person\)"):
        loaded(write_agent, "visit,x,ill,who\na,1,yes,\nb,2,no,\n")
    with pytest.raises(ColumnsError, match="'who' is the person column and cannot be a feature too"):
        loaded(write_agent, more='[features]\ninclude = ["x", "who"]\n')


def test_other_persons_are_another_table_and_rows_to_predict_need_none(write_agent):
    before = loaded(write_agent).table
    assert before.fingerprint != loaded(write_agent, ROWS.replace("07", "7")).table.fingerprint
    path = write_agent("visit,x\ne,5\n", id='"visit"', label='"ill"', person='"who"')
    assert load_agent(path, schema=before.schema).table.groups() is None


def test_check_says_that_folds_leave(write_agent):
    assert any("in which fold" in line for line in describe(loaded(write_agent), NOW).leaves)
    assert not any("in which fold" in line for line in describe(loaded(write_agent, person=None), NOW).leaves)
