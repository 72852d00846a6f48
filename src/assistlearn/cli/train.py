"""``assistlearn train``: a run with other organisations."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli.output import Json
from assistlearn.cli.run_name import new_name
from assistlearn.cli.training_run import report_run
from assistlearn.cli.waiting import LONGEST_WAIT, train_awaiting, withdrawn
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
    wait: Annotated[
        float | None,
        typer.Option(
            min=0, max=LONGEST_WAIT, metavar="MINUTES", help="Ask again until helpers' owners have answered, so long."
        ),
    ] = None,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", metavar="", help="Ask helpers' owners no longer for consent; train nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Train with other organisations, over the network. This organisation's site must be running.

    Ctrl-C leaves a run that --resume goes on with. Where the owner of a helper must consent first, the command says so
    and ends with exit code 6; give it again to hear of the answer.
    """
    from assistlearn.reach.opening import check_command
    from assistlearn.runs.folder import RunFolder

    if withdraw and (resume is not None or wait is not None):
        raise SettingsError("--withdraw goes with a task's file alone: what is withdrawn is what that asks for.")
    if (file is None) == (resume is None):
        raise SettingsError("Name a task's file to start a run, or --resume FOLDER to go on with one; not both.")
    if resume is not None:
        if out is not None or run is not None:
            raise SettingsError("--out and --run cannot be given with --resume: a run goes on as it was begun.")
        check_command(RunFolder(resume), "train")
        make = partial(RunFolder, resume)
    else:
        assert file is not None
        make = partial(new_run, file, run, out)
    if withdraw:
        withdrawn(make(), json)
        return
    report_run(train_awaiting(make, wait, math.inf, quiet=json), json)


def new_run(file: Path, run: str | None, out: Path | None) -> RunFolder:
    """Create the run that a task's file describes."""
    from assistlearn.reach.flare.reach_flare import create_run
    from assistlearn.reach.flare.task_file import load_task

    name = run or load_task(file).run or new_name("run")
    return create_run(out or Path("runs") / name, name, file)
