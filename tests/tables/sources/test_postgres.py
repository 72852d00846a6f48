"""Tables in PostgreSQL: types, order, passwords, and that it is only ever read."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import adbc_driver_postgresql.dbapi
import pytest

from assistlearn.agent.file import load_description
from assistlearn.errors import ColumnsError, IdsError, MissingTableError, TableError
from assistlearn.tables.schema import Kind
from assistlearn.tables.table import read_table
from bench.sources import servers

MADE = """
create type mood as enum ('sad', 'glad');
create domain age as int check (value >= 0);
create sequence counter;
create table t (id text, small int2, number int4, large int8, single float4, double float8, exact numeric(12, 3),
    flag bool, day date, moment timestamp, zoned timestamptz, mark uuid, word varchar(9), padded char(6), feeling mood,
    years age, data jsonb, items int[], span interval, price money, raw bytea, place point, clock time);
insert into t values
 ('b', 1, 2, 9007199254740993, 0.5, 0.1, 0.1, true, '2020-02-29', '1969-12-31 12:00', '2020-01-01 01:00+01',
  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'w', 'pad', 'glad', 30, '{}', '{1}', '1 day', 2, 'x', '(1,2)', '12:00'),
 ('B', 2, 3, 4, 1.5, -2.5, 12345.678, false, '2020-03-01', '2020-01-01 00:00', '2020-01-01 00:00+00',
  'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'v', 'more', 'sad', 40, '{}', '{1}', '1 day', 2, 'x', '(1,2)', '12:00'),
 ('a', null, null, null, null, 'NaN', null, null, null, null, null, null, null, null, null, null, null, null, null,
  null, null, null, null);
create table numbered (id numeric, x float8); insert into numbered values (10, 1), (9.00, 2);
create role guest login password 'guest'
"""
PLAIN = "id, small, number, large, single, double, exact, flag, day, moment, zoned, mark, word, padded, feeling, years"


@pytest.fixture(scope="module")
def filled(postgres_server):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", servers.PASSWORD)
        with adbc_driver_postgresql.dbapi.connect(postgres_server.url) as connection, connection.cursor() as cursor:
            for statement in MADE.split(";"):
                cursor.execute(statement)
            connection.commit()


@pytest.fixture
def ask(write_agent, postgres, filled):
    """Return how a query is read."""

    def read(query, url=postgres, more="", **lines):
        lines.setdefault("local_server", "true")
        file = write_agent(None, more, table=None, query=f"'''{query}'''", database=f'"{url}"', **lines)
        return read_table(load_description(file))

    return read


def test_columns_have_the_kinds_of_their_types_and_rows_the_order_of_their_ids(ask):
    table = ask(f"select {PLAIN} from t")
    assert table.ids.to_list() == ["B", "a", "b"]  # by their bytes, whatever the database thinks of capitals
    row = dict(zip(table.features.columns, table.features.row(2), strict=True))
    assert row == {
        **{"small": 1.0, "number": 2.0, "large": 2.0**53, "single": 0.5, "double": 0.1, "exact": 0.1, "flag": 1.0},
        **{"day": 18321.0, "moment": -0.5, "zoned": 18262.0, "mark": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
        **{"word": "w", "padded": "pad", "feeling": "glad", "years": 30.0},
    }
    assert set(table.features.row(1)) == {None}
    kinds = {column.name: column.kind for column in table.schema.columns}
    assert (kinds["flag"], kinds["day"], kinds["exact"]) == (Kind.BOOLEAN, Kind.DATE, Kind.NUMBER)


@pytest.mark.parametrize("column", ["number", "mark", "word"])
def test_ids_are_whole_numbers_or_text(ask, column):
    table = ask(f"select {column} as id, double from t where {column} is not null")
    assert len(table) == 2
    assert table.ids.is_sorted()


def test_exact_numbers_that_are_whole_are_ids_and_others_are_not(ask):
    assert ask("select * from numbered").ids.to_list() == [9, 10]
    with pytest.raises(TableError, match=r"the id '10\.5' in column 'id' is no whole number.*\"id\"::text"):
        ask("select id + 0.5 as id, x from numbered where id = 10")
    with pytest.raises(IdsError, match="no id"):
        ask("select nullif(id, 9) as id, x from numbered")


@pytest.mark.parametrize(
    ("column", "type_", "cast"),
    [
        ("data", "jsonb", "\"data\" ->> 'a field'"),
        ("items", r"int4\[\]", r'"items"\[1\]'),
        ("span", "interval", r'extract\(epoch from "span"\)'),
        ("price", "money", '"price"::numeric'),
        ("raw", "bytea", r"encode\(\"raw\", 'hex'\)"),
        ("place", "point", '"place"::text'),
        ("clock", "time", r'extract\(epoch from "clock"\)'),
    ],
)
def test_what_is_no_number_and_no_text_is_refused_with_the_cast_to_write(ask, column, type_, cast):
    with pytest.raises(ColumnsError, match=rf"column '{column}' is of PostgreSQL's type {type_}, .* {cast} as"):
        ask(f"select id, double, {column} from t")
    table = ask(f"select id, double, {column} from t", more=f'[features]\nexclude = ["{column}"]\n')
    assert table.features.columns == ["double"]


@pytest.mark.parametrize("forever", ["'infinity'::date", "'-infinity'::timestamp", "'infinity'::timestamptz"])
def test_days_without_end_are_refused(ask, forever):
    with pytest.raises(TableError, match=r"column 'd' has 2 dates that are infinite.* nullif\(\"d\", 'infinity'\)"):
        ask(f"select id, {forever} as d from numbered")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("drop table t", "must be one SELECT"),
        ("select 1 as id; drop table t", "must be one SELECT"),
        ("select 1 as id) as q; drop table t; select * from (select 1 as id", "must be one SELECT"),
        ("with gone as (delete from t returning *) select * from gone", "the query would write"),
        ("select id, nextval('counter') as x from t", "the query would write"),
        ("select set_config('transaction_read_only', 'off', false) as id, nextval('counter') as x", "query"),
        ("select * from nowhere", r'line 4: the query failed: relation "nowhere" does not exist'),
        ("selec", "the query failed: syntax error"),
        ("select id, double, double from t", "more than one column 'double'"),
        ("select id, 1 / (ascii(id) - 97) as x from t", "the query failed: division by zero"),
        ("select * from t where false -- nobody", "type jsonb"),
        ("select id, double from t where false -- nobody", "not a single row"),
    ],
)
def test_a_query_that_is_not_one_select_of_rows_is_refused(ask, query, said):
    with pytest.raises((TableError, ColumnsError), match=said):
        ask(query)
    assert len(ask("select id, double from t")) == 3


TROUBLE = {
    "postgresql://owner@127.0.0.1:{free}/x": (TableError, "the connection is refused"),
    "postgresql://owner@nowhere.invalid/x": (MissingTableError, "there is no such host"),
    "postgresql://owner@127.0.0.1:{port}/nowhere": (MissingTableError, "there is no such database"),
    "postgresql://nobody@127.0.0.1:{port}/postgres": (TableError, "does not let this user in.* PGPASSWORD"),
    "postgresql:///?service=nowhere": (TableError, "the service is not known"),
}


@pytest.mark.parametrize(("url", "error", "said"), [(url, *what) for url, what in TROUBLE.items()])
def test_trouble_with_the_server_is_one_error_with_the_remedy(ask, postgres, url, error, said):
    port = postgres.rpartition(":")[2].partition("/")[0]
    with pytest.raises(error, match=said) as caught:
        ask("select * from t", url.format(port=port, free=servers.free_port()))
    assert servers.PASSWORD not in str(caught.value)


def test_the_password_is_in_the_environment_or_in_a_file_of_its_own(ask, postgres, monkeypatch, tmp_path):
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(TableError, match="does not let this user in"):
        ask("select id, double from t")
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    with pytest.raises(TableError, match=r"none was found. Put the password into PGPASSWORD .* ~/\.pgpass"):
        ask("select id, double from t")
    (tmp_path / "pgpass").write_text(f"127.0.0.1:*:*:owner:{servers.PASSWORD}\n")
    (tmp_path / "pgpass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    table = ask("select id, double from t")
    assert len(table) == 3
    assert table.source == f"query on {postgres}"


def test_what_a_user_may_not_read_is_said(ask, postgres, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "guest")
    with pytest.raises(TableError, match="may not read all of it"):
        ask("select * from t", postgres.replace("owner@", "guest@"))


def test_a_query_that_takes_too_long_is_given_up_on_here_and_at_the_server(ask):
    began = time.monotonic()
    with pytest.raises(TableError, match=r"read_seconds"):
        ask("select id, pg_sleep(20)::text as x from t", read_seconds="0.4")
    assert time.monotonic() - began < 10
    still = "select query as id, 1 as x from pg_stat_activity where query like '%pg_sleep(20)%' and state = 'active'"
    for _ in range(100):
        if len(ask(f"{still} and pid <> pg_backend_pid() union select 'none', 1")) == 1:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the server still works on it")


def test_a_server_that_never_speaks_is_given_up_on(ask):
    with socket.create_server(("127.0.0.1", 0)) as deaf, pytest.raises(TableError, match=r"not answer within 0\.3 s"):
        ask("select 1", f"postgresql://owner@127.0.0.1:{deaf.getsockname()[1]}/x", read_seconds="0.3")


def test_a_server_process_that_dies_is_one_error(ask, postgres_server):
    with pytest.raises(TableError, match="the connection broke"):
        ask("select id, pg_terminate_backend(pg_backend_pid())::text as x from t")
    assert Path(f"/proc/{postgres_server.process}").exists()


def test_ids_of_several_columns_are_in_the_order_of_their_parts(ask):
    table = ask(
        "select 'b' as place, n as number, n as x from generate_series(9, 11) n union select 'a', 3, 4",
        id='["place", "number"]',
    )
    assert table.ids.to_list() == ["a|3", "b|9", "b|10", "b|11"]
    assert table.features["x"].to_list() == [4.0, 9.0, 10.0, 11.0]
