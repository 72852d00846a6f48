"""What the installed package requires, and the line that installs what is missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from importlib import metadata

from packaging.requirements import Requirement

PACKAGE = "assistlearn"


def of_package(lines: Iterable[str] | None = None) -> dict[str, list[Requirement]]:
    """Return what the installed package requires: by extra, and under ``""`` in any case; nothing without metadata.

    >>> of_package(["numpy>=2.0", "xgboost>=3.2; extra == 'xgboost'"])
    {'': [<Requirement('numpy>=2.0')>], 'xgboost': [<Requirement('xgboost>=3.2; extra == "xgboost"')>]}
    """
    if lines is None:
        try:
            lines = metadata.requires(PACKAGE) or []
        except metadata.PackageNotFoundError:
            return {}
    found: dict[str, list[Requirement]] = {}
    for wanted in map(Requirement, lines):
        extra = str(wanted.marker or "").rpartition("extra == ")[2].strip('"')
        found.setdefault(extra, []).append(wanted)
    return found


def install_line(extra: str) -> str:
    """Name the packages of the extra and not the extra itself, because the package is on no index."""
    parts = of_package().get(extra)
    return command(parts) if parts else f"pip install '.[{extra}]', in the folder of the source"


def command(wanted: Iterable[Requirement]) -> str:
    return shlex.join(["pip", "install", *(f"{each.name}{each.specifier}" for each in wanted)])
