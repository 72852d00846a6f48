"""``task.toml``: what the initiator wants to train, with whom, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistlearn.agent_files.keys import Keys
from assistlearn.agent_files.places import Places
from assistlearn.errors import DescriptionError, SettingsError
from assistlearn.plan import SETTINGS, Plan
from assistlearn.reach.flare.provisioning.network_file import read_toml

TABLE = "training"
GIVE_UP_AFTER = 120.0
LEAST_SECONDS, MOST_SECONDS = 5.0, 86_400.0
OLDER_NAMES = {"holdout_patience": "patience"}
"""What settings were called in task files before; they are understood."""


@dataclass(frozen=True)
class TaskFile:
    """What a task's file says; paths are relative to its folder.

    Attributes
    ----------
    site, admin : path
        The initiator's kits.
    agent : path or None
        Its agent file; None: the one in its kit.
    helpers : tuple of str
        The organisations that are asked to help.
    plan : Plan
        How to train.
    run : str or None
        The run's name.
    give_up_after : float
        Seconds to try to reach an organisation.
    """

    site: Path
    admin: Path
    agent: Path | None
    helpers: tuple[str, ...]
    plan: Plan
    run: str | None = None
    give_up_after: float = GIVE_UP_AFTER


def key_of(name: str) -> str:
    """Return the key of a setting.

    >>> key_of("n_rounds"), key_of("alignment")
    ('rounds', 'alignment')
    """
    return SETTINGS[name].key or SETTINGS[name].option or name


def load_task(file: Path) -> TaskFile:
    """Read and check a task's file, without touching anything that it names.

    Raises
    ------
    DescriptionError
        It names the file, the line, and what to do.
    """
    text, values = read_toml(file, "task's file")
    places = Places.of(file, text)
    own = ("run", "site", "admin", "agent", "helpers", "give_up_after", "patience", TABLE)
    keys = Keys(values, places, (*own, *_keys("")))
    for key, example in (("site", '"kits/bank"'), ("admin", '"kits/admin"'), ("helpers", '["shop"]')):
        keys.required(key, f"{key} = {example}")
    helpers = keys.texts("helpers") or ()
    if not helpers or len(set(helpers)) < len(helpers):
        raise keys.error("helpers", f"helpers = {list(helpers)} must name at least one organisation, each once.")
    agent = keys.text("agent")
    return TaskFile(
        site=file.parent / (keys.text("site") or ""),
        admin=file.parent / (keys.text("admin") or ""),
        agent=None if agent is None else file.parent / agent,
        helpers=helpers,
        plan=_plan(file, keys, keys.table(TABLE, (*_keys(TABLE), *OLDER_NAMES))),
        run=keys.text("run"),
        give_up_after=_seconds(keys),
    )


def _keys(table: str) -> dict[str, str]:
    """Return the settings in a table of the file, by their keys."""
    return {key_of(name): name for name, known in SETTINGS.items() if known.runs and known.table == table}


def _plan(file: Path, top: Keys, training: Keys) -> Plan:
    """Return the plan that the file describes."""
    given: dict[str, Any] = {}
    for keys, table in ((top, ""), (training, TABLE)):
        found = _keys(table) | {old: name for old, name in OLDER_NAMES.items() if table == TABLE}
        for key, name in found.items():
            if key in keys:
                given[name] = _checked(keys, key, name)
    try:
        plan = Plan(**given)
        plan.check_for_runs()
    except SettingsError as error:
        raise DescriptionError(f"{file}: {error}") from None
    return plan


def _checked(keys: Keys, key: str, name: str) -> Any:
    value = keys.get(key)
    complaint = SETTINGS[name].check(value)
    if complaint is not None:
        inside = f"{SETTINGS[name].table}." if SETTINGS[name].table else ""
        raise keys.error(key, f"{inside}{key} = {value!r} {complaint}")
    return float(value) if isinstance(getattr(Plan, name), float) else value


def _seconds(keys: Keys) -> float:
    """Return how long to try to reach an organisation; ``patience`` is what it was called before."""
    key = "patience" if "patience" in keys else "give_up_after"
    value: Any = keys.get(key)
    if value is None:
        return GIVE_UP_AFTER
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not LEAST_SECONDS < value < MOST_SECONDS:
        raise keys.error(
            key, f"{key} = {value!r} must be a number of seconds between {LEAST_SECONDS:g} and {MOST_SECONDS:g}."
        )
    return float(value)


def check_helpers(file: Path, helpers: Sequence[str], initiator: str) -> None:
    """Refuse a task in which the initiator helps itself."""
    if initiator in helpers:
        raise DescriptionError(f"{file}: helpers names {initiator!r}, which is the initiator itself. Leave it out.")
