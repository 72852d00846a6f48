"""A way that stays open is opened again when it breaks, and never keeps anybody waiting who did not ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from assistlearn.errors import RefusedError, UnreachableError
from assistlearn.protocol import MemoryTransport
from assistlearn.reach import standing_way, standing_ways
from assistlearn.reach.standing_way import FIRST_WAIT, LEAST_WAIT, MOST_WAIT, StandingWay
from assistlearn.reach.standing_ways import StandingWays


class Line:
    """A helper that can be cut off, and how often it was reached."""

    def __init__(self) -> None:
        self.cut = False
        self.opened = self.closed = 0

    @contextmanager
    def open(self) -> Iterator[MemoryTransport]:
        if self.cut:
            raise UnreachableError("The line is cut.")
        self.opened += 1
        try:
            yield MemoryTransport({"lab": self.answer})
        finally:
            self.closed += 1

    def answer(self, request: bytes) -> bytes:
        if self.cut:
            raise UnreachableError("The line is cut.")
        return request.upper()


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def way(line) -> Iterator[StandingWay]:
    made = StandingWay("lab", line.open, lambda: made.ask(b"hello"), soonest=0.01, latest=0.04)
    made.start()
    assert made.wait(5) == ""
    yield made
    made.close()
    assert made.join(5)
    assert line.opened == line.closed


def asked(way: StandingWay) -> bytes:
    return way.submit(lambda: way.ask(b"a vote")).result(5)


def until_free(way: StandingWay) -> None:
    until = time.monotonic() + 5
    while not way.open:
        assert time.monotonic() < until
        time.sleep(0.005)


def test_it_is_opened_once_for_many_requests(way, line):
    assert [asked(way) for _ in range(10)] == [b"A VOTE"] * 10
    assert line.opened == 1


def test_one_that_breaks_says_so_and_is_opened_again_as_soon_as_it_can_be(way, line):
    line.cut = True
    with pytest.raises(UnreachableError, match="The line is cut"):
        asked(way)
    with pytest.raises(UnreachableError, match="It is being reached again"):
        asked(way)
    assert not way.open
    line.cut = False
    until_free(way)
    assert asked(way) == b"A VOTE"
    assert line.opened == 2


def test_it_is_not_tried_without_a_pause(line):
    line.cut = True
    tries = []
    cut = line.open

    def opened():
        tries.append(time.monotonic())
        return cut()

    way = StandingWay("lab", opened, lambda: None, soonest=0.02, latest=0.08)
    way.start()
    assert "The line is cut" in way.wait(5)
    time.sleep(0.4)
    way.close()
    assert way.join(5)
    pauses = [after - before for before, after in pairwise(tries)]
    assert 3 <= len(tries) <= 9
    assert all(pause >= least for pause, least in zip(pauses, [0.02, 0.04, *[0.08] * 9], strict=False))


def test_a_refusal_breaks_nothing(way, line):
    def refused() -> bytes:
        raise RefusedError("No.")

    with pytest.raises(RefusedError):
        way.submit(refused).result(5)
    assert asked(way) == b"A VOTE"
    assert line.opened == 1


def test_a_greeting_that_is_refused_is_an_answer_all_the_same(line):
    def refused() -> None:
        raise RefusedError("I do not work for you.")

    way = StandingWay("lab", line.open, refused)
    way.start()
    assert way.wait(5) == ""
    way.close()
    assert way.join(5)


def test_who_asks_while_it_is_busy_is_told_at_once(way):
    go_on = threading.Event()
    slow = way.submit(lambda: go_on.wait(5))
    begun = time.monotonic()
    with pytest.raises(UnreachableError, match="has not answered an earlier request"):
        asked(way)
    assert time.monotonic() - begun < 0.5
    go_on.set()
    assert slow.result(5)
    assert asked(way) == b"A VOTE"


def test_a_fault_reaches_who_asked_and_breaks_nothing(way):
    with pytest.raises(ZeroDivisionError):
        way.submit(lambda: 1 // 0).result(5)
    assert asked(way) == b"A VOTE"


def test_one_that_gets_slower_and_slower_is_not_waited_for_longer_and_longer(way, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(standing_way.time, "monotonic", lambda: now[0])

    def slowly() -> None:
        now[0] += 3.9 * way.waited_for  # just in time, so that it is not given up

    waits = []
    for _ in range(6):
        way.submit(slowly).result(5)
        waits.append(way.waited_for)
    assert waits[-1] == max(waits) == MOST_WAIT


def test_one_is_waited_for_as_long_as_it_was_slow_lately(way):
    assert way.waited_for == FIRST_WAIT
    asked(way)
    assert way.waited_for == LEAST_WAIT
    way.submit(lambda: time.sleep(0.4)).result(5)
    assert way.waited_for >= 4 * 0.4
    for _ in range(30):
        asked(way)
    assert way.waited_for == LEAST_WAIT


def test_a_closed_one_stays_closed(line):
    way = StandingWay("lab", line.open, lambda: None)
    way.start()
    way.wait(5)
    way.close()
    assert way.join(5)
    with pytest.raises(UnreachableError):
        asked(way)
    assert (line.opened, line.closed) == (1, 1)


def test_many_that_hang_are_waited_for_together_and_named(line, monkeypatch):
    monkeypatch.setattr(standing_ways, "CLOSING", 0.3)
    go_on, hanging = threading.Event(), [f"lab-{number}" for number in range(10)]
    ways = StandingWays(None, None)
    for name in ("first", *hanging, "last"):
        ways._ways[name] = StandingWay(name, line.open, lambda: None)
        ways[name].start()
        assert ways[name].wait(5) == ""
    for name in hanging:
        ways[name].submit(lambda: go_on.wait(30))
    begun = time.monotonic()
    late = ways.close()
    assert time.monotonic() - begun < 1.5
    assert late == hanging
    go_on.set()
    assert all(way.join(5) for way in ways.values())
