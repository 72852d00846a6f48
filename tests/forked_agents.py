"""Agents whose processes are forked from one that has imported everything and done nothing: they start at once.

They are processes of their own, with a table and a socket of their own, and run what ``agent_process`` runs. Only the
seconds in which Python imports scikit-learn are saved. Tests of how processes are started do not use them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.context import ForkServerContext
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any

import pytest

from assistlearn.reach.processes import agent_process, process_transport
from bench.kill.attempts import FORKS, get_ready


@contextmanager
def forked() -> Iterator[None]:
    """Let agents' processes be forked while this is open."""
    forks()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_transport, "start", ForkedAgent)
        yield


@cache
def forks() -> ForkServerContext:
    """Return where processes come from that are forked from one that has imported everything."""
    get_ready()
    return FORKS


class ForkedAgent:
    """A process, with what a transport needs of ``Popen``."""

    def __init__(
        self, file: Path, descriptor: int, log: IO[bytes], be: Callable[[str, int], int] | None = None
    ) -> None:
        inherited = Inherited(descriptor), Inherited(log.fileno())
        self._process = forks().Process(target=be_the_agent, args=(str(file), *inherited, be or be_honest))
        self._process.start()
        self.terminate, self.kill = self._process.terminate, self._process.kill

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("agent", timeout or 0.0)
        return self._process.exitcode


class Inherited:
    """A file descriptor that arrives in the new process as its number there."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __reduce__(self) -> tuple[Any, ...]:
        return arrived, (DupFd(self._descriptor),)


def arrived(sent: Any) -> int:
    number: int = sent.detach()
    return number


def be_the_agent(file: str, descriptor: int, log: int, be: Callable[[str, int], int]) -> None:
    os.fsync = lambda descriptor: None  # as in the process of the tests
    os.setpgid(0, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.exit(be(file, descriptor))


def be_honest(file: str, descriptor: int) -> int:
    return agent_process.main(file, str(descriptor))
