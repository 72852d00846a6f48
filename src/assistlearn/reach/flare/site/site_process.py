"""A site, or the relay, in the foreground: FLARE's process as a child, watched, its log on the screen and in a file."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.carrying.command_socket import notes_folder
from assistlearn.reach.flare.carrying.private_folder import sweep_folders, sweep_notes
from assistlearn.reach.flare.guard.processes import command
from assistlearn.reach.flare.installed import require_flare
from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.reach.flare.site.environment import AGENT_FILE, COMMANDS, KIT, SITE
from assistlearn.reach.flare.site.job_folders import sweep_all
from assistlearn.reach.flare.site.log_pump import LogPump
from assistlearn.reach.flare.site.rotating_log import RotatingLog
from assistlearn.reach.flare.site.settling import settle
from assistlearn.reach.flare.site.signs import Signs
from assistlearn.reach.flare.site.site_lock import SiteLock
from assistlearn.reach.flare.site.watch import Watch

STOPPING = 10.0
"""Seconds that FLARE's processes have to end by themselves."""

RESTARTS = 5
"""How often a process that dies is started again, at the most within ``PERIOD`` seconds."""

PERIOD = 600.0

PARENT_DEATH_SIGNAL = 1
"""The number of Linux's option ``PR_SET_PDEATHSIG`` of ``prctl``."""

_LIBRARY = ctypes.CDLL(None)  # loaded before any fork


def run_site(kit: Kit, agent_file: Path | None, on_log_line: Callable[[str], None] | None = None) -> int:
    """Run a site or the relay until it is told to stop (SIGTERM, Ctrl-C), and return its exit code.

    A process of FLARE that dies, or gives no sign of life any more, is started again. A kit runs only once at a time.

    Parameters
    ----------
    kit : Kit
        The kit of a site or of the relay.
    agent_file : path or None
        The organisation's agent file; None for the relay.
    on_log_line : callable, optional
        Gets every line of the log.
    """
    require_flare()
    with SiteLock(kit):
        settle(kit)
        sweep_all(kit.folder)
        sweep_notes(notes_folder(kit.folder))
        sweep_folders()
        return _run(kit, agent_file, on_log_line)


def _run(kit: Kit, agent_file: Path | None, on_log_line: Callable[[str], None] | None) -> int:
    stopping = threading.Event()
    previous = {number: signal.signal(number, lambda *_: stopping.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    watch = Watch(kit)
    starts: list[float] = []
    try:
        while not stopping.is_set():
            starts = [at for at in starts if time.monotonic() - at < PERIOD]
            if len(starts) > RESTARTS:
                raise NetworkError(
                    f"FLARE's process of {kit.name!r} has ended {len(starts)} times in ten minutes. Its log says why: "
                    f"{kit.folder / 'site.log'}"
                )
            starts.append(time.monotonic())
            _run_once(kit, agent_file, stopping, watch, on_log_line)
    finally:
        watch.close()
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0


def command_of(kit: Kit) -> list[str]:
    """Return the command that starts FLARE for a kit."""
    configuration = "fed_server.json" if kit.kind == "relay" else "fed_client.json"
    named = [] if kit.kind == "relay" else [f"uid={kit.name}"]
    org = "relay" if kit.kind == "relay" else kit.name.replace("-", "_")
    return [
        *(*command("relay" if kit.kind == "relay" else "site"), "-m", str(kit.folder), "-s", configuration),
        *("--set", "secure_train=true", "config_folder=config", f"org={org}", *named),
    ]


def environment_of(kit: Kit, agent_file: Path | None) -> dict[str, str]:
    """Return the environment of a site's processes, those of its jobs included."""
    environment = os.environ | {
        SITE: kit.name,
        KIT: str(kit.folder),
        COMMANDS: str(notes_folder(kit.folder)),
        "PYTHONSAFEPATH": "1",
    }
    environment.pop(AGENT_FILE, None)
    if agent_file is not None:
        environment[AGENT_FILE] = str(agent_file.resolve())
    return environment


def _run_once(
    kit: Kit,
    agent_file: Path | None,
    stopping: threading.Event,
    watch: Watch,
    on_log_line: Callable[[str], None] | None,
) -> None:
    signs = Signs()
    log = RotatingLog(kit.folder / "site.log")
    process = subprocess.Popen(  # noqa: S603  FLARE, installed with us, on a kit that the user named
        command_of(kit),
        cwd=kit.folder,
        env=environment_of(kit, agent_file) | signs.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
        preexec_fn=_die_with_parent if sys.platform == "linux" else None,
    )
    assert process.stdout is not None
    pump = LogPump(process.stdout, log.write, on_log_line, signs.take)
    pump.start()
    watch.begin(process.pid, signs, pump)
    try:
        while process.poll() is None and not stopping.wait(0.2):
            if watch.look():
                break
    finally:
        watch.end(process.poll(), stopping.is_set())
        _stop(process)
        pump.join(STOPPING)
        log.close()


def _die_with_parent() -> None:
    """Ask the kernel to end this process when ``site start`` is killed: nobody would be left to stop it."""
    _LIBRARY.prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and its process group; an agent's work can be repeated."""
    for number, seconds in ((signal.SIGTERM, STOPPING), (signal.SIGKILL, STOPPING)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            process.poll()
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)
