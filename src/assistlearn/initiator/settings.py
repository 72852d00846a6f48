"""What a run is about: who takes part, where they are, the plan, and the versions that made it."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from assistlearn.errors import RunError, SettingsError
from assistlearn.evaluation.terms import Terms
from assistlearn.plan import SETTINGS, Plan
from assistlearn.release import __version__

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What a run is about, as it stands in the run's folder."""

    run: str  # its name, the same at every agent
    initiator: str
    agents: list[str]  # the initiator first
    classes: list[Any]  # in the order of the labels' values
    fingerprint: str  # of the initiator's table, to notice a change between runs
    files: dict[str, str]  # the agents' files that are on this machine; the initiator's always is
    plan: Plan
    reach: str  # how the agents are reached: a name in assistlearn.reach
    places: dict[str, Any] = field(default_factory=dict)  # further facts, such as what is needed to reach the agents
    label_only: bool = False  # the initiator has labels alone, and takes no turns

    @property
    def helpers(self) -> list[str]:
        return self.agents[1:]

    @property
    def turn_takers(self) -> list[str]:
        """Who takes turns and votes: all agents, or the helpers where the initiator has labels alone."""
        return self.helpers if self.label_only else self.agents

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, in one flat dictionary."""
        facts = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("plan", "places")}
        return facts | self.plan.of_runs() | self.places | {"format": FORMAT}

    def agreed(self) -> dict[str, Any]:
        """Return what must not change once the run has begun, as plain values: all but where the agents are."""
        facts: dict[str, Any] = json.loads(json.dumps(self.to_dict()))
        return {name: value for name, value in facts.items() if name not in {"files", "reach", *self.places}}

    @classmethod
    def from_dict(cls, facts: dict[str, Any], source: str) -> RunSettings:
        """Return the settings from what :meth:`to_dict` gave; ``source`` names their file in error messages."""
        if facts.get("format") != FORMAT:
            raise RunError(f"{source} has format {facts.get('format')}; this release reads format {FORMAT}.")
        own = {each.name for each in fields(cls)} - {"plan", "places"}
        missing = sorted((own | {name for name, known in SETTINGS.items() if known.runs}) - facts.keys())
        if missing:
            raise RunError(f"{source} is not complete: {', '.join(missing)} missing.")
        try:
            plan = Plan(**{name: value for name, value in facts.items() if name in SETTINGS})
        except SettingsError as error:
            raise RunError(f"{source} was changed or damaged: {error}") from None
        places = {name: value for name, value in facts.items() if name not in own | SETTINGS.keys() | {"format"}}
        return cls(plan=plan, places=places, **{name: facts[name] for name in own})


PILOT = "pilot"
"""The key of a pilot's terms in the settings of its run; other runs have no such key."""


def terms_of(settings: RunSettings) -> Terms | None:
    """Return the terms of a pilot; None for a run that is no pilot."""
    said = settings.places.get(PILOT)
    try:
        return None if said is None else Terms(**said)
    except (TypeError, SettingsError) as error:
        raise RunError(f"The terms of the pilot {settings.run!r} were changed or damaged: {error}") from None


def asked(terms: Terms) -> dict[str, object]:
    return {PILOT: asdict(terms)}


def versions() -> dict[str, str]:
    return {
        "assistlearn": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": version("scikit-learn"),
    }


# -- paths, kept so that a project can be copied or moved as a whole
#
# Each path is kept twice: as it was given, and relative to the run's folder. The relative path is used if something is
# there: in a copy of a project, that is the copy's own file. ``assistlearn move`` mends a path if neither is right.


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
