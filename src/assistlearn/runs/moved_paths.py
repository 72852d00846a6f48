"""Paths in a run's settings, kept so that a project can be copied or moved as a whole.

Each path is kept twice: as it was given, and relative to the run's folder. The relative path is used if something is
there: in a copy of a project, that is the copy's own file. ``assistlearn move`` mends a path if neither is right.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

BESIDE = "beside"
KEYS = ("files", "kits")
"""The settings that hold paths: the agents' files, and the kits of a network."""


def with_beside(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the facts of a run's settings, and every path once more, relative to the run's folder."""
    home = folder.resolve()
    seen = {key: {name: os.path.relpath(path, home) for name, path in facts[key].items()} for key in _held(facts)}
    return facts | {BESIDE: seen}


def located(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the facts with every path as it is now, without what :func:`with_beside` has added.

    >>> located({"files": {"lab": "/old/lab.toml"}, "beside": {"files": {"lab": "."}}}, Path("/"))
    {'files': {'lab': '/'}}
    """
    found = {name: value for name, value in facts.items() if name != BESIDE}
    seen = facts.get(BESIDE, {})
    for key in _held(facts):
        found[key] = {name: _located(path, seen.get(key, {}).get(name), folder) for name, path in facts[key].items()}
    return found


def _held(facts: dict[str, Any]) -> list[str]:
    return [key for key in KEYS if isinstance(facts.get(key), dict)]


def _located(path: str, seen: str | None, folder: Path) -> str:
    if seen is None:
        return path
    beside = (folder.resolve() / seen).resolve()
    return str(beside) if beside.exists() else path
