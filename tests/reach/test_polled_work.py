"""A site's work behind short calls: work is done once, one piece at a time, whoever asks, and however often."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from assistlearn.reach.flare.site.polled_work import PolledWork


class SlowWork:
    """Work that waits until it is let go, and notes who does what when."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, bytes]] = []
        self.at_once = self.most_at_once = 0
        self.let_go = threading.Event()
        self._guard = threading.Lock()

    def __call__(self, asker: str, request: bytes) -> bytes:
        with self._guard:
            self.begun.append((asker, request))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        assert self.let_go.wait(30)
        with self._guard:
            self.at_once -= 1
        return asker.encode() + b": " + request


def test_slow_work_is_said_to_be_under_way_and_then_done():
    work = SlowWork()
    polled = PolledWork(work, hold=0.05)
    assert polled.ask("bank", "1", b"hello") == ("working", b"")
    assert polled.ask("bank", "1", None) == ("working", b"")
    assert polled.ask("bank", "1", b"hello") == ("working", b"")
    work.let_go.set()
    patient = PolledWork(work, hold=30)
    assert patient.ask("bank", "1", b"hello") == ("done", b"bank: hello")
    while (said := polled.ask("bank", "1", None)) == ("working", b""):
        pass
    assert said == ("done", b"bank: hello")
    assert work.begun == [("bank", b"hello")] * 2  # once for each


def test_an_answer_can_be_fetched_again_and_again():
    work = SlowWork()
    work.let_go.set()
    polled = PolledWork(work, hold=30)
    for request in (b"hello", None, b"hello", None):
        assert polled.ask("bank", "1", request) == ("done", b"bank: hello")
    assert len(work.begun) == 1


def test_a_number_that_nobody_brought_is_unknown_and_so_is_another_askers():
    work = SlowWork()
    work.let_go.set()
    polled = PolledWork(work, hold=30)
    assert polled.ask("bank", "1", None) == ("unknown", b"")
    polled.ask("bank", "1", b"a secret")
    assert polled.ask("shop", "1", None) == ("unknown", b"")
    assert polled.ask("shop", "1", b"mine") == ("done", b"shop: mine")
    assert polled.ask("bank", "1", None) == ("done", b"bank: a secret")


def test_many_callers_of_one_number_get_one_answer_from_one_piece_of_work():
    work = SlowWork()
    polled = PolledWork(work, hold=30)
    with ThreadPoolExecutor(16) as pool:
        calls = [pool.submit(polled.ask, "bank", "7", b"x") for _ in range(16)]
        work.let_go.set()
        assert {call.result() for call in calls} == {("done", b"bank: x")}
    assert work.begun == [("bank", b"x")]


def test_one_piece_of_work_is_done_at_a_time_whoever_asks():
    work = SlowWork()
    polled = PolledWork(work, hold=0.02)
    names = [f"site-{i}" for i in range(8)]
    for name in names:
        assert polled.ask(name, "1", b"") == ("working", b"")
    work.let_go.set()
    waiting = set(names)
    while waiting:
        waiting -= {name for name in waiting if polled.ask(name, "1", None)[0] == "done"}
    assert (sorted(asker for asker, _ in work.begun), work.most_at_once) == (names, 1)


@given(st.lists(st.tuples(st.sampled_from(["bank", "shop"]), st.booleans()), max_size=30))
def test_whoever_asks_number_after_number_gets_each_done_once(steps):
    """As a site does: a number is asked for, with or without its request, until it is done; then comes the next."""
    begun: list[tuple[str, bytes]] = []

    def work(asker: str, request: bytes) -> bytes:
        begun.append((asker, request))
        return request[::-1]

    polled = PolledWork(work, hold=30)
    numbers = {"bank": 0, "shop": 0}
    brought: set[tuple[str, int]] = set()
    for asker, again in steps:
        number = numbers[asker] = numbers[asker] + (not again or numbers[asker] == 0)
        request = None if again and (asker, number) in brought else f"{asker} {number}".encode()
        brought.add((asker, number))
        assert polled.ask(asker, str(number), request) == ("done", f"{asker} {number}".encode()[::-1])
    assert sorted(begun) == sorted((asker, f"{asker} {number}".encode()) for asker, number in brought)
