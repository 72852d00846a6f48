"""``task.toml``: what the initiator wants to train, with whom, and how. Its settings are those of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from assistlearn.errors import DescriptionError, WrongKeyError, did_you_mean
from assistlearn.plan import DEFAULTS_OF_RUNS, SETTINGS, Plan
from assistlearn.reach.flare.provisioning.kit import ADMIN
from assistlearn.toml import Text, read_toml_file

TABLE = "training"
"""The table of the task file that has most settings."""

SITE = "kit"
"""Where the initiator's site kit is, unless the task says otherwise."""

GIVE_UP_AFTER = 120.0
Seconds = Annotated[float, Meta(gt=5.0, lt=86_400.0)]
Names = Annotated[tuple[Text, ...], Meta(examples=[["shop"]])]


@dataclass(frozen=True)
class TaskFile:
    """What a task's file says; paths are relative to its folder.

    Attributes
    ----------
    site, admin : path
        The initiator's kits: ``kit`` beside the task, and ``admin`` in the site kit, unless it says otherwise.
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
    """Return the key of a setting in the task file.

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
    keys: Any = read_toml_file(file, _TaskKeys, "task's file")[0]
    given = DEFAULTS_OF_RUNS | _given(keys, _settings("")) | _given(keys.training, _settings(TABLE))
    site = keys.site or file.parent / SITE
    admin, plan = keys.admin or site / ADMIN, Plan(**given)
    return TaskFile(site, admin, keys.agent, keys.helpers, plan, keys.run, keys.give_up_after)


def check_helpers(file: Path, helpers: Sequence[str], initiator: str) -> None:
    """Refuse a task in which the initiator helps itself."""
    if initiator in helpers:
        raise DescriptionError(f"{file}: helpers names {initiator!r}, which is the initiator itself. Leave it out.")


def _settings(table: str) -> dict[str, str]:
    """Return the names of the settings in a table, by their keys."""
    return {key_of(name): name for name, known in SETTINGS.items() if known.runs and known.table == table}


def _given(keys: Any, settings: dict[str, str]) -> dict[str, Any]:
    """Return the settings that a file gives, by name."""
    values = {
        name: SETTINGS[name].in_runs(getattr(keys, key))
        for key, name in settings.items()
        if getattr(keys, key) is not UNSET
    }
    return {name: float(v) if isinstance(getattr(Plan, name), float) else v for name, v in values.items()}


def _check(keys: Any, table: str) -> None:
    """Refuse a value that a setting cannot have."""
    for key, name in _settings(table).items():
        value = getattr(keys, key)
        complaint = None if value is UNSET else SETTINGS[name].complaint_of_runs(SETTINGS[name].in_runs(value))
        if complaint is not None:
            meant = did_you_mean(value, _choices(name)) if isinstance(value, str) else ""
            raise WrongKeyError(key, f"{table + '.' if table else ''}{key} = {value!r} {complaint}{meant}")


def _choices(name: str) -> Sequence[str]:
    choices = SETTINGS[name].choices
    return [] if choices is None else choices()


def _check_training(keys: Any) -> None:
    _check(keys, TABLE)


def _check_top(keys: Any) -> None:
    _check(keys, "")
    if not keys.helpers or len(set(keys.helpers)) < len(keys.helpers):
        named = list(keys.helpers)
        raise WrongKeyError("helpers", f"helpers = {named} must name at least one organisation, each once.")


def _table(name: str, fields: list[Any], table: str, check: Any) -> Any:
    """Return the type of a table: some keys of its own, and a key for each setting that belongs in it."""
    settings = [(key, Any, UNSET) for key in _settings(table)]
    made: Any = msgspec.defstruct(
        name,
        [*fields, *settings],
        namespace={"__post_init__": check},
        frozen=True,
        forbid_unknown_fields=True,
    )
    return made


_Training = _table("Training", [], TABLE, _check_training)
_TaskKeys = _table(
    "TaskKeys",
    [
        ("helpers", Names),
        ("site", Path | None, None),
        ("admin", Path | None, None),
        ("run", Text | None, None),
        ("agent", Path | None, None),
        ("give_up_after", Seconds, GIVE_UP_AFTER),
        (TABLE, _Training, msgspec.field(default_factory=_Training)),
    ],
    "",
    _check_top,
)
