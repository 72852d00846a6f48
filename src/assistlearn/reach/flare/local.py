"""A whole network on this machine: a relay and sites on loopback, each in its own processes, with real certificates."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.carrying.control import Control, missing
from assistlearn.reach.flare.provisioning.kit import ADMIN, load_kit
from assistlearn.reach.flare.provisioning.network_file import Network
from assistlearn.reach.flare.provisioning.provision import RELAY, create_kits
from assistlearn.storage import appending, private_folder

STARTING = 180.0
"""Seconds until all sites must be connected."""

STOPPING = 25.0
"""Seconds that a site has to end by itself."""


class LocalNetwork:
    """Makes kits and runs a relay and sites; use it in a ``with`` block, at whose end everything is stopped.

    Parameters
    ----------
    folder : path
        Where the kits go, in ``folder/kits``; kits that are there already are used again.
    agent_files : mapping of str to path
        The organisations and their agent files; the first is the initiator.
    command : sequence of str, optional
        What starts a site or the relay, given a kit; by default this program's ``site start``.
    """

    def __init__(self, folder: Path, agent_files: Mapping[str, Path], command: Sequence[str] | None = None) -> None:
        self.folder = folder
        self._agent_files = dict(agent_files)
        self._command = list(command or (sys.executable, "-P", "-m", "assistlearn", "site", "start", "--quiet"))
        self.initiator = next(iter(agent_files))
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        if not (folder / "kits").exists():
            network = Network("local", "localhost", tuple(agent_files), self.initiator, free_port())
            create_kits(network, folder / "kits")

    def kit(self, name: str) -> Path:
        """Return the folder of a kit: of an organisation, ``relay``, or ``admin`` for the initiator's admin kit."""
        return self.folder / "kits" / (f"{self.initiator}/{ADMIN}" if name == ADMIN else name)

    def start(self, name: str) -> None:
        """Start an organisation's site, or the relay."""
        files = [] if name == RELAY else ["--agent", str(self._agent_files[name])]
        private_folder(self.folder)
        with appending(self.folder / f"{name}.out") as log:
            self.processes[name] = subprocess.Popen(  # noqa: S603  our own program
                [*self._command, str(self.kit(name)), *files],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )

    def stop(self, name: str) -> None:
        """Stop a site or the relay; kill it if it does not end by itself in time."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOPPING)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def wait(self, seconds: float = STARTING) -> None:
        """Wait until every site that was started is connected to the relay."""
        wanted = [name for name in self.processes if name != RELAY]
        until = time.monotonic() + seconds
        with Control(load_kit(self.kit(ADMIN), "admin")) as control:
            while True:
                try:
                    absent = missing(wanted, control.connected())
                except NetworkError:
                    absent = wanted
                if not absent:
                    return
                self._complain_about_the_dead()
                if time.monotonic() > until:
                    raise NetworkError(f"{absent} did not connect within {seconds:g} s. See the logs in {self.folder}.")
                time.sleep(0.5)

    def _complain_about_the_dead(self) -> None:
        for name, process in self.processes.items():
            if process.poll() is not None:
                said = (self.folder / f"{name}.out").read_text(encoding="utf-8", errors="replace").strip()
                raise NetworkError(f"The process of {name!r} ended with exit code {process.returncode}: {said[-2000:]}")

    def __enter__(self) -> Self:
        try:
            for name in (RELAY, *self._agent_files):
                self.start(name)
            self.wait()
        except BaseException:
            self._stop_all()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_all()

    def _stop_all(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)
        for name in list(self.processes):
            self.stop(name)


def free_port() -> int:
    """Return a port on loopback that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
