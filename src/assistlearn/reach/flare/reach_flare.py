"""Runs over a network: created from a task's file, and opened to train, to predict or to forget."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from assistlearn.agent.file import load_description
from assistlearn.errors import NetworkError, SettingsError
from assistlearn.events import EventLog
from assistlearn.initiator.folder import RunFolder, RunSettings
from assistlearn.initiator.opening import check_matching, check_new, write_run
from assistlearn.plan import Plan
from assistlearn.protocol import Transport
from assistlearn.reach.flare.carrying.flare_transport import FlareTransport
from assistlearn.reach.flare.installed import require_flare
from assistlearn.reach.flare.provisioning.kit import Kind, Kit, load_kit
from assistlearn.reach.flare.site.findings import check_named
from assistlearn.reach.flare.task_file import check_helpers, load_task
from assistlearn.reach.opening import new_folder


class Flare:
    """Reaches the agents of other organisations through their sites."""

    command = "train"
    may_come_back = True

    def opened(self, settings: RunSettings, log: EventLog, timeout: float) -> AbstractContextManager[Transport]:
        """Return a transport that starts jobs as they are needed; the run's settings say how long it tries."""
        require_flare()
        kits, seconds = settings.places["kits"], settings.places["patience_seconds"]
        site, admin = load_kit(Path(kits["site"]), "site"), load_kit(Path(kits["admin"]), "admin")
        return FlareTransport(site, admin, settings.helpers, seconds, log)


REACH = Flare()


def create_run(folder: Path, run: str, task_file: Path, plan: Plan | None = None, **more: Any) -> RunFolder:
    """Check a task and the initiator's kits and table, and write the settings of a new run.

    Parameters
    ----------
    folder : path
        The folder of the new run. It must not hold a run yet.
    run : str
        The run's name.
    task_file : path
        The task.
    plan : Plan, optional
        How to train; by default as the task says.
    **more
        Further settings of the run, such as the terms of a pilot.
    """
    require_flare()
    made = new_folder(folder)
    task = load_task(task_file)
    site, admin = _kit(task_file, task.site, "site"), _kit(task_file, task.admin, "admin")
    check_helpers(task_file, task.helpers, site.name)
    if site.network != admin.network:
        raise SettingsError(
            f"{task_file}: the kit {task.site} is of the network {site.network!r}, {task.admin} of {admin.network!r}. "
            "Name two kits of one network."
        )
    agent_file = task.agent or site.agent_file
    initiator = load_description(agent_file)
    check_named(site, initiator)
    if not initiator.is_initiator:
        raise SettingsError(f"{agent_file} names no label column (label = ...): the initiator has the labels.")
    check_new(run, [initiator])
    plan = task.plan if plan is None else plan
    check_matching(plan.alignment, [initiator])
    write_run(
        made,
        run,
        initiator,
        task.helpers,
        plan,
        reach="flare",
        files={initiator.name: str(agent_file.resolve())},
        kits={"site": str(site.folder), "admin": str(admin.folder)},
        patience_seconds=task.give_up_after,
        **more,
    )
    return made


def _kit(task_file: Path, folder: Path, kind: Kind) -> Kit:
    try:
        return load_kit(folder, kind)
    except NetworkError as error:
        error.add_note(
            f"The key {kind!r} in {task_file} names this folder. Without that key, this folder is the default."
        )
        raise
