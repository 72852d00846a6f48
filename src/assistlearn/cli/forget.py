"""``assistlearn forget``: remove a run's models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assistlearn.agents.memory import RunMemory, run_folder, runs_at
from assistlearn.cli.output import Json, console, say_json
from assistlearn.deployment.run_folder import RunFolder
from assistlearn.deployment.simulation import opened_run
from assistlearn.errors import RunError
from assistlearn.tables import load_description


def forget(
    run: Annotated[str, typer.Argument(help="The run's folder; with --agent, the run's name.")],
    agent: Annotated[
        Path | None, typer.Option(help="Only at the agent of this TOML file, without asking the others.")
    ] = None,
    json: Json = False,
) -> None:
    """Remove a run's models and records at every agent, or at one. Ledgers are kept."""
    if agent is None:
        folder = RunFolder(Path(run))
        folder.settings()
        with opened_run(folder, training=False) as (leader, _):
            said = leader.forget()
    else:
        said = _at_one(agent, run)
    if json:
        say_json(said)
        return
    for name, words in said.items():
        console().print(f"{name}: {words}")


def _at_one(file: Path, run: str) -> dict[str, str]:
    description = load_description(file)
    memory = RunMemory(run_folder(description.models, run))
    if not memory.exists:
        raise RunError(
            f"Agent {description.name!r} knows no run {run!r}. It knows {runs_at(description.models) or 'none'}."
        )
    return {description.name: f"{memory.forget()} models removed"}
