"""What a run is about: who takes part, where they are, and the plan."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any

from assistlearn.errors import RunError, SettingsError
from assistlearn.plan import SETTINGS, Plan

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What a run is about.

    Attributes
    ----------
    run : str
        Its name, the same at every agent.
    initiator : str
        Who wants help.
    agents : list of str
        All agents, the initiator first.
    classes : list
        The names of the classes, in the order of the labels' values.
    fingerprint : str
        The fingerprint of the initiator's table, to notice a change between runs.
    files : dict of str to str
        The agents' files that are on this machine; the initiator's always is.
    plan : Plan
        How to train.
    reach : str
        How the agents are reached: a name in :mod:`assistlearn.reach`.
    places : dict
        Further facts about the run, such as what is needed to reach the agents beside the files.
    label_only : bool
        Whether the initiator has labels alone, and takes no turns.
    """

    run: str
    initiator: str
    agents: list[str]
    classes: list[Any]
    fingerprint: str
    files: dict[str, str]
    plan: Plan
    reach: str
    places: dict[str, Any] = field(default_factory=dict)
    label_only: bool = False

    @property
    def helpers(self) -> list[str]:
        """All agents but the initiator."""
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
