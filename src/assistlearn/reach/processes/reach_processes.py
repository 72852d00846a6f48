"""Runs of agents that are all on this machine, every helper in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from assistlearn.agent.file import AgentDescription, load_description
from assistlearn.errors import SettingsError
from assistlearn.events import EventLog
from assistlearn.initiator.folder import RunFolder, RunSettings
from assistlearn.initiator.opening import check_matching, check_new, write_run
from assistlearn.plan import Plan
from assistlearn.protocol import Transport
from assistlearn.reach.opening import new_folder
from assistlearn.reach.processes.process_transport import ProcessTransport


class Processes:
    """Starts a process for every helper's file."""

    command = "simulate"
    may_come_back = False

    def opened(self, settings: RunSettings, log: EventLog, timeout: float) -> AbstractContextManager[Transport]:
        """Return a transport whose processes run while it is open."""
        return ProcessTransport({name: Path(settings.files[name]) for name in settings.helpers}, timeout)


REACH = Processes()


def create_run(folder: Path, run: str, files: Sequence[Path], plan: Plan, **more: Any) -> RunFolder:
    """Check the agents' files and write the settings of a new run.

    Parameters
    ----------
    folder : path
        The folder of the new run. It must not hold a run yet.
    run : str
        The run's name.
    files : sequence of path
        The agents' files; one of them, the initiator's, names a label column.
    plan : Plan
        How to train.
    **more
        Further settings of the run, such as the terms of a pilot.
    """
    made = new_folder(folder)
    descriptions = [load_description(file) for file in files]
    initiator = check_together(descriptions)
    helpers = [d.name for d in descriptions if d.name != initiator.name]
    check_new(run, descriptions)
    check_matching(plan.alignment, descriptions)
    files_of = {d.name: str(Path(d.file).resolve()) for d in descriptions}
    write_run(made, run, initiator, helpers, plan, reach="processes", files=files_of, **more)
    return made


def check_together(descriptions: Sequence[AgentDescription]) -> AgentDescription:
    """Refuse agents that cannot work together on one machine; return the initiator."""
    _check_apart(descriptions)
    return _initiator(descriptions)


def _initiator(descriptions: Sequence[AgentDescription]) -> AgentDescription:
    found = [d for d in descriptions if d.is_initiator]
    if len(found) != 1:
        files = " and ".join(str(d.file) for d in found)
        raise SettingsError(
            "Exactly one agent, the initiator, must have the labels: its file names a label column (label = ...). "
            + (f"Here {files} do. Remove the line from the helpers' files." if found else "Here none does.")
        )
    return found[0]


def _check_apart(descriptions: Sequence[AgentDescription]) -> None:
    """Refuse two files of one agent, and two agents in one folder, where they would mix up their models."""
    names: dict[str, AgentDescription] = {}
    homes: dict[Path, AgentDescription] = {}
    for this in descriptions:
        other = names.setdefault(this.name, this)
        if other is not this:
            raise SettingsError(f"{other.file} and {this.file} both describe an agent {this.name!r}. Name each once.")
        other = homes.setdefault(this.models.resolve(), this)
        if other is not this:
            raise SettingsError(
                f"{other.file} and {this.file} both keep their models in {this.models}. Give each agent a folder of "
                "its own (models = ...)."
            )
