"""A table in a SQLite file: told by its first bytes, and only ever read."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from assistlearn.agent.file import load_description
from assistlearn.errors import TableError
from assistlearn.tables.sources.databases import ROWS
from assistlearn.tables.table import read_table


@pytest.fixture
def ask(write_agent, tmp_path):
    """Return how a query on a SQLite file is read; the file has a table with values of several types in a column."""
    with closing(sqlite3.connect(tmp_path / "lab.db")) as database:
        database.execute("create table t (id, x, mixed, day, raw)")
        rows = [("b", 2, "7", "2020-02-29", b"1"), ("a", 1.5, 8, None, b"2"), ("c", None, 9.5, "2020-03-01", None)]
        database.executemany("insert into t values (?, ?, ?, ?, ?)", rows)
        database.commit()

    def read(query):
        return read_table(load_description(write_agent(table=None, query=f'"{query}"', database='"lab.db"')))

    return read


def test_rows_are_in_the_order_of_ids_and_text_is_judged_as_in_a_csv_file(ask):
    table = ask("select id, x, mixed, day from t;")
    assert table.ids.to_list() == ["a", "b", "c"]
    assert table.features["x"].to_list() == [1.5, 2.0, None]
    assert table.features["mixed"].to_list() == [8.0, 7.0, 9.5]
    assert table.features["day"].to_list() == [None, 18321.0, 18322.0]


def test_a_number_that_comes_late_is_read_as_an_early_one(ask, tmp_path):
    with closing(sqlite3.connect(tmp_path / "lab.db")) as database:
        ids = [(f"d{n:06d}", 1 if n < ROWS else 2.5) for n in range(ROWS + 10)]
        database.executemany("insert into t (id, x) values (?, ?)", ids)
        database.commit()
    assert ask("select id, x from t").features["x"].tail(3).to_list() == [2.5, 2.5, 2.5]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("drop table t", "must be one SELECT"),
        ("select 1 as id; drop table t", "must be one SELECT"),
        ("select * from nowhere", "no such table: nowhere"),
        ("select id, raw from t", "column 'raw' holds bytes"),
        ("select id, x, x from t", "more than one column 'x'"),
        ("select * from t where 0", "not a single row"),
    ],
)
def test_what_is_not_one_select_of_numbers_and_text_is_refused(ask, query, said):
    with pytest.raises(TableError, match=said):
        ask(query)
    assert len(ask("select id, x from t")) == 3
