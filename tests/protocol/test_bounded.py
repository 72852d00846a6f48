"""Work that never comes back does not keep anybody waiting."""

from __future__ import annotations

import threading
import time

import pytest

from assistlearn.protocol.codec import within


def test_what_takes_too_long_is_given_up():
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.2 s"):
        within(0.2, threading.Event().wait)
    assert time.monotonic() - begun < 5


def test_what_fails_says_why_to_whoever_waits():
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 / 0)
