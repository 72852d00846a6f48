"""URLs in an agent's file: which are known, and that none holds a secret."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.agent.file import parse_description
from assistlearn.errors import DescriptionError
from assistlearn.tables.settings import TableQuery, TableUrl

REST = {"name": "lab", "id": "id", "learner": "a.B"}


def described(**keys):
    return parse_description(REST | keys, Path("parties/lab.toml"))


@pytest.mark.parametrize(
    "url",
    [
        *("s3://lab/a.parquet", "s3://lab/a.csv", "s3://lab/a.CSV.GZ", "s3://lab/", "gs://lab/x/", "az://lab/a.csv"),
        *("https://lab.example/a.csv", "http://10.0.0.1:8000/a%20b.parquet?day=3"),
    ],
)
def test_tables_have_urls(url):
    assert described(table=url).table == TableUrl(url)
    assert "day=3" not in str(described(table=url).table)


@pytest.mark.parametrize(
    "url", ["postgresql://h/d", "postgres://me@h:5432/d?sslmode=require", "postgresql:///?service=s"]
)
def test_databases_have_urls(url):
    assert described(query="select 1", database=url).table == TableQuery("select 1", Path("parties"), url)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"table": "https://me:hush@lab.example/a.csv"}, "holds a password.* put it into the file ~/.netrc"),
        ({"table": "https://me@lab.example/a.csv"}, "holds a user's name"),
        ({"table": "s3://AKIA:hush@lab/a.csv"}, "holds a password.*AWS_ACCESS_KEY_ID"),
        ({"table": "https://lab.example/a.csv?X-Amz-Signature=hush"}, "holds 'X-Amz-Signature'"),
        ({"table": "https://lab.example/a.csv?sig=hush"}, "holds 'sig'"),
        ({"table": "https://lab.example/a.csv?access_token=hush"}, "holds 'access_token'"),
        ({"query": "select 1", "database": "postgresql://me:hush@h/d"}, "holds a password.* PGPASSWORD"),
        ({"query": "select 1", "database": "postgresql://h/d?password=hush"}, "holds 'password'"),
        ({"query": "select 1", "database": "postgresql://h/d?sslpassword=hush"}, "holds 'sslpassword'"),
    ],
)
def test_a_url_with_a_secret_is_refused_and_the_secret_is_not_shown(keys, said):
    with pytest.raises(DescriptionError, match=said) as caught:
        described(**keys)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"table": "ftp://lab.example/a.csv"}, "begins with ftp://, which is not known"),
        ({"table": "file:///lab/a.csv"}, "Write the path of a file without file://"),
        ({"table": "https://lab.example/a.xlsx"}, "is not known. It must end in"),
        ({"table": "https://lab.example/folder/"}, "is a folder, which web servers do not list"),
        ({"table": "https:///a.csv"}, "names no host"),
        ({"table": "s3:///a.csv"}, "names no bucket"),
        ({"table": "http://[::1/a.csv"}, "is no URL that can be read"),
        ({"table": "http://lab.example:port/a.csv"}, "is no URL that can be read"),
        ({"table": "postgresql://h/d"}, "is a database: write it as database = "),
        ({"table": "s3://lab/a.parquet", "separator": ";"}, "goes with a CSV file, not with Parquet"),
        ({"table": "visits/", "separator": ";"}, "goes with a CSV file, not with Parquet"),
        ({"table": "visits"}, "or in / for all Parquet files of a folder"),
        ({"query": "select 1", "database": "mysql://h/d"}, "begins with mysql://, which is not known"),
        (
            {"query": "select 1", "database": "postgresql://h%00x/d"},
            "control character in it, such as %00. Take it out",
        ),
        ({"table": "https://lab.example/a%0a.csv"}, "control character"),
        ({"table": "a.csv", "read_seconds": 0}, "read_seconds = 0 must be a number"),
    ],
)
def test_a_place_that_cannot_be_read_is_refused_with_the_remedy(keys, said):
    with pytest.raises(DescriptionError, match=said):
        described(**keys)


@given(st.text(max_size=30), st.sampled_from(["s3", "https", "postgresql", "gs", "x"]), st.booleans())
def test_any_text_is_a_url_or_a_mistake_with_words(rest, scheme, is_database):
    url = f"{scheme}://{rest}"
    keys = {"query": "select 1", "database": url} if is_database else {"table": url}
    with suppress(DescriptionError):
        assert url.partition("?")[0].partition("#")[0] in str(described(**keys).table)
