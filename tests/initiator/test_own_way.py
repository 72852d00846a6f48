"""The way to the initiator's own agent: it gives up when the agent takes too long, and asks again when it is done."""

from __future__ import annotations

import threading

import pytest

from assistlearn.errors import UnreachableError
from assistlearn.initiator.run import OwnTransport

LONG = 30.0
"""Seconds that no test needs, unless it fails."""


class Slow:
    """An agent that works on its first request until it is let go; it must never work on two at a time."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.finished = threading.Event()
        self.heard: list[bytes] = []

    def __call__(self, request: bytes) -> bytes:
        self.heard.append(request)
        if len(self.heard) == 1:
            self.let_go.wait(LONG)
            self.finished.set()
        return request.upper()


def test_an_agent_that_is_still_at_work_is_asked_nothing_else():
    slow = Slow()
    way = OwnTransport("clinic", slow, 0.05)
    for request in (b"one", b"two"):
        with pytest.raises(UnreachableError, match=r"'clinic', this organisation's own, has not answered for 0\.05"):
            way.ask("clinic", request)
    assert slow.heard == [b"one"]
    slow.let_go.set()


def test_an_agent_that_has_finished_late_is_asked_again():
    slow = Slow()
    way = OwnTransport("clinic", slow, 0.05)
    with pytest.raises(UnreachableError):
        way.ask("clinic", b"one")
    slow.let_go.set()
    assert slow.finished.wait(LONG)
    for thread in threading.enumerate():
        if thread.name == "own agent":
            thread.join(LONG)
    way._seconds = LONG  # the machine may be busy
    assert way.ask("clinic", b"one") == b"ONE"
    assert way.ask("clinic", b"two") == b"TWO"


def test_an_error_of_the_agent_is_passed_on_and_the_next_request_is_answered():
    def picky(request: bytes) -> bytes:
        if request == b"bad":
            raise ValueError("no")
        return request

    way = OwnTransport("clinic", picky, LONG)
    with pytest.raises(ValueError, match="no"):
        way.ask("clinic", b"bad")
    assert way.ask("clinic", b"good") == b"good"
