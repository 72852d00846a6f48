"""The processes of a run: each counts its steps in the file system, and may be killed before one of them."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from assistlearn.alignment import Ids
from assistlearn.errors import UnreachableError
from assistlearn.events import EventLog
from assistlearn.initiator import prediction
from assistlearn.initiator.folder import RunFolder, RunSettings
from assistlearn.reach import opening, register
from assistlearn.reach.framing import receive, send
from assistlearn.reach.processes import agent_process
from assistlearn.reach.processes.reach_processes import Processes

PATIENCE = 120
"""Seconds after which an attempt counts as hanging."""


@dataclass(frozen=True)
class Strike:
    """Who is to be killed at which of its steps in the file system; nobody by default."""

    agent: str = ""
    step: int = 0


NOBODY = Strike()


class Steps:
    """Counts this process's steps in the file system below a folder, and kills it before one of them."""

    WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    CHANGES = frozenset(
        {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree", "fcntl.flock"}
    )

    def __init__(self, folder: Path, fatal: int) -> None:
        self.count = 0
        self._folder = str(folder)
        self._fatal = fatal
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if not (isinstance(flags, int) and flags & self.WRITING and str(path).startswith(self._folder)):
                return
        elif event not in self.CHANGES:
            return
        self.count += 1
        if self.count == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)


class ForkTransport:
    """As ``ProcessTransport``, but an agent's process is forked from this one instead of started anew."""

    def __init__(self, files: Mapping[str, Path], case: Path, strike: Strike) -> None:
        self._files = files
        self._case = case
        self._strike = strike
        self._lines: dict[str, socket.socket] = {}
        self._pids: dict[str, int] = {}

    def __enter__(self) -> Self:
        for agent, file in self._files.items():
            ours, theirs = socket.socketpair()
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    ours.close()
                    for line in self._lines.values():
                        line.close()
                    code = _answer(agent, file, theirs, self._case, self._strike)
                finally:
                    os._exit(code)  # whatever happens, this process is not the initiator's
            theirs.close()
            ours.settimeout(PATIENCE)
            self._lines[agent], self._pids[agent] = ours, pid
        write(self._case / "pids.json", self._pids)
        return self

    def __exit__(self, *_: Any) -> None:
        for agent, line in self._lines.items():
            line.close()
            os.waitpid(self._pids[agent], 0)

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's reply."""
        try:
            send(self._lines[agent], request)
            reply = receive(self._lines[agent])
        except OSError:
            reply = None
        if reply is None:
            raise UnreachableError(f"Agent {agent!r}: its process has ended.")
        return reply


@dataclass(frozen=True)
class Forks(Processes):
    """Reaches agents as ``Processes`` does, but by forks, one of which may be struck."""

    case: Path
    strike: Strike

    def opened(self, settings: RunSettings, log: EventLog, timeout: float) -> ForkTransport:
        """Return a transport whose processes run while it is open."""
        files = {name: Path(settings.files[name]) for name in settings.helpers}
        return ForkTransport(files, self.case, self.strike)


def _answer(agent: str, file: Path, line: socket.socket, case: Path, strike: Strike) -> int:
    """Be an agent's process: count its steps, then do what ``agent_process`` does."""
    steps = Steps(case, strike.step if strike.agent == agent else 0)
    code = agent_process.main(str(file), str(line.detach()))
    counted = case.parent / f"{case.name}-steps-{agent}.json"
    if not counted.exists():  # the first time is training, the second prediction
        write(counted, steps.count)
    return code


def train(case: Path, strike: Strike) -> None:
    """Be the initiator's process: go on with the run to its end."""
    steps = _become_initiator(case, strike)
    folder = RunFolder(case / "run")
    if folder.result() is None:
        for _ in opening.train(folder):
            pass
    write(case.parent / f"{case.name}-steps-clinic.json", steps.count)


def predict(case: Path, strike: Strike) -> None:
    """Be the initiator's process: predict all samples, and write down what came out."""
    _become_initiator(case, strike)
    folder = RunFolder(case / "run")
    with opening.opened_run(folder, training=False) as (run, own):
        found = prediction.predict(run, Ids(own.table.ids, "all"), np.arange(len(own.table)))
    if found.absent:
        raise UnreachableError(str(found.absent))
    write(case / "outcome.json", _outcome(folder, found.scores))


def _become_initiator(case: Path, strike: Strike) -> Steps:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: do not outlive an interrupted benchmark
    register("processes", lambda: Forks(case, strike))
    return Steps(case, strike.step if strike.agent == "clinic" else 0)


def _outcome(folder: RunFolder, scores: np.ndarray[Any, Any]) -> dict[str, Any]:
    result = folder.result() or {}
    contributions = [
        contribution | {"model_weight": contribution["model_weight"].hex()} for contribution in result["contributions"]
    ]
    facts = {name: result[name] for name in ("stop_reason", "n_rounds", "n_turns")}
    return facts | {"contributions": contributions, "scores": hashlib.sha256(scores.tobytes()).hexdigest()}


def write(path: Path, content: Any) -> None:
    fresh = path.with_suffix(".fresh")
    fresh.write_text(json.dumps(content))
    fresh.rename(path)
