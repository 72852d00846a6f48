"""A server in a thread of the test, and requests to it with any headers that one likes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from time import monotonic, sleep
from typing import Any

from assistlearn.web.live import Feed, Watched, watching
from assistlearn.web.server import WebServer, listening, port_of
from tests.web.event_stream import EventStream

PATIENCE = 20.0
TOKEN = "a-token-for-tests"


@contextmanager
def served(app: Any, buffer: int | None = None, **settings: Any) -> Iterator[int]:
    """Serve an application, and return its port; ``buffer`` is how many bytes the system keeps for one who is slow."""
    listens = listening()
    if buffer is not None:
        listens.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    port = port_of(listens)
    server = WebServer(app, listens, **settings)
    thread = threading.Thread(target=server.run_until_stopped)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        yield port
    finally:
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server does not stop"


def asked(port: int, path: str = "/", **headers: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers and text of what a server answers; ``Host`` is as told, or loopback."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest("GET", path, skip_host=True)
        for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items():
            if value:
                connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


def wait_until(true: Any, seconds: float = PATIENCE) -> None:
    """Wait until something is true; fail after a while."""
    end = monotonic() + seconds
    while not true():
        assert monotonic() < end, "it did not come true in time"
        sleep(0.02)


@contextmanager
def shown(watched: Watched, buffer: int | None = None) -> Iterator[int]:
    """Serve the page of a run or an agent, and return its port."""
    feed = Feed(watched)
    with served(watching(feed, TOKEN), buffer=buffer, stopping=feed.stop) as port:
        yield port


def address(port: int) -> str:
    return f"http://127.0.0.1:{port}/{TOKEN}/"


def stream(port: int) -> EventStream:
    return EventStream(port, f"/{TOKEN}/events")
