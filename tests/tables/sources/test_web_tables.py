"""Tables behind http:// and https://: what a web server may do, each with one clear error."""

from __future__ import annotations

import base64
import errno
import tempfile
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

import pytest

from assistlearn.agent.file import load_description
from assistlearn.errors import MissingTableError, TableError
from assistlearn.tables.settings import TableUrl
from assistlearn.tables.sources.remote import trouble_with
from assistlearn.tables.table import read_table
from bench.sources import servers

CSV = b"id,x\na,1\nb,2\n"
OVER = Event()
"""Ends those who hang."""


class Odd(BaseHTTPRequestHandler):
    """A web server of many moods; the path says which."""

    def __init__(self, *arguments, directory=None):
        super().__init__(*arguments)

    def do_GET(self):
        getattr(self, self.path.partition(".")[0].strip("/"))()

    def log_message(self, format, *args):
        pass

    def answer(self, code, body, length=None, **headers):
        self.send_response(code)
        for name, value in ({"Content-Length": str(length or len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def good(self):
        self.answer(200, CSV)

    def moved(self):
        self.answer(302, b"", Location="/good.csv")

    def round_and_round(self):
        self.answer(302, b"", Location="/round_and_round.csv")

    def elsewhere(self):
        self.answer(302, b"", Location="file:///etc/passwd")

    def page(self):
        self.answer(200, b"\n<!DOCTYPE html><title>Log in</title>")

    def broken(self):
        self.answer(500, b"secret of the server")

    def closed(self):
        wanted = "Basic " + base64.b64encode(b"eve:pass word").decode()
        self.answer(*((200, CSV) if self.headers.get("Authorization") == wanted else (401, b"who?")))

    def half(self):
        self.answer(200, CSV, length=1000)

    def silent(self):
        OVER.wait(30)

    def drips(self):
        self.send_response(200)
        self.end_headers()
        while not OVER.wait(0.05):
            self.wfile.write(b"id,")

    def ragged(self):
        self.answer(200, b"id,x,z\na,1,2\nb,1\n")

    def latin(self):
        self.answer(200, "id,town\na,Zürich\n".encode("latin-1"))

    def whole(self):
        self.answer(200, b"PAR1 but no Parquet")


@pytest.fixture(scope="module")
def odd():
    OVER.clear()
    with servers.web(Path(), Odd) as url:
        yield url
        OVER.set()


@pytest.fixture
def read(write_agent, odd, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "*")

    def of(table, **lines):
        return read_table(load_description(write_agent(table=f'"{odd}/{table}"', local_server="true", **lines)))

    return of


def test_a_redirect_is_followed_and_the_table_is_called_by_its_url(read, odd):
    table = read("moved.csv")
    assert table.ids.to_list() == ["a", "b"]
    assert table.source == f"{odd}/moved.csv"


TROUBLE = {
    "nothing.csv": (TableError, "the connection broke"),
    "broken.csv": (TableError, "the server failed, with status 500. Check whether the server runs"),
    "closed.csv": (TableError, "access is denied. Put credentials that may read it into the file ~/.netrc"),
    "half.csv": (TableError, "only a part has come. Try again"),
    "page.csv": (TableError, "gives a web page in place of a table"),
    "round_and_round.csv": (TableError, "it redirects without end"),
    "elsewhere.csv": (TableError, "it redirects without end, or to where a table must not be fetched from"),
    "ragged.csv": (TableError, r"/ragged\.csv: row 2 \(line 3\) has 2 values, and the header has 3"),
    "latin.csv": (TableError, r"/latin\.csv is not UTF-8: line 2 has the byte 0xfc"),
    "whole.parquet": (TableError, r"/whole\.parquet cannot be read: .* It must be a whole Parquet file"),
}


@pytest.mark.parametrize(("table", "error", "said"), [(name, *what) for name, what in TROUBLE.items()])
def test_trouble_is_one_error_with_the_url_and_the_remedy(read, odd, table, error, said):
    with pytest.raises(error, match=said) as caught:
        read(table)
    assert odd in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("table", ["silent.csv", "drips.csv"])
def test_a_server_that_hangs_or_never_ends_is_given_up_on(read, table):
    began = time.monotonic()
    with pytest.raises(TableError, match=r"does not answer in time.* read_seconds"):
        read(table, read_seconds="0.3")
    assert time.monotonic() - began < 10


def test_what_a_server_wants_to_be_shown_is_in_netrc(read, tmp_path):
    (tmp_path / ".netrc").write_text('machine 127.0.0.1 login eve password "pass word"\n')
    (tmp_path / ".netrc").chmod(0o600)
    assert len(read("closed.csv")) == 2


def test_a_netrc_that_cannot_be_read_is_named_and_not_quoted(read, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login eve\nhush\n")
    (tmp_path / ".netrc").chmod(0o600)
    with pytest.raises(TableError, match=r"~/\.netrc cannot be read \(line \d\)") as caught:
        read("closed.csv")
    assert "hush" not in str(caught.value)


def test_letters_of_any_language_are_sent_as_web_servers_know_them(write_agent, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    (tmp_path / "Köln 1.csv").write_bytes(CSV)
    with servers.web(tmp_path) as url:
        assert len(read_table(load_description(write_agent(table=f'"{url}/Köln 1.csv"', local_server="true")))) == 2
        assert (
            len(read_table(load_description(write_agent(table=f'"{url}/K%C3%B6ln%201.csv"', local_server="true")))) == 2
        )
    with pytest.raises(TableError, match="there is no such host"):
        read_table(load_description(write_agent(table=f'"http://{"ö" * 80}.example/t.csv"')))


def test_a_full_disk_is_not_the_servers_fault():
    full = trouble_with(OSError(errno.ENOSPC, "No space left on device"), TableUrl("https://lab.example/t.csv"), "a")
    assert "there is no room for a copy of it on this machine" in str(full)


def test_nothing_that_was_fetched_stays(read, monkeypatch, tmp_path):
    (tmp_path / "short").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "short"))
    read("good.csv")
    with pytest.raises(TableError):
        read("ragged.csv")
    assert list((tmp_path / "short").iterdir()) == []


def test_no_such_host_and_nobody_who_listens_are_told_apart(write_agent, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with pytest.raises(TableError, match=r"line 2: the table http://nowhere\.invalid/t\.csv .* there is no such host"):
        read_table(load_description(write_agent(table='"http://nowhere.invalid/t.csv"')))
    with pytest.raises(TableError, match="the connection is refused"):
        read_table(
            load_description(write_agent(table=f'"http://127.0.0.1:{servers.free_port()}/t.csv"', local_server="true"))
        )


def test_what_is_not_there_is_a_missing_table(write_agent, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with servers.web(tmp_path) as url, pytest.raises(MissingTableError, match="there is no such table"):
        read_table(load_description(write_agent(table=f'"{url}/none.csv"', local_server="true")))
