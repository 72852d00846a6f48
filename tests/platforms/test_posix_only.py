"""The core imports and calls nothing that only Unix systems have, but in places that are named here."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import assistlearn

SOURCE = Path(assistlearn.__file__).parent

MODULES = {"fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd", "syslog", "termios", "tty"}
"""Modules of Python that Windows does not have."""

CALLS = {
    "os": {
        *("chown", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getloadavg", "getpgid"),
        *("getuid", "killpg", "lchown", "mkfifo", "nice", "openpty", "posix_fadvise", "posix_spawn", "pread", "pwrite"),
        *("sched_getaffinity", "sched_setaffinity", "setpgid", "setsid", "setuid", "statvfs", "sync", "sysconf"),
        *("uname", "wait", "wait3", "wait4", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH"),
    },
    "signal": {"SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "alarm", "setitimer", "pthread_kill", "pause"},
    "socket": {"AF_UNIX", "SO_PEERCRED", "sendmsg", "recvmsg", "send_fds", "recv_fds"},
}
"""What Windows does not have of modules that it has."""

NETWORKS = "reach/flare/"
"""Networks of several machines are for Linux."""

NAMED = {
    ("alignment/psi.py", "os.sched_getaffinity"): "asked for by hasattr",
    ("cli/consent.py", "os.getuid"): "asked for by hasattr",
    ("cli/doctor.py", "os.sched_getaffinity"): "asked for by hasattr",
    ("cli/doctor.py", "os.sysconf"): "its absence is caught",
    ("storage.py", "fcntl"): "its absence is caught",
    **dict.fromkeys(
        [
            ("tables/sources/reader.py", name)
            for name in ("resource", "signal.SIGKILL", "signal.setitimer", "socket.recv_fds", "socket.send_fds")
        ],
        "not reached on Windows: without send_fds, which is asked for by hasattr, no other process reads",
    ),
    ("tables/sources/remote.py", "os.pwrite"): "the extra s3, named on the page on the project",
    ("web/server.py", "resource"): "not imported on Windows, which counts sockets apart from files",
}
"""Where such a thing is used, and why that does no harm."""

CORE = """
import assistlearn
for name in assistlearn.__all__:
    getattr(assistlearn, name)
from assistlearn.cli import app, begin, predict, report, train
import assistlearn.reach.processes.agent_process, assistlearn.reach.processes.reach_processes
import assistlearn.agent.service, assistlearn.agent.loading, assistlearn.agent.consent
import assistlearn.initiator.folder, assistlearn.initiator.label_ledger, assistlearn.tables.table
import assistlearn.cli.train, assistlearn.cli.begin, assistlearn.cli
"""

WITHOUT = """
import sys, subprocess, multiprocessing.pool, concurrent.futures.process  # they know the systems by these modules
import sklearn.ensemble, sklearn.linear_model, sklearn.neural_network, sklearn.pipeline, matplotlib.figure, polars
import rich.console, rich.progress, skops.io, typer.core
for name in {blocked!r}:
    sys.modules[name] = None
import types
fake = types.ModuleType("msvcrt")  # as on Windows; nothing is locked here
fake.LK_NBLCK = fake.LK_UNLCK = 0
fake.locking = lambda number, how, length: None
sys.modules["msvcrt"] = fake
"""


def used(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            names = CALLS.get(node.module or "", set())
            found |= {node.module} & MODULES | {
                f"{node.module}.{each.name}" for each in node.names if each.name in names
            }
        elif isinstance(node, ast.Attribute) and node.attr in CALLS.get(getattr(node.value, "id", ""), set()):
            found.add(f"{node.value.id}.{node.attr}")
    return found


def test_what_only_unix_has_is_used_in_named_places_only():
    found = {
        (file, name)
        for path in SOURCE.rglob("*.py")
        if not (file := path.relative_to(SOURCE).as_posix()).startswith(NETWORKS)
        for name in used(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == NAMED.keys()


def test_the_scan_finds_what_it_is_for():
    code = "import os, fcntl\nfrom signal import SIGKILL\nos.fork()\nos.path.join('a')\nos.open('a', os.O_NOFOLLOW)"
    assert used(ast.parse(code)) == {"fcntl", "signal.SIGKILL", "os.fork", "os.O_NOFOLLOW"}


@pytest.mark.parametrize("word", ['"fork"', "'fork'", "forkserver", "os.fork"])
def test_no_process_is_forked_with_what_its_parent_has_in_memory(word):
    assert [path.name for path in SOURCE.rglob("*.py") if word in path.read_text(encoding="utf-8")] == []


def test_the_core_can_be_imported_where_the_modules_of_unix_are_not_there():
    blocked = sorted(MODULES - {"posix"})  # Python itself needs that one here
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(blocked=blocked) + CORE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
