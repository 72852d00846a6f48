"""What the command line says of tables that live elsewhere."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import polars as pl

from assistlearn.cli.output import needed_by_agents
from bench.sources import servers
from tests.cli.program import assistlearn


def test_check_says_where_the_table_was_read_from(s3, write_agent):
    servers.put(s3, "checked", {"t.csv": b"id,x\na,1\nb,2\n"})
    assert "2 rows from s3://checked/t.csv" in assistlearn(
        "check", write_agent(table='"s3://checked/t.csv"')
    ).out.replace("\n", " ")


def test_trouble_is_an_error_without_a_traceback(write_agent, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    file = write_agent(table=f'"http://127.0.0.1:{servers.free_port()}/t.csv"', local_server="true")
    assistlearn("check", file).failed(2, "line 2", "the connection is refused")


def test_what_lies_on_this_machine_is_needed_and_a_url_is_no_file(write_agent, tmp_path):
    (tmp_path / "visits").mkdir()
    pl.DataFrame({"id": ["a"]}).write_parquet(tmp_path / "visits" / "a.parquet")
    assert needed_by_agents([write_agent(table='"visits/"')])[tmp_path / "visits"] == "the table of agent 'lab'"
    with closing(sqlite3.connect(tmp_path / "lab.db")):
        database = write_agent(table=None, query='"select 1"', database='"lab.db"')
    assert needed_by_agents([database])[tmp_path / "lab.db"] == "the table of agent 'lab'"
    for place in (
        {"table": '"s3://lab/t.csv"'},
        {"table": None, "query": '"select 1"', "database": '"postgresql://h/d"'},
    ):
        assert set(needed_by_agents([write_agent(**place)])) == {tmp_path / "lab.toml", tmp_path / "lab-models"}
