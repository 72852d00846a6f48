"""What systemd hears of a site, at a real socket of the kind that it gives."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from assistlearn.reach.flare.site.service_manager import ServiceManager


@pytest.fixture(params=["a path", "an abstract name"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A socket as systemd makes it, and what ``NOTIFY_SOCKET`` then says."""
    name = f"@assistlearn-{secrets.token_hex(8)}" if request.param == "an abstract name" else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind("\0" + name[1:] if name.startswith("@") else name)
        end.setblocking(False)
        yield end, name


def heard(end: socket.socket) -> list[list[str]]:
    found = []
    while True:
        try:
            found.append(end.recv(4096).decode().split("\n"))
        except BlockingIOError:
            return found


def test_systemd_hears_ready_once_then_signs_twice_in_each_period_at_least_and_the_end(systemd):
    end, name = systemd
    now = 0.0
    manager = ServiceManager({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "8000000"}, lambda: now)
    manager.lives("connected to the relay")
    assert heard(end) == [["READY=1", "STATUS=connected to the relay"], ["WATCHDOG=1", "STATUS=connected to the relay"]]
    signs = []
    for second in range(1, 41):
        now = second / 2
        manager.lives("not connected to the relay")
        signs += [(now, fact) for fact in heard(end)]
    assert [fact for _, fact in signs] == [["WATCHDOG=1", "STATUS=not connected to the relay"]] * len(signs)
    times = [0.0, *(at for at, _ in signs)]
    assert max(b - a for a, b in pairwise(times)) <= 4.0
    manager.stops()
    assert heard(end) == [["STOPPING=1"]]


def test_without_a_watchdog_only_the_beginning_and_the_end_are_told(systemd):
    end, name = systemd
    manager = ServiceManager({"NOTIFY_SOCKET": name})
    for _ in range(5):
        manager.lives("well")
    manager.stops()
    assert [facts[0] for facts in heard(end)] == ["READY=1", "STOPPING=1"]


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "1000000"}])
def test_without_systemd_or_when_it_is_gone_a_site_goes_on(environment):
    manager = ServiceManager(environment)
    manager.lives("well")
    manager.stops()
