"""Which packages the installed package requires, and which versions of them are installed."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata

from assistlearn.cli.diagnosis.health_finding import HealthFinding
from assistlearn.extras import PACKAGE, Requirement, command
from assistlearn.release import __version__

NEEDED = (3, 11)
NOT_FOR_USERS = ("dev",)
MANY = 6
"""From this many packages on, an extra's packages are counted, not named. Other extras name the packages of ``all``."""


def look_at_versions(asked: list[Requirement]) -> Iterator[HealthFinding]:
    """Yield findings about Python, the system, the package itself and the packages that it always requires."""
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
            found = _version(wanted.name)
            yield _needed(wanted, found)


def look_at_extras(asked: list[Requirement]) -> Iterator[HealthFinding]:
    """Yield a finding for every extra: whether it is installed, and with which packages."""
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
