"""``assistlearn train``: a run with other organisations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli.output import Json
from assistlearn.cli.run_name import new_name
from assistlearn.cli.training_run import report_run, train_run
from assistlearn.errors import SettingsError

if TYPE_CHECKING:
    from assistlearn.runs.folder import RunFolder


def train(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The task's TOML file.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="The run's folder.", show_default="runs/NAME")
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="NAME", help="The run's name.", show_default="the task's, or the time")
    ] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on with the run in this folder.")] = None,
    json: Json = False,
) -> None:
    """Train with other organisations, over the network. This organisation's site must be running.

    Ctrl-C leaves a run that --resume goes on with.
    """
    from assistlearn.reach.opening import check_command
    from assistlearn.runs.folder import RunFolder

    if (file is None) == (resume is None):
        raise SettingsError("Name a task's file to start a run, or --resume FOLDER to go on with one; not both.")
    if resume is not None:
        if out is not None or run is not None:
            raise SettingsError("--out and --run cannot be given with --resume: a run goes on as it was begun.")
        folder = RunFolder(resume)
        check_command(folder, "train")
    else:
        assert file is not None
        folder = new_run(file, run, out)
    train_run(folder, quiet=json, timeout=math.inf)
    report_run(folder, json)


def new_run(file: Path, run: str | None, out: Path | None) -> RunFolder:
    """Create the run that a task's file describes."""
    from assistlearn.reach.flare.reach_flare import create_run
    from assistlearn.reach.flare.task_file import load_task

    name = run or load_task(file).run or new_name("run")
    return create_run(out or Path("runs") / name, name, file)
