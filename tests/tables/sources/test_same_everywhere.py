"""The same rows are the same table, with the same fingerprint and the same models, wherever they live."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import sqlite3

import adbc_driver_postgresql.dbapi
import duckdb
import numpy as np
import polars as pl
import pytest

from assistlearn.agent.loading import load_agent
from bench.sources import servers
from tests.cli.program import assistlearn
from tests.cli.small_agents import SECRET, STUMP, know_the_key, toml
from tests.papers_settings import PAPERS_OPTIONS

N = 60
LEARNERS = {
    "tree": "sklearn.tree.DecisionTreeClassifier",
    "linear": "sklearn.linear_model.LogisticRegression",
}


def made() -> pl.DataFrame:
    """Columns of every kind, with gaps in each; the rows are in the order of their ids, as those of a query are."""
    rng = np.random.default_rng(5)
    day, moment = dt.date(2020, 2, 28), dt.datetime(1969, 12, 31, 23, 59, 58, 250_000)
    values = {
        "id": [f"p-{n:03d}" for n in range(N)],
        "number": rng.normal(size=N).round(3).tolist(),
        "count": rng.integers(-5, 2**40, N).tolist(),
        "town": np.array(["Ulm", "Köln", "New York", "x,y"])[rng.integers(0, 4, N)].tolist(),
        "smoker": (rng.random(N) < 0.5).tolist(),
        "day": [day + dt.timedelta(days=int(n)) for n in rng.integers(0, 900, N)],
        "moment": [moment + dt.timedelta(milliseconds=int(n)) for n in rng.integers(0, 10**11, N)],
    }
    for place, name in enumerate(list(values)[1:]):
        values[name][7 * place + 3] = None
    values["ill"] = ["yes" if n % 3 else "no" for n in range(N)]
    return pl.DataFrame(values)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, s3_server):
    """Write the table into files, a bucket and databases of this machine; return the folder."""
    home = tmp_path_factory.mktemp("everywhere")
    frame = made()
    frame.write_csv(home / "table.csv", datetime_format="%Y-%m-%dT%H:%M:%S%.6f")
    (home / "table.csv.gz").write_bytes(gzip.compress((home / "table.csv").read_bytes()))
    frame.write_parquet(home / "table.parquet")
    for number, part in enumerate(frame.iter_slices(25)):
        (home / "parts").mkdir(exist_ok=True)
        part.write_parquet(home / "parts" / f"{number}.parquet")
    with duckdb.connect(home / "lab.duckdb") as connection:
        connection.execute("create table t as from read_parquet(?)", [str(home / "table.parquet")])
    text = pl.read_csv(home / "table.csv", infer_schema_length=0).with_columns(
        pl.col("number").cast(pl.Float64), pl.col("count").cast(pl.Int64)
    )
    with sqlite3.connect(home / "lab.sqlite") as database:
        database.execute(f"create table t ({', '.join(text.columns)})")
        database.executemany(f"insert into t values ({', '.join('?' * text.width)})", text.reverse().rows())
    database.close()
    objects = {path.name: path.read_bytes() for path in home.glob("table.*")}
    servers.put(s3_server, "same", objects | {f"parts/{p.name}": p.read_bytes() for p in home.glob("parts/*")})
    return home


@pytest.fixture(scope="module")
def web_server(folder):
    with servers.web(folder) as url:
        yield url


@pytest.fixture(scope="module")
def visits(postgres_server):
    """Put the table into PostgreSQL, in another order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", servers.PASSWORD)
        with adbc_driver_postgresql.dbapi.connect(postgres_server.url) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("visits", made().sample(fraction=1.0, shuffle=True, seed=1))
            connection.commit()
    return postgres_server.url


LOCAL = {
    "csv": 'table = "{folder}/table.csv"',
    "csv.gz": 'table = "{folder}/table.csv.gz"',
    "parquet": 'table = "{folder}/table.parquet"',
    "folder": 'table = "{folder}/parts/"',
    "duckdb": 'query = "select * from t order by town"\ndatabase = "{folder}/lab.duckdb"',
    "sqlite": 'query = "select * from t"\ndatabase = "{folder}/lab.sqlite"',
    "web csv": 'table = "{web}/table.csv"\nlocal_server = true',
    "web parquet": 'table = "{web}/table.parquet"\nlocal_server = true',
    "s3 csv": 'table = "s3://same/table.csv"',
    "s3 csv.gz": 'table = "s3://same/table.csv.gz"',
    "s3 parquet": 'table = "s3://same/table.parquet"',
    "s3 folder": 'table = "s3://same/parts/"',
}
POSTGRES = 'query = "select * from visits"\ndatabase = "{postgres}"\nlocal_server = true'


def agent_at(path, where: str, learner: str = LEARNERS["tree"]):
    path.write_text(f'name = "lab"\n{where}\nid = "id"\nlabel = "ill"\nlearner = "{learner}"\n')
    return load_agent(path)


def models_of(agent) -> bytes:
    rows = agent.rows()
    fitted = agent.estimator.fit(rows, agent.table.labels.to_numpy())
    return fitted.predict_proba(rows).tobytes()


@pytest.fixture
def from_csv(folder, tmp_path):
    return {
        name: agent_at(tmp_path / "csv.toml", LOCAL["csv"].format(folder=folder), learner)
        for name, learner in LEARNERS.items()
    }


@pytest.mark.usefixtures("s3")
@pytest.mark.parametrize("where", LOCAL)
def test_a_table_has_one_fingerprint_and_one_model_wherever_it_is(folder, web_server, from_csv, tmp_path, where):
    place = LOCAL[where].format(folder=folder, web=web_server)
    for name, expected in from_csv.items():
        found = agent_at(tmp_path / "lab.toml", place, LEARNERS[name])
        assert found.table.features.equals(expected.table.features)
        assert found.table.fingerprint == expected.table.fingerprint
        assert models_of(found) == models_of(expected)


def test_a_table_in_postgresql_is_that_of_the_file(postgres, visits, from_csv, tmp_path):
    for name, expected in from_csv.items():
        found = agent_at(tmp_path / "lab.toml", POSTGRES.format(postgres=visits), LEARNERS[name])
        assert found.table.fingerprint == expected.table.fingerprint
        assert models_of(found) == models_of(expected)


@pytest.mark.usefixtures("forked_agents", "s3", "postgres")
def test_runs_on_the_same_rows_are_the_same_to_the_bit(folder, visits, web_server, tmp_path):
    helper = made().select("id", helps=pl.int_range(N) % 3 + pl.Series(np.random.default_rng(1).normal(size=N)) / 3)
    results = []
    for where in (LOCAL["csv"], LOCAL["web parquet"], LOCAL["s3 parquet"], POSTGRES):
        home = tmp_path / str(len(results))
        home.mkdir()
        helper.rename({"id": "patient"}).write_csv(home / "shop.csv")
        (home / "shop.toml").write_text(toml("shop", SECRET))
        (home / "shared.key").write_text("0123456789abcdef0123456789abcdef\n")
        place = where.format(folder=folder, postgres=visits, web=web_server)
        (home / "lab.toml").write_text(f'name = "lab"\n{place}\nid = "id"\nlabel = "ill"\nlearner = {STUMP}\n{SECRET}')
        know_the_key(home / "lab.toml")
        options = [*PAPERS_OPTIONS, "--out", home / "run", "--rounds", 3, "--seed", 3, "--json"]
        trained = assistlearn("simulate", home / "lab.toml", home / "shop.toml", *options)
        assert trained.code == 0, trained.err
        contributions = trained.json["result"]["contributions"]
        results.append([(each["agent"], each["model_weight"]) for each in contributions])
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"postgresql" in kept  # in the agent's file
    assert servers.PASSWORD.encode() not in kept
    assert os.environ["AWS_SECRET_ACCESS_KEY"].encode() not in kept
    assert {name for name, _ in results[0]} == {"lab", "shop"}
    assert results == [results[0]] * 4
