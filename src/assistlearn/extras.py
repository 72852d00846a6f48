"""What the installed package requires, and the line that installs what is missing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata

PACKAGE = "assistlearn"

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,-]+)\])?\s*\(?([^;)]*)\)?\s*(?:;\s*extra\s*==\s*['\"]([\w-]+)['\"])?")
_BOUND = re.compile(r"(>=|==|<=|<|>)\s*([\d.]+)")


@dataclass(frozen=True)
class Requirement:
    """``extra`` may include extras of the package itself."""

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
    """Return all requirements of the installed package; none if its metadata is not there."""
    if lines is None:
        try:
            lines = metadata.requires(PACKAGE) or []
        except metadata.PackageNotFoundError:
            return []
    return [wanted for line in lines if (wanted := Requirement.of(line)) is not None]


def install_line(extra: str) -> str:
    """Name the packages of the extra and not the extra itself, because the package is on no index."""
    parts = [wanted for wanted in of_package() if wanted.extra == extra]
    return command(parts) if parts else f"pip install '.[{extra}]', in the folder of the source"


def command(wanted: Iterable[Requirement]) -> str:
    return shlex.join(["pip", "install", *(each.name + each.bounds for each in wanted)])


def _holds(version: str, sign: str, bound: str) -> bool:
    have, want = _numbers(version), _numbers(bound)
    width = max(len(have), len(want))
    left, right = ([*numbers, *[0] * (width - len(numbers))] for numbers in (have, want))
    return {">=": left >= right, "==": left == right, "<=": left <= right, "<": left < right, ">": left > right}[sign]


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version up to the first part that is not a number."""
    found = re.match(r"\d+(\.\d+)*", version)
    return [int(part) for part in found[0].split(".")] if found else []
