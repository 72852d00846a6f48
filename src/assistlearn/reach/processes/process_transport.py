"""Agents on this machine, each in a process of its own that has its own table and nothing of the others'.

A process is started for an agent's file and answers requests over a socket pair, which no other process can reach: four
bytes with the length, then the message, both ways.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from assistlearn.errors import UnreachableError
from assistlearn.reach import TIMEOUT
from assistlearn.reach.framing import receive, send

CANNOT_START = 2
"""The exit code of an agent whose file or table is not right; its log says why."""

STARTING = 60.0
"""Seconds that a process has for its first answer, at least: it reads the agent's table before."""

SHARED = "shared"
"""The argument that replaces a socket's number where the socket comes on standard input."""

LAST_WORDS = 2_000
"""How many characters of a dead process's log an error shows."""


def start(file: Path, descriptor: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the process of an agent's file.

    Parameters
    ----------
    file : path
        The agent's TOML file.
    descriptor : int
        The number of the socket on which the process answers. It inherits no other.
    log : file
        Where its output goes.
    """
    return subprocess.Popen(  # noqa: S603  our own module, on a file that the user named
        [sys.executable, "-m", "assistlearn.reach.processes.agent_process", str(file), str(descriptor)],
        pass_fds=[descriptor],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        process_group=0,
    )


def start_sharing(file: Path, theirs: socket.socket, log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the process of an agent's file on Windows, where it gets its socket as bytes on standard input."""
    process = subprocess.Popen(  # noqa: S603  our own module, on a file that the user named
        [sys.executable, "-m", "assistlearn.reach.processes.agent_process", str(file), SHARED],
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    assert process.stdin is not None
    with process.stdin as end:
        end.write(getattr(theirs, "share")(process.pid))  # noqa: B009  known on Windows only
    return process


class ProcessTransport:
    """Starts a process for each agent and carries messages to and from them.

    Use it in a ``with`` block: entering it starts all processes, so that they get ready side by side; leaving it stops
    them. Ctrl-C does not reach them: the process that started them decides what to do.

    Parameters
    ----------
    files : mapping of str to path
        Each agent's file.
    timeout : float
        Seconds to wait for an answer; a turn of a slow learner must fit in.
    """

    def __init__(self, files: Mapping[str, Path], timeout: float = TIMEOUT) -> None:
        self._files = dict(files)
        self._timeout = timeout
        self._started: dict[str, _Process] = {}

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's reply; start its process first if it is not running."""
        if agent not in self._files:
            raise UnreachableError(f"There is no agent {agent!r} here. The agents are {sorted(self._files)}.")
        self._start(agent)
        return self._started[agent].ask(request)

    def pid(self, agent: str) -> int:
        """Return the process id of an agent that is running."""
        return self._started[agent].pid

    def stop(self) -> None:
        """Stop all processes."""
        for process in self._started.values():
            process.stop()
        self._started = {}

    def _start(self, agent: str) -> None:
        if agent not in self._started:
            self._started[agent] = _Process(agent, self._files[agent], self._timeout)

    def __enter__(self) -> Self:
        for agent in self._files:
            self._start(agent)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Process:
    """One agent's process."""

    def __init__(self, agent: str, file: Path, timeout: float) -> None:
        self._agent = agent
        self._timeout = timeout
        self._idle = False
        self._lost = ""
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(max(timeout, STARTING))
        with theirs:
            if os.name == "nt":
                self._process = start_sharing(file, theirs, self._log)
            else:
                self._process = start(file, theirs.fileno(), self._log)

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: bytes) -> bytes:
        if self._lost:  # a late answer must not be taken for the answer to another request
            raise UnreachableError(self._lost)
        self._idle = False
        try:
            send(self._socket, request)
            reply = receive(self._socket)
        except TimeoutError:
            waited = self._socket.gettimeout()
            self._lost = f"Agent {self._agent!r} (process {self.pid}) has not answered for {waited:g} seconds."
            raise UnreachableError(self._lost) from None
        except OSError:
            reply = None
        if reply is None:
            self._lost = self._last_words()
            raise UnreachableError(self._lost)
        self._idle = True
        self._socket.settimeout(self._timeout)
        return reply

    def stop(self) -> None:
        self._socket.close()  # a process that waits for requests ends when nobody is left to ask
        if not self._idle:
            self._process.terminate()  # its work can be repeated: what it has stored is whole at any instant
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _last_words(self) -> str:
        try:
            code: int | None = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip()[-LAST_WORDS:]
        if code == CANNOT_START:
            return f"Agent {self._agent!r} cannot start: {said}"
        how = f"ended with exit code {code}" if code is not None else "closed its end"
        return f"Agent {self._agent!r}: its process {how}." + (f" It said:\n{said}" if said else "")
