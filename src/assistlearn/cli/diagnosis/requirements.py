"""Which packages the installed package requires, and which versions of them are installed."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata

from assistlearn.cli.diagnosis.health_finding import HealthFinding
from assistlearn.release import __version__

PACKAGE = "assistlearn"
NEEDED = (3, 11)
NOT_FOR_USERS = ("dev",)
MANY = 6
"""From this many packages on, an extra's packages are counted, not named. Other extras name the packages of ``all``."""

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,-]+)\])?\s*\(?([^;)]*)\)?\s*(?:;\s*extra\s*==\s*['\"]([\w-]+)['\"])?")
_BOUND = re.compile(r"(>=|==|<=|<|>)\s*([\d.]+)")


@dataclass(frozen=True)
class Requirement:
    """A package that is required.

    Attributes
    ----------
    name : str
        Its name.
    bounds : str
        The versions that fit, such as ``"<3.3,>=3.2"``.
    extra : str
        The extra that requires it; empty if it is always required.
    includes : tuple of str
        Extras of the package itself that this extra includes.
    """

    name: str
    bounds: str
    extra: str = ""
    includes: tuple[str, ...] = ()

    @classmethod
    def of(cls, line: str) -> Requirement | None:
        """Return the requirement in a line of a package's metadata; None if the line is not understood.

        >>> Requirement.of("xgboost<3.3,>=3.2; extra == 'xgboost'")
        Requirement(name='xgboost', bounds='<3.3,>=3.2', extra='xgboost', includes=())
        >>> Requirement.of("assistlearn[psi,web]; extra == 'all'").includes
        ('psi', 'web')
        """
        found = _REQUIREMENT.fullmatch(line.strip())
        if found is None:
            return None
        name, includes, bounds, extra = found.groups()
        return cls(name, bounds.strip(), extra or "", tuple(includes.split(",")) if includes else ())

    def fits(self, version: str) -> bool:
        """Return whether a version is within the bounds.

        >>> wanted = Requirement("xgboost", "<3.3,>=3.2")
        >>> wanted.fits("3.2.1"), wanted.fits("3.3.0"), wanted.fits("3.10")
        (True, False, False)
        """
        return all(_holds(version, *bound) for bound in _BOUND.findall(self.bounds))


def of_package(lines: Iterable[str] | None = None) -> list[Requirement]:
    """Return all requirements of the installed package; an empty list if its metadata is not there."""
    if lines is None:
        try:
            lines = metadata.requires(PACKAGE) or []
        except metadata.PackageNotFoundError:
            return []
    return [wanted for line in lines if (wanted := Requirement.of(line)) is not None]


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
        again = f"pip install {PACKAGE}"
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
    line = f"pip install '{wanted.name}{wanted.bounds}'"
    if found is None:
        return HealthFinding("Versions", wanted.name, "wrong", "not installed", line)
    if not wanted.fits(found):
        return HealthFinding("Versions", wanted.name, "wrong", f"{found}; needed is {wanted.bounds}", line)
    return HealthFinding("Versions", wanted.name, "ok", found)


def _extra(name: str, parts: list[Requirement]) -> HealthFinding:
    line = f"pip install '{PACKAGE}[{name}]'"
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


def _holds(version: str, sign: str, bound: str) -> bool:
    have, want = _numbers(version), _numbers(bound)
    width = max(len(have), len(want))
    left, right = ([*numbers, *[0] * (width - len(numbers))] for numbers in (have, want))
    return {">=": left >= right, "==": left == right, "<=": left <= right, "<": left < right, ">": left > right}[sign]


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version up to the first part that is not a number."""
    said = re.match(r"\d+(\.\d+)*", version)
    return [int(part) for part in said[0].split(".")] if said else []
