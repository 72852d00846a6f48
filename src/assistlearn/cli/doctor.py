"""``assistlearn doctor``: whether the program has all that it needs."""

from __future__ import annotations

import getpass
import os
import platform
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

import typer

import assistlearn
from assistlearn.cli.output import Json, plain, say, say_json
from assistlearn.errors import AssistLearnError
from assistlearn.extras import PACKAGE, Requirement, command, of_package
from assistlearn.release import __version__

State = Literal["ok", "missing", "look", "wrong"]
"""``missing``: something optional is not installed. ``look``: this may be a problem. ``wrong``: this is a problem."""


@dataclass(frozen=True)
class HealthFinding:
    """What one check has found about ``name``, in a group of checks (``topic``), and what to do about it."""

    topic: str
    name: str
    state: State
    says: str
    remedy: str = ""


UNWELL = 2
COLOURS = {"ok": "green", "missing": "dim", "look": "yellow", "wrong": "bold red"}


def doctor(
    agent: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="An agent's TOML file, to look at as well.", show_default=False),
    ] = None,
    json: Json = False,
) -> int:
    """Look whether all that is needed is there: versions, extras, ports, folders, disk and clock.

    Use it when something does not work, and paste what it prints into your report. It shows no secrets, no user names
    and no home folders. Nothing is sent. The exit code is 0 if all is there and 2 if something is wrong; an extra that
    is not installed is not wrong.
    """
    findings = examine(agent)
    wrong = [each for each in findings if each.state == "wrong"]
    if json:
        say_json({"version": __version__, "healthy": not wrong, "findings": [asdict(each) for each in findings]})
    else:
        _show(findings)
        say(_summary(wrong))
    sys.stdout.flush()
    return UNWELL if wrong else 0


def _show(findings: list[HealthFinding]) -> None:
    for topic, group in groupby(findings, key=lambda each: each.topic):
        say(f"[bold]{plain(topic)}[/]")
        for each in group:
            state = f"[{COLOURS[each.state]}]{each.state:<8}[/]"
            say(f"  {state}{plain(each.name):<22}{plain(each.says)}")
            if each.remedy:
                say(f"          [bold]->[/] {plain(each.remedy)}")


def _summary(wrong: list[HealthFinding]) -> str:
    if not wrong:
        return "[green]All that is needed is there.[/]"
    return f"[bold red]Something is wrong:[/] {plain(', '.join(each.name for each in wrong))}. See above."


def examine(agent: Path | None = None) -> list[HealthFinding]:
    """Return all findings, also about an agent's file, without the home folder and the user's name."""
    return [replace(each, says=fit_to_paste(each.says), remedy=fit_to_paste(each.remedy)) for each in _findings(agent)]


def _findings(agent: Path | None) -> Iterator[HealthFinding]:
    asked = of_package()
    yield from look_at_versions(asked)
    yield from look_at_extras(asked)
    yield from look_at_ports()
    yield from look_at_folders()
    yield from look_at_variables()
    yield from look_at_clock()
    yield from look_at_machine()
    if agent is not None:
        yield from _look_at_agent(agent)


def _look_at_agent(file: Path) -> Iterator[HealthFinding]:
    from assistlearn.agent.file import load_description

    check = f"assistlearn check {file}"
    try:
        description = load_description(file)
    except (AssistLearnError, OSError) as error:
        yield HealthFinding("Agent", "file", "wrong", str(error), f"Correct it, then: {check}")
        return
    yield HealthFinding("Agent", "file", "ok", "can be read", f"Look at its table as well: {check}")
    home = description.models
    while not home.exists():
        home = home.parent
    yield replace(writable("models", home), topic="Agent")


def fit_to_paste(text: str, home: Path | None = None, user: str | None = None) -> str:
    r"""Return a text in which the home folder is ``~`` and a folder with the user's name is ``USER``.

    >>> fit_to_paste("/home/jane/lab.toml is not there", Path("/home/jane"), "jane")
    '~/lab.toml is not there'
    >>> fit_to_paste("/data/jane/lab.toml", Path("/home/jane"), "jane")
    '/data/USER/lab.toml'
    >>> fit_to_paste("D:\\jane\\lab.toml", Path("/home/jane"), "jane")
    'D:\\USER\\lab.toml'
    """
    for folder in _homes(home):
        text = re.sub(rf"{re.escape(folder)}(?![\w-])", "~", text)
    user = _user() if user is None else user
    return re.sub(rf"(?<=[/\\]){re.escape(user)}(?=[/\\\s]|$)", "USER", text) if user else text


def _homes(home: Path | None) -> Iterable[str]:
    """Return how the home folder may be written, the longest first."""
    try:
        folder = Path.home() if home is None else home
    except RuntimeError:  # there is none
        return []
    written = {str(folder), str(folder.resolve()), folder.as_posix()}
    return sorted((each for each in written if len(each) > 1), key=len, reverse=True)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


# Which packages the installed package requires, and which versions of them are installed.


NEEDED = (3, 11)
NOT_FOR_USERS = ("dev",)
MANY = 6
"""From this many packages on, an extra's packages are counted, not named. Other extras name the packages of ``all``."""


def look_at_versions(asked: list[Requirement]) -> Iterator[HealthFinding]:
    here = sys.version_info[:2]
    bits = "64" if sys.maxsize > 2**32 else "32"
    python = f"{platform.python_version()} ({platform.python_implementation()}, {bits} bit)"
    older = "Install Python 3.11 or later, and the package there."
    yield HealthFinding(
        "Versions", "Python", "ok" if here >= NEEDED else "wrong", python, "" if here >= NEEDED else older
    )
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    tested = sys.platform == "linux"
    yield HealthFinding(
        "Versions", "system", "ok" if tested else "look", system, "" if tested else "Tested on Linux only."
    )
    if asked:
        yield HealthFinding("Versions", PACKAGE, "ok", __version__)
    else:
        again = "pip install . in the folder of its source"
        yield HealthFinding("Versions", PACKAGE, "look", f"{__version__}, but not installed by pip", again)
    for wanted in asked:
        if not wanted.extra:
            yield _needed(wanted, _version(wanted.name))


def look_at_extras(asked: list[Requirement]) -> Iterator[HealthFinding]:
    names = dict.fromkeys(wanted.extra for wanted in asked if wanted.extra)
    for name in names:
        parts = [wanted for wanted in asked if wanted.extra == name and not wanted.includes]
        if name not in NOT_FOR_USERS and parts:
            yield _extra(name, parts)


def _needed(wanted: Requirement, found: str | None) -> HealthFinding:
    line = command([wanted])
    if found is None:
        return HealthFinding("Versions", wanted.name, "wrong", "not installed", line)
    if not wanted.fits(found):
        return HealthFinding("Versions", wanted.name, "wrong", f"{found}; needed is {wanted.bounds}", line)
    return HealthFinding("Versions", wanted.name, "ok", found)


def _extra(name: str, parts: list[Requirement]) -> HealthFinding:
    line = command(parts)
    found = {wanted.name: _version(wanted.name) for wanted in parts}
    missing = [each for each, version in found.items() if version is None]
    others = [w for w in parts if (version := found[w.name]) is not None and not w.fits(version)]
    there = ", ".join(f"{each} {version}" for each, version in found.items())
    if missing:
        return HealthFinding("Extras", name, "missing", f"not installed: {', '.join(missing)}", line)
    if others:
        wrong = ", ".join(f"{each.name} {found[each.name]} (needed: {each.bounds})" for each in others)
        return HealthFinding("Extras", name, "look", wrong, line)
    return HealthFinding("Extras", name, "ok", there if len(found) < MANY else f"{len(found)} packages")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


# What the machine lets the program do: ports, folders, variables, disk, clock, cores and memory.


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
    places: list[tuple[str, Callable[[], object], str]] = [
        ("temporary", tempfile.gettempdir, "Set TMPDIR to a folder that you may write to."),
        ("current", Path.cwd, "It was removed: change to a folder that is there."),
    ]
    there: list[tuple[str, Path]] = []
    for name, place, remedy in places:
        try:
            there.insert(0, (name, Path(str(place()))))
        except OSError as error:
            yield HealthFinding("Folders", name, "wrong", _why(error), remedy)
    yield from (writable(name, folder) for name, folder in there)
    yield from (_room(name, folder) for name, folder in there)


def writable(name: str, folder: Path) -> HealthFinding:
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
