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
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from itertools import chain, groupby
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer
from packaging.requirements import Requirement

import assistlearn
from assistlearn.cli.output import Json, plain, say, say_json
from assistlearn.errors import AssistLearnError
from assistlearn.extras import PACKAGE, command, of_package
from assistlearn.release import __version__

State = Literal["ok", "missing", "look", "wrong"]
"""``missing``: something optional is not installed. ``look``: this may be a problem. ``wrong``: this is a problem."""


class Finding(NamedTuple):
    """What one check has found about ``name``, in a group of checks (``topic``), and what to do about it."""

    topic: str
    name: str
    state: State
    says: str
    remedy: str = ""


def _finding(topic: str, name: str, fine: bool, says: str, remedy: str, otherwise: State = "look") -> Finding:
    return Finding(topic, name, "ok", says) if fine else Finding(topic, name, otherwise, says, remedy)


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
    healthy = all(each.state != "wrong" for each in findings)
    if json:
        say_json({"version": __version__, "healthy": healthy, "findings": [each._asdict() for each in findings]})
    else:
        _show(findings)
    sys.stdout.flush()
    return 0 if healthy else UNWELL


def _show(findings: list[Finding]) -> None:
    for topic, group in groupby(findings, key=lambda each: each.topic):
        say(f"[bold]{plain(topic)}[/]")
        for each in group:
            state = f"[{COLOURS[each.state]}]{each.state:<8}[/]"
            say(f"  {state}{plain(each.name):<22}{plain(each.says)}")
            if each.remedy:
                say(f"          [bold]->[/] {plain(each.remedy)}")
    wrong = plain(", ".join(each.name for each in findings if each.state == "wrong"))
    if wrong:
        say(f"[bold red]Something is wrong:[/] {wrong}. See above.")
    else:
        say("[green]All that is needed is there.[/]")


def examine(agent: Path | None = None) -> list[Finding]:
    """Return all findings, also about an agent's file, without the home folder and the user's name."""
    asked = of_package()
    found = chain(
        *(
            look_at_versions(asked),
            look_at_extras(asked),
            look_at_ports(),
            look_at_folders(),
            look_at_variables(os.environ),
        ),
        *(look_at_clock(), look_at_machine(), () if agent is None else _look_at_agent(agent)),
    )
    return [each._replace(says=fit_to_paste(each.says), remedy=fit_to_paste(each.remedy)) for each in found]


def _look_at_agent(file: Path) -> Iterator[Finding]:
    from assistlearn.agent.file import load_description

    check = f"assistlearn check {file}"
    try:
        description = load_description(file)
    except (AssistLearnError, OSError) as error:
        yield Finding("Agent", "file", "wrong", str(error), f"Correct it, then: {check}")
        return
    yield Finding("Agent", "file", "ok", "can be read", f"Look at its table as well: {check}")
    home = description.models
    while not home.exists():
        home = home.parent
    yield writable("models", home)._replace(topic="Agent")


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


def _homes(home: Path | None) -> list[str]:
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
NOT_FOR_USERS = ("", "dev", "all")
MANY = 6
"""From this many packages on, an extra's packages are counted, not named."""


def look_at_versions(asked: Mapping[str, Sequence[Requirement]]) -> Iterator[Finding]:
    bits = "64" if sys.maxsize > 2**32 else "32"
    python = f"{platform.python_version()} ({platform.python_implementation()}, {bits} bit)"
    older = "Install Python 3.11 or later, and the package there."
    yield _finding("Versions", "Python", sys.version_info[:2] >= NEEDED, python, older, "wrong")
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield _finding("Versions", "system", sys.platform == "linux", system, "Tested on Linux only.")
    if asked:
        yield Finding("Versions", PACKAGE, "ok", __version__)
    else:
        again = "pip install . in the folder of its source"
        yield Finding("Versions", PACKAGE, "look", f"{__version__}, but not installed by pip", again)
    for wanted in asked.get("", ()):
        found = _version(wanted.name)
        if found is None:
            yield Finding("Versions", wanted.name, "wrong", "not installed", command([wanted]))
        elif _fits(wanted, found):
            yield Finding("Versions", wanted.name, "ok", found)
        else:
            needed = f"{found}; needed is {wanted.specifier}"
            yield Finding("Versions", wanted.name, "wrong", needed, command([wanted]))


def look_at_extras(asked: Mapping[str, Sequence[Requirement]]) -> Iterator[Finding]:
    for name, parts in asked.items():
        if name in NOT_FOR_USERS:
            continue
        found = {wanted.name: _version(wanted.name) for wanted in parts}
        missing = [each for each, version in found.items() if version is None]
        others = [w for w in parts if (version := found[w.name]) is not None and not _fits(w, version)]
        if missing:
            yield Finding("Extras", name, "missing", f"not installed: {', '.join(missing)}", command(parts))
        elif others:
            wrong = ", ".join(f"{each.name} {found[each.name]} (needed: {each.specifier})" for each in others)
            yield Finding("Extras", name, "look", wrong, command(parts))
        else:
            there = ", ".join(f"{each} {version}" for each, version in found.items())
            yield Finding("Extras", name, "ok", there if len(found) < MANY else f"{len(found)} packages")


def _fits(wanted: Requirement, version: str) -> bool:
    return wanted.specifier.contains(version, prereleases=True)


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
FOLDER = "ASSISTLEARN_DATA"
OTHERS = (
    *("ASSISTLEARN_PASSPHRASE", "ASSISTLEARN_SITE", "ASSISTLEARN_AGENT", "ASSISTLEARN_COMMANDS", "ASSISTLEARN_KIT"),
    *("ASSISTLEARN_SIGNS", "ASSISTLEARN_NOTEBOOKS", "ASSISTLEARN_ONLINE"),
)

DAY = 86_400.0
SKEW = 5.0
"""By how many seconds the time of a new file may differ from the clock."""


def look_at_ports() -> Iterator[Finding]:
    try:
        with socket.create_server((LOOPBACK, 0)) as server, socket.create_connection(server.getsockname()[:2], 2):
            pass
    except OSError as error:
        remedy = "Allow connections of this machine to itself (firewall, sandbox): assistlearn serve and watch need it."
        yield Finding("Ports", "loopback", "wrong", f"cannot be used: {_why(error)}", remedy)
        return
    yield Finding("Ports", "loopback", "ok", "can be listened at and reached")
    try:
        with socket.create_server((LOOPBACK, SERVING)):
            pass
    except OSError:
        remedy = "Another program has it. Name another port: assistlearn serve RUN --port 0"
        yield Finding("Ports", str(SERVING), "look", "taken", remedy)
    else:
        yield Finding("Ports", str(SERVING), "ok", "free (the usual port of assistlearn serve)")


def look_at_folders() -> Iterator[Finding]:
    places: dict[str, tuple[Callable[[], str], str]] = {
        "current": (os.getcwd, "It was removed: change to a folder that is there."),
        "temporary": (tempfile.gettempdir, "Set TMPDIR to a folder that you may write to."),
    }
    disks = []
    for name, (place, remedy) in places.items():
        try:
            folder = Path(place())
        except OSError as error:
            yield Finding("Folders", name, "wrong", _why(error), remedy)
            continue
        yield writable(name, folder)
        free = shutil.disk_usage(folder).free
        state: State = "wrong" if free < FULL else "look" if free < NEARLY_FULL else "ok"
        remedy = "" if state == "ok" else "Make room on its disk."
        disks.append(Finding("Disk", f"{name} folder", state, f"{free / 1e9:.1f} GB free", remedy))
    yield from disks


def writable(name: str, folder: Path) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=folder, prefix=".assistlearn-doctor-") as file:
            file.write(b"x")
    except OSError as error:
        remedy = "Change to a folder that you may write to, or correct its access rights."
        return Finding("Folders", name, "wrong", f"cannot be written: {_why(error)}", remedy)
    return Finding("Folders", name, "ok", "can be written")


def look_at_variables(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the variables of the environment that are for this program. No value is shown."""
    for name in sorted(each for each in environment if each.startswith(PREFIX)):
        if name == FOLDER:
            folder = Path(environment[name])
            fine = folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
            why = "cannot be read" if folder.exists() else "names a folder that is not there"
            says = "a folder that can be read" if fine else why
            yield _finding("Variables", name, fine, says, f"Correct it, or: unset {name}")
        else:
            known = name in OTHERS
            says = "set (its value is not shown)" if known else "set, but no variable of assistlearn's"
            yield _finding("Variables", name, known, says, f"unset {name}")


def look_at_clock(now: float | None = None) -> Iterator[Finding]:
    """Yield the time and its zone, whether it can be right, and whether new files get the same time."""
    now = time.time() if now is None else now
    here = datetime.fromtimestamp(now, UTC).astimezone()
    zone = f"{here:%Y-%m-%d %H:%M:%S}, zone {here:%Z} (UTC{here:%z})"
    there = now >= Path(assistlearn.__file__).stat().st_mtime - DAY
    remedy = "The clock is behind the files of this package. Set it by a time server: certificates and limits need it."
    yield _finding("Clock", "now", there, zone, remedy, "wrong")
    try:
        with tempfile.NamedTemporaryFile(prefix=".assistlearn-doctor-") as file:
            apart = abs(os.fstat(file.fileno()).st_mtime - time.time())
    except OSError:
        return  # look_at_folders says so
    remedy = "Set the clocks of this machine and of its file server by a time server."
    yield _finding("Clock", "files", apart <= SKEW, f"{apart:.1f} s from the clock", remedy)


def look_at_machine() -> Iterator[Finding]:
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    yield Finding("Machine", "cores", "ok", f"{usable}" + (f" of {cores}" if usable != cores else ""))
    memory = _memory()
    yield Finding("Machine", "memory", "ok", "unknown" if memory is None else f"{memory / 1e9:.1f} GB")


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
