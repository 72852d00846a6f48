"""Places of tables that would hand over something else: files, the web, this machine's own services, passwords."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest

from assistlearn.agent.file import load_description
from assistlearn.errors import AssistLearnError, DescriptionError, TableError
from assistlearn.tables.settings import ReadingLimits, TableUrl, is_own_host
from assistlearn.tables.sources import databases, remote
from assistlearn.tables.table import read_table
from bench.sources import servers
from tests.agent.conftest import write_agent
from tests.attacks.attack import attack

__all__ = ["write_agent"]

duckdb = pytest.importorskip("duckdb", reason="needs the extra [duckdb]")

FORBIDDEN = [
    "select content as id, 1 as x from read_text('/etc/passwd')",
    "select content as id, 1 as x from read_text('secret.key')",
    "select column0 as id, 1 as x from read_csv('/etc/passwd')",
    "select column0 as id, 1 as x from read_csv('/etc/' || 'passwd')",
    "select file as id, 1 as x from glob('/etc/*')",
    "select filename as id, 1 as x from read_blob('*')",
    "select * from sqlite_scan('other.sqlite', 't')",
    "select * from 'https://data.lab.example/a.parquet'",
    "select * from 's3://bucket/a.parquet'",
    "select * from postgres_scan('host=h password=hush', 'public', 't') -- 'lab.csv'",
]


@attack(
    "local process",
    "puts a query into a file that reads `/etc/passwd`, a secret, or an address of the web",
    "refused: a query reads its database and the tables that it names in quotes, and loads no extension",
)
@pytest.mark.parametrize("query", FORBIDDEN)
@pytest.mark.parametrize("database", [None, '"lab.duckdb"'])
def test_a_query_reads_no_other_file_and_nothing_of_the_web(write_agent, tmp_path, query, database):
    (tmp_path / "secret.key").write_text("hush")
    with duckdb.connect(tmp_path / "lab.duckdb") as connection:
        connection.execute("create table t as select 1 as id, 2 as x")
    with pytest.raises(TableError, match="line 4") as caught:
        read_table(load_description(write_agent(table=None, query=f'"{query}"', database=database)))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("name", ["visits.csv", "years/*.parquet", "../beside.csv", "{folder}/visits.csv"])
@pytest.mark.parametrize("quoted", ["'{}'", "read_csv('{}')", '\\"{}\\"'])
def test_a_query_reads_the_tables_that_it_names(write_agent, tmp_path, name, quoted):
    made = pl.DataFrame({"id": ["a", "b"], "x": [1, 2]})
    (tmp_path / "years").mkdir()
    made.write_parquet(tmp_path / "years" / "1.parquet")
    for path in (tmp_path / "visits.csv", tmp_path.parent / "beside.csv"):
        made.write_csv(path)
    if name.endswith(".parquet") and "read_csv" in quoted:
        quoted = "read_parquet('{}')"
    query = f"from {quoted.format(name.format(folder=tmp_path))} -- it's all"
    assert len(read_table(load_description(write_agent(table=None, query=f'"{query}"')))) == 2


OWN = [
    *("127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "[::1]", "[::]"),
    *("[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "%31%32%37.1"),
    *("169.254.169.254", "2852039166", "0251.0376.0251.0376", "metadata.google.internal", "[fd00:ec2::254]"),
    *("100.100.100.200", "a.localhost", "169.254.1.1"),
]


@attack(
    "local process",
    "names a table at this machine's own services or at its provider's metadata, in some spelling",
    "refused unless the file says `local_server = true`",
)
@pytest.mark.parametrize("host", OWN)
def test_addresses_of_this_machine_are_refused_in_every_spelling(write_agent, host):
    assert is_own_host(host)
    for scheme in ("http", "https"):
        file = write_agent(table=f'"{scheme}://{host}:8000/lab.csv"')
        with pytest.raises(DescriptionError, match=r"line 2: .*local_server = true"):
            load_description(file)
    assert load_description(write_agent(table=f'"http://{host}/lab.csv"', local_server="true")).local_server


@attack(
    "local process",
    "names a database at this machine's own services or at its provider's metadata, in some spelling",
    "refused unless the file says `local_server = true`, also where a name leads there",
)
@pytest.mark.parametrize(
    "place",
    [
        *(f"{host}:5432/d" for host in OWN),
        *("/d", "lab.example/d?host=127.0.0.1", "lab.example/d?hostaddr=169.254.169.254", "lab.example/d?host="),
        *("/d?host=%2Ftmp", "%2Ftmp/d", "lab.example,localhost/d", "/d?host=lab.example,", "lab.example,/d"),
    ],
)
def test_databases_of_this_machine_are_refused_in_every_spelling(write_agent, monkeypatch, place):
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    lines = {"table": None, "query": '"select 1"', "database": f'"postgresql://{place}"'}
    with pytest.raises(DescriptionError, match=r"line 5: .*If the database is really there.* local_server = true"):
        load_description(write_agent(**lines))
    assert load_description(write_agent(**lines, local_server="true")).local_server


def test_a_database_whose_name_leads_home_is_refused_before_anything_is_sent(write_agent, monkeypatch):
    pytest.importorskip("adbc_driver_postgresql", reason="needs the extra [postgres]")
    monkeypatch.setattr(databases, "getaddrinfo", lambda host, port: [(2, 1, 6, "", ("127.0.0.1", 0))])
    lines = {"table": None, "query": '"select 1"', "database": '"postgresql://data.lab.example/d"'}
    with pytest.raises(TableError, match=r"'data.lab.example', the server of .* local_server = true"):
        read_table(load_description(write_agent(**lines)))


class _Leading(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def __init__(self, *arguments, directory=None):
        super().__init__(*arguments)

    def do_GET(self):
        self.asked.append(self.headers["Host"])
        self.send_response(302)
        self.send_header("Location", f"http://127.2.2.2:{self.server.server_address[1]}/a.csv")
        self.end_headers()

    def log_message(self, format, *args):
        pass


@attack(
    "relay",
    "lets a name or a redirect of a table's server lead to this machine's own services",
    "refused before anything is sent",
)
def test_names_and_redirects_that_lead_home_are_refused(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with servers.web(Path(), _Leading) as url:
        port = url.rpartition(":")[2]
        monkeypatch.setattr(remote, "getaddrinfo", lambda host, port: [(2, 1, 6, "", ("127.0.0.1", 0))])
        assert "leads" in _refused(f"http://data.lab.example:{port}/a.csv")
        monkeypatch.setattr(remote, "getaddrinfo", lambda host, port: [(2, 1, 6, "", ("192.0.2.1", 0))])
        monkeypatch.setattr(remote, "is_own_host", lambda host: False)
        assert "leads to 127.0.0.1" in _refused(f"{url}/a.csv")  # the name has changed its address meanwhile
        assert _Leading.asked == []
        monkeypatch.setattr(remote, "is_own_address", lambda address: address == "127.2.2.2")
        monkeypatch.setattr(remote, "is_own_host", lambda host: host == "127.2.2.2")
        assert "redirect leads" in _refused(f"{url}/a.csv")
        assert len(_Leading.asked) == 1


def _refused(url: str) -> str:
    opened = remote.remote_file(TableUrl(url), "lab.toml", 10.0, ReadingLimits(), local_server=False)
    with pytest.raises(TableError, match=r"lab\.toml: .*local_server = true") as caught, opened:
        pass
    return str(caught.value)


@attack(
    "listener",
    "looks for the password of a database in what a command prints",
    "words for a connection are refused and not shown",
)
@pytest.mark.parametrize(
    "database",
    [
        "host=db.lab.example dbname=clinic user=me password=hush",
        "password='hush'",
        "jdbc:postgresql://h/d?user=me&password=hush",
        "postgres:me:hush@h/d?sslpassword=hush",
        "postgresql://me:hush@h/d",
        "Server=h;Uid=me;Pwd=hush;",
    ],
)
def test_a_password_in_an_agents_file_is_never_printed(write_agent, database):
    for lines in ({"table": None, "query": '"select 1"', "database": f'"{database}"'}, {"table": f'"{database}"'}):
        with pytest.raises(AssistLearnError) as caught:
            read_table(load_description(write_agent(**lines)))
        said = [caught.value, *caught.value.others]
        assert not any("hush" in str(each) for each in said)
        assert "PGPASSWORD" in str(caught.value) or "not known" in str(caught.value)
