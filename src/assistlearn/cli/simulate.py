"""``assistlearn simulate``: a run in which every agent is a process on this machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli.output import Json
from assistlearn.cli.plan_options import flag_of, takes_plan
from assistlearn.cli.run_name import new_name
from assistlearn.cli.training_run import report_run, train_run
from assistlearn.errors import SettingsError
from assistlearn.plan import RUN, SETTINGS, Plan
from assistlearn.reach import A_YEAR, TIMEOUT

if TYPE_CHECKING:
    from assistlearn.runs.folder import RunFolder

_run = partial(typer.Option, rich_help_panel=RUN)

OF_THE_PROGRAM = {"resume", "timeout", "json"}
"""Options that do not belong to a run's settings, so that they may be given when it is resumed."""


@takes_plan
def simulate(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Two or more agent files. One of them, the initiator's, names a label."),
    ] = None,
    out: Annotated[
        Path | None, _run("--out", "-o", metavar="FOLDER", help="The folder for the run.", show_default="runs/NAME")
    ] = None,
    run: Annotated[
        str, _run(metavar="NAME", help="The run's name.", show_default="run-, the time and four characters")
    ] = "",
    resume: Annotated[
        Path | None, _run(metavar="FOLDER", help="Go on with the interrupted run in this folder.")
    ] = None,
    timeout: Annotated[
        float,
        _run(
            min=1,
            max=A_YEAR,
            metavar="SECONDS",
            help="How long to wait for an answer of an agent. A slow learner needs more.",
        ),
    ] = TIMEOUT,
    *,
    plan: Plan,
    json: Json = False,
) -> None:
    """Train with all agents on this machine. Each has its own process and table; only messages pass between them.

    Without options you get the recommended settings. After Ctrl-C, go on with --resume.
    """
    from assistlearn.reach.opening import check_command
    from assistlearn.runs.folder import RunFolder

    if resume is not None:
        _refuse_settings(context)
        folder = RunFolder(resume)
        check_command(folder, "simulate")
    else:
        name = run or new_name("run")
        folder = _new_run(files or [], name, out, plan)
    train_run(folder, quiet=json, timeout=timeout)
    report_run(folder, json)


def _refuse_settings(context: typer.Context) -> None:
    """Raise ``SettingsError`` if an option was given that cannot change a run that has begun."""
    for name in context.params:  # in the order in which they were given
        source = None if name in OF_THE_PROGRAM else context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            flag = flag_of(name) if name in SETTINGS else f"--{name}"
            given = "The agents' files" if name == "files" else flag
            raise SettingsError(
                f"{given} cannot be given with --resume: a run goes on as it was begun. Leave it out, or start a new "
                "run without --resume."
            )


def _new_run(files: list[Path], name: str, out: Path | None, plan: Plan) -> RunFolder:
    from assistlearn.reach.processes.reach_processes import create_run

    if len(files) < 2:
        named = f"only {files[0]} is named" if files else "none is named"
        raise SettingsError(
            f"A run needs the files of at least two agents; {named}. (To go on with a run: --resume FOLDER. "
            "For files to start from: assistlearn init demo --example)"
        )
    return create_run(out or Path("runs") / name, name, files, plan)
