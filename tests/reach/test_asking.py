"""Short calls, large messages in pieces, lost calls: the answer arrives whole, and the work is done once."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from assistlearn.reach.flare.carrying import asking as asking_module
from assistlearn.reach.flare.carrying.asking import Asking
from assistlearn.reach.flare.carrying.command_socket import Errand
from assistlearn.reach.flare.carrying.pieces import PIECE, Arrivals
from assistlearn.reach.flare.site.polled_work import PolledWork


class Site:
    """A site that cannot be reached well: calls and replies are lost, as often as it is told."""

    def __init__(self, losses, hold=10.0):
        self._arrivals = Arrivals()
        self.done = []
        self._polled = PolledWork(self._work, hold)
        self._losses = losses
        self.calls = 0

    def _work(self, asker, request):
        self.done.append(request)
        return request[::-1] * 2

    def __call__(self, timeout, secure):
        assert timeout > 0
        return self

    def _lossy(self, do):
        self.calls += 1
        lost = self._losses.pop() if self._losses else ""
        if lost == "call":
            raise TimeoutError
        result = do()
        if lost == "reply":
            raise TimeoutError
        return result

    def ask(self, number, request):
        def do():
            state, answer = self._polled.ask("bank", number, request or self._arrivals.take("bank", number))
            return [state, len(answer), answer[:PIECE]]

        return self._lossy(do)

    def bring(self, number, at, total, piece):
        return self._lossy(lambda: self._arrivals.bring("bank", number, at, total, piece))

    def fetch(self, number, start):
        return self._lossy(lambda: self._polled.ask("bank", number, None)[1][start : start + PIECE])


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(asking_module, "PAUSE", 0.0)


@settings(max_examples=30, deadline=None)
@given(
    size=st.sampled_from([1, 20, PIECE // 2, PIECE, PIECE + 1, 3 * PIECE + 7]),
    losses=st.lists(st.sampled_from(["", "call", "reply"]), max_size=12),
)
def test_whatever_is_lost_the_answer_is_whole_and_the_work_done_once(size, losses):
    asking_module.PAUSE = 0.0
    request = random.Random(size).randbytes(size)
    site = Site(list(losses))
    outcomes = list(Asking(site, Errand("shop", "1", 60.0, request), True).outcomes())
    assert [outcome.state for outcome in outcomes[:-1]] == ["working"] * (len(outcomes) - 1)
    assert (outcomes[-1].state, outcomes[-1].content) == ("done", request[::-1] * 2)
    assert site.done == [request]


def test_a_small_question_takes_one_call():
    site = Site([])
    list(Asking(site, Errand("shop", "1", 60.0, b"x" * (PIECE // 2)), True).outcomes())
    assert site.calls == 1


def test_slow_work_gives_signs_of_life():
    site = Site([], hold=0.0)
    outcomes = list(Asking(site, Errand("shop", "1", 60.0, b"hello"), True).outcomes())
    assert outcomes[-1].content == b"olleholleh"


def test_a_silent_site_is_given_up_after_as_long_as_the_errand_says():
    site = Site(["call"] * 10_000_000)
    with pytest.raises(TimeoutError):
        list(Asking(site, Errand("shop", "1", 0.05, b"hello"), True).outcomes())
    assert site.done == []


def test_another_request_of_the_same_asker_replaces_one_that_never_came_whole():
    arrivals = Arrivals()
    arrivals.bring("bank", "1", 0, 10, b"abc")
    assert arrivals.bring("bank", "2", 0, 3, b"xyz") == 3
    assert arrivals.take("bank", "1") is None
    assert arrivals.take("bank", "2") == b"xyz"
    assert arrivals.take("bank", "2") is None
