"""Tables in S3: what is read, what is refused, and that no key is ever shown."""

from __future__ import annotations

import io
import socket
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import polars as pl
import pytest

from assistlearn.agent.file import load_description
from assistlearn.errors import MissingTableError, TableError
from assistlearn.tables.sources import remote
from assistlearn.tables.sources.parquet import ParquetSource
from assistlearn.tables.table import read_table
from bench.sources import servers

ROWS = {"id": ["a", "b"], "x": [1.0, 2.0]}


def parquet(values) -> bytes:
    file = io.BytesIO()
    pl.DataFrame(values).write_parquet(file)
    return file.getvalue()


@pytest.fixture
def read(write_agent):
    def of(url, more="", **lines):
        return read_table(load_description(write_agent(None, more, table=f'"{url}"', **lines)))

    return of


@pytest.fixture(scope="module")
def bucket(s3_server):
    parts = {
        "folder/year=2020/b.parquet": parquet({"id": ["z"], "x": [3.0]}),
        "folder/year=2021/a.parquet": parquet(ROWS),
        "folder/_SUCCESS": b"",
        "mixed/a.parquet": parquet(ROWS),
        "mixed/b.parquet": parquet({"id": ["c"], "x": ["three"]}),
        "t.csv": b"id,x\na,1\nb,2\n",
        "page.csv": b"<html>sign in</html>",
        "ragged.csv": b"id,x,z\na,1,1\nb,1\n",
        "half.parquet": parquet(ROWS)[:-20],
    }
    servers.put(s3_server, "lab", parts)
    return s3_server


def test_a_prefix_is_a_folder_of_parquet(s3, bucket, read):
    table = read("s3://lab/folder/")
    assert table.ids.to_list() == ["z", "a", "b"]
    assert table.features["year"].to_list() == [2020.0, 2021.0, 2021.0]
    assert table.source == "s3://lab/folder/"


TROUBLE = {
    "s3://lab/none.csv": (MissingTableError, "there is no such table"),
    "s3://lab/none.parquet": (MissingTableError, "there is no such table"),
    "s3://lab/none/": (MissingTableError, "there is no Parquet file"),
    "s3://nowhere-at-all/t.csv": (MissingTableError, "there is no such"),
    "s3://nowhere-at-all/t.parquet": (MissingTableError, "there is no such"),
    "s3://nowhere-at-all/t/": (MissingTableError, "there is no such bucket"),
    "s3://lab/page.csv": (TableError, "gives a web page in place of a table"),
    "s3://lab/ragged.csv": (TableError, r"s3://lab/ragged\.csv: row 2 \(line 3\) has 2 values"),
    "s3://lab/half.parquet": (TableError, "It must be a whole Parquet file"),
    "s3://lab/mixed/": (TableError, r"s3://lab/mixed/b\.parquet: column 'x' is of type String, and of type Float64"),
}


@pytest.mark.parametrize(("url", "error", "said"), [(url, *what) for url, what in TROUBLE.items()])
def test_trouble_is_one_error_with_the_url_and_the_remedy(s3, bucket, read, url, error, said):
    with pytest.raises(error, match=said) as caught:
        read(url)
    assert url.rstrip("/") in str(caught.value)


@pytest.mark.parametrize("url", ["s3://lab/changing.parquet", "s3://lab/changing/"])
def test_parquet_that_changes_while_it_is_read_is_refused(s3, bucket, read, monkeypatch, url):
    key = url.removeprefix("s3://lab/") + ("" if url.endswith(".parquet") else "a.parquet")
    servers.put(bucket, "lab", {key: parquet(ROWS)})
    honest = ParquetSource.read

    def slow(self, columns, text):
        frame = honest(self, columns, text)
        servers.put(bucket, "lab", {key: parquet({"id": ["a", "c"], "x": [1.0, 2.0]})})
        return frame

    monkeypatch.setattr(ParquetSource, "read", slow)
    with pytest.raises(TableError, match="was changed while it was read"):
        read(url)


def test_text_that_changes_between_two_pieces_is_refused(s3, bucket, read, monkeypatch):
    servers.put(bucket, "lab", {"changing.csv": b"id,x\na,1\nb,2\n"})
    monkeypatch.setattr(remote, "OBJECT_PIECE", 5)
    assert len(read("s3://lab/changing.csv")) == 2
    honest = remote.RemoteObjects.look

    def slow(self):
        found = honest(self)
        servers.put(bucket, "lab", {"changing.csv": b"id,x\nc,3\nd,4\n"})
        return found

    monkeypatch.setattr(remote.RemoteObjects, "look", slow)
    with pytest.raises(TableError, match="it was changed while it was read"):
        read("s3://lab/changing.csv")


class Refusing(BaseHTTPRequestHandler):
    """A store that refuses, and quotes what it was shown; the bucket's name says why."""

    def __init__(self, *arguments, directory=None):
        super().__init__(*arguments)

    def do_GET(self):
        code, status = {"denied": ("AccessDenied", 403), "key": ("InvalidAccessKeyId", 403), "moved": ("X", 301)}.get(
            self.path.split("/")[1].partition("?")[0], ("InternalError", 500)
        )
        body = f"<Error><Code>{code}</Code><AWSAccessKeyId>AKIAOFTHETEST</AWSAccessKeyId></Error>".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 as http.server calls it

    def log_message(self, format, *args):
        pass


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://denied/t.csv", "access is denied. Put credentials that may read it into AWS_ACCESS_KEY_ID"),
        ("s3://denied/t.parquet", "access is denied"),
        ("s3://key/t/", "the credentials are refused. Put credentials"),
        ("s3://moved/t.csv", "in another region. Name its region: set AWS_REGION"),
        ("s3://failing/t.csv", "the server failed, with status 500"),
    ],
)
def test_a_store_that_refuses_is_told_apart_and_no_key_is_shown(s3, read, monkeypatch, url, said):
    monkeypatch.setattr(remote, "RETRIES", 0)
    with servers.web(Path(), Refusing) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(TableError, match=said) as caught:
            read(url)
    assert "AKIA" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_store_that_hangs_is_given_up_on(s3, read, monkeypatch, ending):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{deaf.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(TableError, match=r"does not answer in time.* read_seconds"):
            read(f"s3://lab/t.{ending}", read_seconds="0.3")
    assert time.monotonic() - began < 10


def test_nobody_who_listens_and_no_such_host_are_told_apart(s3, read, monkeypatch):
    monkeypatch.setattr(remote, "RETRIES", 0)
    for endpoint, said in (
        (f"http://127.0.0.1:{servers.free_port()}", "the connection is refused"),
        ("http://nowhere.invalid", "no such host. Correct the URL, or AWS_ENDPOINT_URL"),
    ):
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(TableError, match=said):
            read("s3://lab/t.parquet")


def test_a_profile_gives_the_credentials(s3, bucket, read, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[research]\naws_access_key_id = A\naws_secret_access_key = B\n")
    monkeypatch.setenv("AWS_PROFILE", "research")
    assert len(read("s3://lab/t.csv")) == 2
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    for url in ("s3://lab/t.csv", "s3://lab/folder/"):
        with pytest.raises(TableError, match="no credentials were found"):
            read(url)
