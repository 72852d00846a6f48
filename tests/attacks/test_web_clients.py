"""Clients of the web: programs that keep connections busy and say nothing, and pages in somebody's browser."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

import anyio
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from assistlearn.web.live import Feed, LiveRun, watching
from assistlearn.web.server import MOST_CONNECTIONS, most_connections, protocol_for
from tests.attacks.attack import attack
from tests.cli.small_agents import NEW
from tests.web.served_run import Served, trained
from tests.web.served_run import served as served_run
from tests.web.serving import asked, served

MOST = 5
HEAD = b"GET /quick HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
"""The beginning of a head that does not come to its end."""


async def quick(request: Request) -> PlainTextResponse:
    return PlainTextResponse("here")


async def slow(request: Request) -> PlainTextResponse:
    await anyio.sleep(1.0)
    return PlainTextResponse("late")


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server for five connections, which waits long for a head."""
    app = Starlette(routes=[Route("/quick", quick), Route("/slow", slow)])
    with served(app, http=protocol_for(slowest=30.0, most=MOST), lifespan="off") as there:
        yield there


@contextmanager
def connections(port: int, n: int, said: bytes = b"") -> Iterator[list[socket.socket]]:
    """Keep connections open that say this and no more."""
    with ExitStack() as stack:
        made = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 10)) for _ in range(n)]
        for each in made:
            each.sendall(said)
        yield made


@pytest.mark.parametrize(
    "said", [b"", HEAD, b"GET /quick HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"], ids=["", "head", "idle"]
)
@attack(
    "local process",
    "keeps every connection of `serve` or `watch` busy with heads that it does not end, or with nothing",
    "each new one takes the place of the one that has waited longest, so that others are answered at once",
)
def test_who_says_nothing_keeps_nobody_out(port, said):
    with connections(port, 10 * MOST, said):
        began = time.monotonic()
        answers = [asked(port, "/quick")[2] for _ in range(3)]
        assert time.monotonic() - began < 5.0
    assert answers == ["here"] * 3


def test_no_more_connections_than_that_are_open(port):
    with connections(port, 10 * MOST, HEAD) as made:
        asked(port, "/quick")
        still_open = 0
        for each in made:
            each.settimeout(0.05)
            try:
                still_open += bool(each.recv(1))
            except TimeoutError:
                still_open += 1
            except ConnectionResetError:
                continue
    assert still_open <= MOST


def test_who_comes_when_all_are_being_answered_is_told_to_come_again(port):
    request = b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with connections(port, MOST, request) as made:
        time.sleep(0.2)
        status, headers, words = asked(port, "/quick")
        assert (status, headers["connection"]) == (503, "close")
        assert json.loads(words)["error"].startswith(f"{MOST} connections are open")
        for each in made:
            assert b"200 OK" in each.recv(1_000)
    assert asked(port, "/quick")[2] == "here"


def test_a_process_that_may_open_few_files_takes_few_connections(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100, 4_096))
    assert most_connections() == 50
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert most_connections() == MOST_CONNECTIONS


@contextmanager
def with_few_files(n: int, *command: object) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Start a command that may open so many files; yield its process, and what it says of itself."""
    words = ["bash", "-c", f'ulimit -n {n}; exec "$0" "$@"', sys.executable, "-m", "assistlearn", *map(str, command)]
    with subprocess.Popen([*words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


@attack(
    "local process",
    "opens more connections than `watch` or `serve` may open files",
    "they wait until files can be opened again, and go on",
)
def test_watch_goes_on_when_no_more_files_could_be_opened(tmp_path):
    with with_few_files(40, "watch", tmp_path / "run", "--no-open") as (process, said):
        address = urlsplit(said["address"])
        with connections(address.port, 150):
            time.sleep(1.5)
            assert process.poll() is None
            assert "There is no run yet" in asked(address.port, address.path)[2]
        assert "There is no run yet" in asked(address.port, address.path)[2]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[Served]:
    from tests.forked_agents import forked

    with forked(), served_run(trained(tmp_path_factory.mktemp("served"))) as made:
        yield made


@pytest.fixture(scope="module")
def open_port(service) -> Iterator[int]:
    """The same service without a token."""
    with served(service.service.application(None), lifespan="off") as there:
        yield there


def test_the_page_waits_while_no_file_can_be_opened(service, tmp_path):
    resource = pytest.importorskip("resource")
    for name in ("secret.json", "settings.json", "digests.txt"):
        shutil.copy(service.predictor.run.folder.path / name, tmp_path / name)
    failures: list[BaseException] = []
    feed = Feed(LiveRun(tmp_path), failures.append)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with served(watching(feed, "token")) as port:
        assert asked(port, "/token/")[0] == 200
        with ExitStack() as stack:
            stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
            time.sleep(0.5)
        assert (failures, feed.over) == ([], False)
        assert service.model in asked(port, "/token/")[2]


def ask(port: int, method: str = "GET", body: str | None = None, **headers: str) -> tuple[int, dict[str, object]]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    path = f"/predict?id={NEW[0]}" if method == "GET" else "/predict"
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    return answer.status, said


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors"},
        {"Origin": "https://example.org"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:3000"},
    ],
    ids=str,
)
@attack(
    "local process",
    "as a web page in the browser of somebody who reaches `serve --no-token`, asks for predictions",
    "refused by what the browser says of the page; contents as forms send them are refused as well",
)
def test_no_page_asks_a_service_that_needs_no_token(service, open_port, headers):
    before = service.predictor.run.ledger.path.stat().st_size
    assert ask(open_port, **headers)[0] == 403
    assert ask(open_port, "POST", json.dumps({"ids": NEW[:1]}), **headers)[0] == 403
    assert ask(open_port, "OPTIONS", **headers)[0] == 403
    assert service.predictor.run.ledger.path.stat().st_size == before


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded; charset=utf-8", "multipart/form-data"]
)
def test_a_content_as_forms_send_it_is_refused_where_no_token_is_needed(open_port, kind):
    status, said = ask(open_port, "POST", json.dumps({"ids": NEW[:1]}), Content_Type=kind)
    assert status == 415
    assert "Send application/json" in str(said["error"])


def test_programs_and_a_typed_address_are_answered_without_a_token(open_port):
    assert ask(open_port)[0] == 200
    assert ask(open_port, Sec_Fetch_Site="none")[0] == 200
    body = json.dumps({"ids": NEW[:1]})
    assert ask(open_port, "POST", body, Content_Type="application/json")[0] == 200
    assert ask(open_port, "POST", body)[0] == 200
