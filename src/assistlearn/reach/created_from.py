"""A new run that goes on from an earlier one, wherever its agents are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assistlearn.agent.file import load_description
from assistlearn.errors import SettingsError
from assistlearn.initiator.continuing import KEPT_ONLY, REQUIRE, check_same_terms
from assistlearn.initiator.folder import RunFolder, RunSettings
from assistlearn.initiator.opening import check_matching, check_new, write_run
from assistlearn.plan import Plan
from assistlearn.reach.opening import new_folder


@dataclass(frozen=True)
class Onward:
    """How a run that goes on differs from the earlier one.

    Attributes
    ----------
    files : sequence of path
        On this machine: the agent files of new helpers. Over a network: the task file, or none to ask the same helpers
        again.
    without : sequence of str
        Helpers of the earlier run that do not take part again.
    settings : mapping
        Settings that get a new value.
    require_kept : bool
        Whether to refuse where an agent cannot take its turns again.
    kept_only : bool
        Whether no round is taken afresh: nobody trains but new helpers.
    """

    files: Sequence[Path] = ()
    without: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    require_kept: bool = False
    kept_only: bool = False


def create_from(folder: Path, run: str, earlier: RunFolder, onward: Onward) -> RunFolder:
    """Write the settings of a run that goes on from an earlier one, and what it needs from the earlier one.

    Parameters
    ----------
    folder : path
        The folder of the new run. It must not hold a run yet.
    run : str
        The run's name.
    earlier : RunFolder
        The run that it goes on from.
    onward : Onward
        How the new run differs.
    """
    settings = earlier.settings()
    check_same_terms(settings, onward.settings)
    strangers = [name for name in onward.without if name not in settings.helpers]
    if strangers:
        raise SettingsError(f"--without {strangers[0]}: the helpers of run {settings.run!r} are {settings.helpers}.")
    asked = {REQUIRE: onward.require_kept, KEPT_ONLY: onward.kept_only}
    more: dict[str, Any] = {"goes_on": earlier} | {key: True for key, wanted in asked.items() if wanted}
    if settings.reach == "processes":
        return _with_processes(folder, run, settings, onward, more)
    if onward.files:
        return _with_task(folder, run, onward, more)
    return _with_the_same(folder, run, settings, onward, more)


def _with_processes(folder: Path, run: str, settings: RunSettings, onward: Onward, more: dict[str, Any]) -> RunFolder:
    from assistlearn.reach.processes.reach_processes import create_run

    known = [Path(path) for name, path in settings.files.items() if name not in onward.without]
    plan = _plan(settings.plan, onward)
    return create_run(folder, run, [*known, *onward.files], plan, **more)


def _with_task(folder: Path, run: str, onward: Onward, more: dict[str, Any]) -> RunFolder:
    from assistlearn.reach.flare.reach_flare import create_run
    from assistlearn.reach.flare.task_file import load_task

    if len(onward.files) > 1 or onward.without:
        raise SettingsError("Over a network the task file names all helpers. Give one file, and leave out --without.")
    [file] = onward.files
    return create_run(folder, run, file, _plan(load_task(file).plan, onward), **more)


def _with_the_same(folder: Path, run: str, settings: RunSettings, onward: Onward, more: dict[str, Any]) -> RunFolder:
    """Create a run over a network with the helpers of the earlier run, except those that are left out."""
    made = new_folder(folder)
    initiator = load_description(Path(settings.files[settings.initiator]))
    check_new(run, [initiator])
    plan = _plan(settings.plan, onward)
    check_matching(plan.alignment, [initiator])
    helpers = [name for name in settings.helpers if name not in onward.without]
    files = {settings.initiator: settings.files[settings.initiator]}
    places = {key: value for key, value in settings.places.items() if key not in (REQUIRE, KEPT_ONLY)}
    write_run(made, run, initiator, helpers, plan, reach=settings.reach, files=files, **(places | more))
    return made


def _plan(plan: Plan, onward: Onward) -> Plan:
    return replace(plan, **onward.settings)
