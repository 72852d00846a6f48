"""Make all checks of ``assistlearn doctor``, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assistlearn.cli.diagnosis import requirements, surroundings
from assistlearn.cli.diagnosis.health_finding import HealthFinding
from assistlearn.cli.diagnosis.pasting import fit_to_paste
from assistlearn.errors import AssistLearnError
from assistlearn.extras import of_package


def examine(agent: Path | None = None) -> list[HealthFinding]:
    """Return all findings, without the home folder and the user's name.

    Parameters
    ----------
    agent : path, optional
        An agent's file, which is checked as well. Its table is not read.
    """
    return [replace(each, says=fit_to_paste(each.says), remedy=fit_to_paste(each.remedy)) for each in _findings(agent)]


def _findings(agent: Path | None) -> Iterator[HealthFinding]:
    asked = of_package()
    yield from requirements.look_at_versions(asked)
    yield from requirements.look_at_extras(asked)
    yield from surroundings.look_at_ports()
    yield from surroundings.look_at_folders()
    yield from surroundings.look_at_variables()
    yield from surroundings.look_at_clock()
    yield from surroundings.look_at_machine()
    if agent is not None:
        yield from _look_at_agent(agent)


def _look_at_agent(file: Path) -> Iterator[HealthFinding]:
    from assistlearn.agent_files import load_description

    check = f"assistlearn check {file}"
    try:
        description = load_description(file)
    except (AssistLearnError, OSError) as error:
        yield HealthFinding("Agent", "file", "wrong", str(error), f"Correct it, then: {check}")
        return
    yield HealthFinding("Agent", "file", "ok", "can be read", f"Look at its table as well: {check}")
    home = description.models
    while not home.exists():
        home = home.parent
    yield replace(surroundings.writable("models", home), topic="Agent")
