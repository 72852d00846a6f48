"""A relay and a site as services: started once, watched, alive on a full disk, started anew when they hang."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from assistlearn.reach.flare.local import LocalNetwork
from assistlearn.reach.flare.provisioning.kit import Kit, load_kit
from assistlearn.reach.flare.site.health import _said
from assistlearn.reach.flare.site.relay_contact import knock
from assistlearn.reach.flare.site.site_lock import holder
from tests.reach.small_disk import SmallDisk, small_disk

pytestmark = pytest.mark.network

SILENCE, WATCHDOG = 6.0, 4.0
PROGRAM = f"""
import sys
from assistlearn.reach.flare.site import health, watch
health.SILENCE = watch.SILENCE = {SILENCE}
watch.LOOK = 0.5
from assistlearn.cli import run
sys.exit(run(sys.argv[1:]))
"""
"""The program itself, but for its patience."""


def until(wanted: Callable[[], Any], seconds: float = 240.0) -> Any:
    """Wait until something is the case, and return it."""
    end = time.monotonic() + seconds
    while not (found := wanted()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.1)
    return found


def assistlearn(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run([sys.executable, "-m", "assistlearn", *map(str, words)], capture_output=True, text=True)


def status(kit: Path) -> dict[str, Any]:
    return json.loads(assistlearn("site", "status", "--json", kit).stdout)


def call(kit: Kit) -> bytes:
    """Connect to the relay as FLARE does, hang up, and return the relay's first words; its log tells of both."""
    context = ssl.create_default_context(cafile=str(kit.authority))
    context.load_cert_chain(kit.certificate, kit.key)
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + "A" * 22
    with (
        socket.create_connection((kit.host, kit.port), 10) as plain,
        context.wrap_socket(plain, server_hostname=kit.host) as secure,
    ):
        secure.sendall(f"GET /f3 HTTP/1.1\r\nHost: {kit.host}\r\n{upgrade}==\r\n\r\n".encode())
        return secure.recv(4096)


class Systemd:
    """The socket that systemd gives its services."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "notify"
        self._end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._end.bind(str(self.path))
        self._end.setblocking(False)

    def heard(self) -> list[str]:
        """Return the facts that came since this was asked last."""
        found = []
        while True:
            try:
                found += self._end.recv(4096).decode().split("\n")
            except BlockingIOError:
                return found

    def close(self) -> None:
        self._end.close()


class Service:
    """``assistlearn site start`` in a process of its own, as a service."""

    def __init__(self, kit: Kit, systemd: Systemd, *words: str | Path, **options: Any) -> None:
        environment = os.environ | {"NOTIFY_SOCKET": str(systemd.path), "WATCHDOG_USEC": str(int(WATCHDOG * 1e6))}
        command = [sys.executable, "-c", PROGRAM, "site", "start", str(kit.folder), *map(str, words)]
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | options
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, **options)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(60)


class World:
    """The kits of a network, with that of the relay on a disk which can be full, and a service that runs the relay."""

    def __init__(self, folder: Path, disk: SmallDisk) -> None:
        self.disk = disk
        self.systemd = Systemd(folder)
        agent = folder / "shop.toml"
        agent.write_text(
            'name = "shop"\ntable = "shop.csv"\nid = "id"\nlabel = "y"\n[learner]\n'
            'kind = "sklearn.tree.DecisionTreeClassifier"\n'
        )
        (folder / "shop.csv").write_text("id,x,y\na,1,yes\nb,2,no\n")
        self.agent = agent
        network = LocalNetwork(folder, {"shop": agent, "bank": agent})
        subprocess.run(["cp", "-r", str(network.kit("relay")), str(disk.path / "relay")], check=True)
        self.relay, self.shop = load_kit(disk.path / "relay"), load_kit(network.kit("shop"))
        self.service = Service(self.relay, self.systemd, "--quiet")


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    with small_disk(folder / "disk", "2m") as disk:
        made = World(folder, disk)
        try:
            until(lambda: "READY=1" in made.systemd.heard())
            yield made
        finally:
            made.service.stop()
            made.systemd.close()


def test_status_says_that_a_relay_is_well_in_words_and_for_scripts(world):
    asked = assistlearn("site", "status", world.relay.folder)
    assert asked.returncode == 0
    assert f"The relay {world.relay.name}: the relay listens" in asked.stdout
    found = status(world.relay.folder)
    assert (found["healthy"], found["pid"], found["starts"], found["jobs"]) == (True, world.service.process.pid, 1, [])
    assert found["silent"] < SILENCE
    assert Path(f"/proc/{found['flare']}").exists()
    assert found["last_line"] in (world.relay.folder / "site.log").read_text()


def test_systemd_is_told_in_time_again_and_again_that_the_relay_lives(world):
    world.systemd.heard()
    for _ in range(3):
        until(lambda: "WATCHDOG=1" in world.systemd.heard(), 3 * WATCHDOG)  # others may use this machine, too


def test_a_kit_that_runs_is_not_started_twice(world):
    second = assistlearn("site", "start", world.relay.folder)
    assert second.returncode == 3
    assert f"is already running with this kit, as process {world.service.process.pid}" in second.stderr
    assert status(world.relay.folder)["healthy"]


def test_flare_writes_no_logs_of_its_own_that_would_grow(world):
    assert {path.name for path in world.relay.folder.iterdir()} <= {
        *("startup", "local", "transfer", "readme.txt", "jobs", "snapshots", "sockets"),
        *("site.log", "site.lock", "status.json", "audit.log"),
    }


def test_a_relay_on_a_full_disk_goes_on_and_says_later_what_its_log_has_missed(world):
    """What it says meanwhile is more than its pipe holds: a pump that had died would have stopped it for good."""
    log = world.relay.folder / "site.log"
    size = log.stat().st_size
    call(world.shop)
    until(lambda: log.read_text().endswith(f"is closed PID: {status(world.relay.folder)['flare']}\n"))
    said = log.stat().st_size - size
    world.disk.fill()
    for _ in range(2 * 2**16 // said):
        assert b"101 Switching" in call(world.shop)
    world.systemd.heard()
    until(lambda: "WATCHDOG=1" in world.systemd.heard(), 3 * WATCHDOG)
    world.disk.make_room()
    call(world.shop)
    until(lambda: "No space left on device" in log.read_text())
    until(lambda: status(world.relay.folder)["lost_lines"] > 50)
    assert status(world.relay.folder)["healthy"]


def test_a_process_that_hangs_is_not_said_to_live_and_is_started_anew(world):
    before = status(world.relay.folder)
    os.kill(before["flare"], signal.SIGSTOP)
    until(lambda: _said(world.relay.folder).flare is None)  # it is being stopped: SIGTERM first, which it does not get
    world.systemd.heard()
    time.sleep(WATCHDOG)
    assert "WATCHDOG=1" not in world.systemd.heard()
    until(lambda: "WATCHDOG=1" in world.systemd.heard())
    after = status(world.relay.folder)
    assert (after["starts"], after["pid"]) == (2, before["pid"])
    assert after["flare"] != before["flare"]
    assert knock(world.shop)
    log = (world.relay.folder / "site.log").read_text()
    assert f"assistlearn: FLARE's process {before['flare']} has given no sign of life for" in log


def test_a_relay_that_was_killed_is_said_not_to_run_and_starts_again_without_what_was_left(world):
    """Its screen is closed this time; it ends in good order all the same."""
    flare = status(world.relay.folder)["flare"]
    world.service.process.kill()
    world.service.process.wait()
    until(lambda: not Path(f"/proc/{flare}").exists())
    asked = assistlearn("site", "status", world.relay.folder)
    assert asked.returncode == 3
    assert "does not run" in asked.stdout
    left = [world.relay.folder / str(uuid.uuid4()), world.relay.folder / "jobs" / str(uuid.uuid4())]
    for folder in left:
        folder.mkdir(parents=True)
    world.systemd.heard()
    world.service = Service(world.relay, world.systemd, stdout=subprocess.PIPE)
    assert world.service.process.stdout is not None
    world.service.process.stdout.readline()
    world.service.process.stdout.close()
    until(lambda: "READY=1" in world.systemd.heard())
    assert not any(folder.exists() for folder in left)
    assert knock(world.shop)
    assert world.service.stop() == 0
    assert "STOPPING=1" in world.systemd.heard()
    assert holder(world.relay.folder) is None


def test_a_site_without_its_relay_lives_and_is_said_not_to_be_connected(world, tmp_path):
    """The relay is stopped. Starting the site anew would not help, so it is left alone."""
    systemd = Systemd(tmp_path)
    world.service.stop()
    service = Service(world.shop, systemd, "--quiet", "--agent", world.agent)
    try:
        until(lambda: "READY=1" in systemd.heard())
        time.sleep(SILENCE + 2)
        found = status(world.shop.folder)
        assert (found["healthy"], found["connected"], found["starts"]) == (False, False, 1)
        assert found["words"] == "not connected to the relay"
        assert "WATCHDOG=1" in systemd.heard()
        world.service = Service(world.relay, world.systemd, "--quiet")
        until(lambda: status(world.shop.folder)["healthy"])
        assert status(world.shop.folder)["starts"] == 1
        world.service.stop()
        until(lambda: not status(world.shop.folder)["healthy"])
    finally:
        assert service.stop() == 0
        systemd.close()
