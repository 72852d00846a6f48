"""The stream of a run: what comes, where it goes on, and what becomes of watchers that are slow, many or late."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from time import monotonic

from assistlearn.events import Asked, RoundFinished
from assistlearn.initiator.folder import locked
from assistlearn.web.live import Feed, LiveRun
from assistlearn.web.live import stream as watcher_stream
from tests.initiator.digests import rewrite
from tests.web.serving import TOKEN, asked, shown, stream


def test_a_fact_comes_within_a_second_and_the_page_says_up_to_where_it_goes(begun):
    log = begun.log()
    with shown(LiveRun(begun.path)) as port, stream(port) as events:
        events.until(lambda told: told.kind == "page")
        seconds = []
        for number in (1, 2, 3):
            begins = monotonic()
            log.append(RoundFinished(number, 0.7 + number / 100))
            wanted = f"{70 + number}.0 % of the hold-out"
            told = events.until(lambda told: wanted in told.facts.get("body", ""))  # noqa: B023
            seconds.append(told.at - begins)
            assert told.facts["place"] == begun.events.stat().st_size
    assert median(seconds) < 1.0  # every one, on a machine that does nothing else


def test_whoever_comes_back_is_told_the_newest_page_at_once(begun):
    log = begun.log()
    with shown(LiveRun(begun.path)) as port:
        with stream(port) as events:
            events.until(lambda told: "Now" in told.facts.get("body", ""))
        log.append(RoundFinished(1, 0.5))
        with stream(port) as events:
            events.until(lambda told: "50.0 % of the hold-out" in told.facts.get("body", ""))
        with stream(port) as events:
            assert "50.0 % of the hold-out" in next(iter(events)).facts["body"]


def test_all_watchers_are_told_the_same(begun):
    log = begun.log()
    with shown(LiveRun(begun.path)) as port, stream(port) as one, stream(port) as two, stream(port) as three:
        log.append(Asked("lab", "open", 12))
        found = [events.until(lambda told: "12 bytes" in str(told.facts)) for events in (one, two, three)]
        assert len({told.facts["body"] for told in found}) == 1


def test_a_watcher_that_does_not_read_holds_up_nobody(begun):
    log = begun.log()
    with shown(LiveRun(begun.path), buffer=4096) as port, stream(port) as quick, socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.settimeout(20)
        slow.connect(("127.0.0.1", port))
        slow.sendall(f"GET /{TOKEN}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        for number in (1, 2, 3):
            for _ in range(100):
                log.append(RoundFinished(number, number / 10))
            quick.until(lambda told: f"Round {number} is over" in str(told.facts))  # noqa: B023
        said = b""
        while b"Round 3 is over" not in said:
            said += slow.recv(65536)


def test_what_was_overtaken_is_not_kept_for_a_watcher_that_is_slow(begun):
    log = begun.log()

    async def watch_slowly() -> list[str]:
        feed = Feed(LiveRun(begun.path))
        feed.start()
        try:
            events = watcher_stream(feed)
            told = [await anext(events) for _ in range(2)]  # how long to wait before trying again, and the page
            number = 0
            for round in range(1, 6):
                log.append(RoundFinished(round, round / 10))
                while f"Round {round} is over" not in (await feed.newest(number, 5.0)).body:
                    number = (await feed.newest(number, 5.0)).number
            return [*told, await anext(events)]
        finally:
            feed.stop()
            feed.join()

    with ThreadPoolExecutor(1) as other:  # in this thread, Playwright may have a loop of its own
        *_, newest = other.submit(lambda: asyncio.run(watch_slowly())).result(30.0)
    assert newest.startswith("event: page\n")
    assert all(f"Round {round} is over" in newest for round in range(1, 6))


def test_the_page_is_whole_without_the_stream(begun):
    begun.log().append(RoundFinished(1, 0.25))
    with shown(LiveRun(begun.path)) as port:
        status, headers, text = asked(port, f"/{TOKEN}/")
        assert status == 200
        assert "25.0 % of the hold-out" in text
        assert "default-src 'none'" in headers["content-security-policy"]
        assert asked(port, f"/{TOKEN}/live.js")[1]["content-type"].startswith("text/javascript")
        assert asked(port, f"/{TOKEN}/../secret.json")[0] == 404


def test_the_page_says_whether_anybody_works_on_the_run(begun, finished_run):
    def conditions(events, *wanted):
        return [events.until(lambda told: told.facts.get("condition") == each).facts["words"] for each in wanted]  # noqa: B023

    log = begun.log()
    with shown(LiveRun(begun.path)) as port, stream(port) as events:
        conditions(events, "waiting")
        with _work(begun.path):
            log.append(RoundFinished(1, 0.5))
            assert "1 round and 0 turns are done" in conditions(events, "running")[0]
        assert "Nobody works on it" in conditions(events, "stopped")[0]
        with _work(begun.path):
            conditions(events, "resumed")
            rewrite(begun.path, "result.json", (finished_run / "result.json").read_bytes())
            conditions(events, "ended")


@contextmanager
def _work(folder):
    """Have a folder alone in another process, as a command that trains."""
    context = multiprocessing.get_context("fork")
    ready, done = context.Event(), context.Event()

    def have():
        with locked(folder, alone=True):
            ready.set()
            done.wait(60)

    process = context.Process(target=have)
    process.start()
    assert ready.wait(20)
    yield
    done.set()
    process.join(20)
