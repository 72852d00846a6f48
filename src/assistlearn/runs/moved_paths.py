"""Paths in a run's settings, such that a project can be copied or moved as a whole.

Each is kept twice: as it was, and as seen from the run's folder. What lies there now, seen from the folder, is taken
first: in a copy of a project it is the copy's own. ``assistlearn move`` mends what neither finds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

BESIDE = "beside"
KEYS = ("files", "kits")
"""What holds paths: the agents' files, and the kits of a network."""


def with_beside(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the facts of a run's settings, with every path as seen from the run's folder added."""
    home = folder.resolve()
    seen = {key: {name: os.path.relpath(path, home) for name, path in facts[key].items()} for key in _held(facts)}
    return facts | {BESIDE: seen}


def located(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the facts with every path where it is now, and nothing else of :func:`with_beside`.

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
