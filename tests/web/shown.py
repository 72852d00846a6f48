"""The page of a run or an agent, served by a thread of the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assistlearn.web.live import Feed, Watched, watching
from tests.web.event_stream import EventStream
from tests.web.serving import served

TOKEN = "a-token-for-tests"


@contextmanager
def shown(watched: Watched, buffer: int | None = None) -> Iterator[int]:
    """Serve the page of something, and return its port."""
    feed = Feed(watched)
    with served(watching(feed, TOKEN), buffer=buffer, stopping=feed.stop) as port:
        yield port


def address(port: int) -> str:
    return f"http://127.0.0.1:{port}/{TOKEN}/"


def stream(port: int, after: int = 0, log: int = 0, last: str = "") -> EventStream:
    return EventStream(port, f"/{TOKEN}/events?log={log}&after={after}", last)
