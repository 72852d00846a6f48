"""What the machine lets the program do: ports, folders, variables, disk, clock, cores and memory."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import assistlearn
from assistlearn.cli.diagnosis.health_finding import HealthFinding, State

LOOPBACK = "127.0.0.1"
SERVING = 8080
"""The port of ``assistlearn serve`` unless another is named."""

FULL, NEARLY_FULL = 100e6, 1e9
"""Free bytes on a disk: with fewer than the first it counts as full, with fewer than the second as nearly full."""

PREFIX = "ASSISTLEARN_"
FOLDERS = ("ASSISTLEARN_DATA",)
SECRETS = ("ASSISTLEARN_PASSPHRASE",)
SET_BY_ITSELF = (
    "ASSISTLEARN_SITE",
    "ASSISTLEARN_AGENT",
    "ASSISTLEARN_COMMANDS",
    "ASSISTLEARN_KIT",
    "ASSISTLEARN_SIGNS",
)
FOR_DEVELOPERS = ("ASSISTLEARN_NOTEBOOKS", "ASSISTLEARN_ONLINE")

DAY = 86_400.0
SKEW = 5.0
"""By how many seconds the time of a new file may differ from the clock."""


def look_at_ports() -> Iterator[HealthFinding]:
    """Yield whether a program may listen on loopback, and whether the usual port is free."""
    try:
        with socket.create_server((LOOPBACK, 0)) as server, socket.create_connection(server.getsockname()[:2], 2):
            pass
    except OSError as error:
        remedy = "Allow connections of this machine to itself (firewall, sandbox): assistlearn serve and watch need it."
        yield HealthFinding("Ports", "loopback", "wrong", f"cannot be used: {_why(error)}", remedy)
        return
    yield HealthFinding("Ports", "loopback", "ok", "can be listened at and reached")
    try:
        with socket.create_server((LOOPBACK, SERVING)):
            pass
    except OSError:
        remedy = "Another program has it. Name another port: assistlearn serve RUN --port 0"
        yield HealthFinding("Ports", str(SERVING), "look", "taken", remedy)
    else:
        yield HealthFinding("Ports", str(SERVING), "ok", "free (the usual port of assistlearn serve)")


def look_at_folders() -> Iterator[HealthFinding]:
    """Yield whether the current and the temporary folder can be written, and how much room is there."""
    try:
        temporary = Path(tempfile.gettempdir())
    except OSError as error:
        yield HealthFinding(
            "Folders", "temporary", "wrong", _why(error), "Set TMPDIR to a folder that you may write to."
        )
        temporary = None
    try:
        current = Path.cwd()
    except OSError as error:
        yield HealthFinding(
            "Folders", "current", "wrong", _why(error), "It was removed: change to a folder that is there."
        )
        current = None
    there = [(name, folder) for name, folder in (("current", current), ("temporary", temporary)) if folder is not None]
    yield from (writable(name, folder) for name, folder in there)
    yield from (_room(name, folder) for name, folder in there)


def writable(name: str, folder: Path) -> HealthFinding:
    """Return whether files can be written into a folder, by writing one."""
    try:
        with tempfile.TemporaryFile(dir=folder, prefix=".assistlearn-doctor-") as file:
            file.write(b"x")
    except OSError as error:
        remedy = "Change to a folder that you may write to, or correct its access rights."
        return HealthFinding("Folders", name, "wrong", f"cannot be written: {_why(error)}", remedy)
    return HealthFinding("Folders", name, "ok", "can be written")


def look_at_variables(environment: Mapping[str, str] | None = None) -> Iterator[HealthFinding]:
    """Yield the variables of the environment that are for this program. No value is shown."""
    known = {*FOLDERS, *SECRETS, *SET_BY_ITSELF, *FOR_DEVELOPERS}
    environment = os.environ if environment is None else environment
    for name in sorted(each for each in environment if each.startswith(PREFIX)):
        if name in FOLDERS:
            yield _named_folder(name, Path(environment[name]))
        elif name in known:
            yield HealthFinding("Variables", name, "ok", "set (its value is not shown)")
        else:
            yield HealthFinding("Variables", name, "look", "set, but no variable of assistlearn's", f"unset {name}")


def look_at_clock(now: float | None = None) -> Iterator[HealthFinding]:
    """Yield the time and its zone, whether it can be right, and whether new files get the same time."""
    now = time.time() if now is None else now
    here = datetime.fromtimestamp(now, UTC).astimezone()
    zone = f"{here:%Y-%m-%d %H:%M:%S}, zone {here:%Z} (UTC{here:%z})"
    late = now < Path(assistlearn.__file__).stat().st_mtime - DAY
    remedy = "The clock is behind the files of this package. Set it by a time server: certificates and limits need it."
    yield HealthFinding("Clock", "now", "wrong" if late else "ok", zone, remedy if late else "")
    try:
        with tempfile.NamedTemporaryFile(prefix=".assistlearn-doctor-") as file:
            apart = abs(os.fstat(file.fileno()).st_mtime - time.time())
    except OSError:
        return  # look_at_folders says so
    remedy = "" if apart <= SKEW else "Set the clocks of this machine and of its file server by a time server."
    yield HealthFinding("Clock", "files", "ok" if apart <= SKEW else "look", f"{apart:.1f} s from the clock", remedy)


def look_at_machine() -> Iterator[HealthFinding]:
    """Yield cores and memory."""
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    yield HealthFinding("Machine", "cores", "ok", f"{usable}" + (f" of {cores}" if usable != cores else ""))
    memory = _memory()
    yield HealthFinding("Machine", "memory", "ok", "unknown" if memory is None else f"{memory / 1e9:.1f} GB")


def _room(name: str, folder: Path) -> HealthFinding:
    free = shutil.disk_usage(folder).free
    state: State = "wrong" if free < FULL else "look" if free < NEARLY_FULL else "ok"
    remedy = "" if state == "ok" else "Make room on its disk."
    return HealthFinding("Disk", f"{name} folder", state, f"{free / 1e9:.1f} GB free", remedy)


def _named_folder(name: str, folder: Path) -> HealthFinding:
    if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
        return HealthFinding("Variables", name, "ok", "a folder that can be read")
    why = "cannot be read" if folder.exists() else "names a folder that is not there"
    return HealthFinding("Variables", name, "look", why, f"Correct it, or: unset {name}")


def _memory() -> int | None:
    """Return the bytes of memory that the program may use, here or in a container; None if the system does not say."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no such function
        return None
    try:
        allowed = int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
    except (OSError, ValueError):  # no container, or no limit
        return whole
    return min(whole, allowed)


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__
