"""``assistlearn train``: a run with other organisations, or one that goes on from an earlier run."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistlearn.cli.output import Json
from assistlearn.cli.plan_options import flag_of, takes_changes
from assistlearn.cli.run_name import new_name
from assistlearn.cli.training_run import report_run
from assistlearn.cli.waiting import LONGEST_WAIT, train_awaiting, withdrawn
from assistlearn.errors import SettingsError
from assistlearn.reach import TIMEOUT

if TYPE_CHECKING:
    from assistlearn.reach.created_from import Onward
    from assistlearn.runs.folder import RunFolder


_from = partial(typer.Option, rich_help_panel="Going on from an earlier run")

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE",
        help="The task file. With --from, for a run on this machine: the agent files of new helpers, if any.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="The folder for the run.", show_default="runs/NAME")
]
Run = Annotated[
    str | None, typer.Option(metavar="NAME", help="The run's name.", show_default="the task's, or the time")
]
Resume = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on with the interrupted run in this folder.")]
From = Annotated[
    Path | None,
    _from(
        "--from",
        metavar="RUN",
        help="Start from this finished run, with today's rows and helpers. What the agents have learned is kept "
        "where it still helps.",
    ),
]
Without = Annotated[
    list[str] | None, _from(metavar="HELPER", help="A helper that no longer takes part. May be given several times.")
]
RequireKept = Annotated[
    bool,
    _from(
        "--require-kept",
        metavar="",
        help="Stop if an agent no longer has its models. Without this option, that agent trains anew.",
    ),
]
KeptOnly = Annotated[
    bool,
    _from(
        "--kept-only",
        metavar="",
        help="Add no new rounds. Only new helpers train, and nothing is sent about people whose data have not changed.",
    ),
]


Wait = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=LONGEST_WAIT,
        metavar="MINUTES",
        help="How long to ask helpers' owners again and again for their consent.",
    ),
]
Withdraw = Annotated[
    bool, typer.Option("--withdraw", metavar="", help="Take back the request for consent. Nothing is trained.")
]


@takes_changes
def train(
    context: typer.Context,
    files: Files = None,
    out: Out = None,
    run: Run = None,
    resume: Resume = None,
    wait: Wait = None,
    withdraw: Withdraw = False,
    earlier: From = None,
    without: Without = None,
    require_kept: RequireKept = False,
    kept_only: KeptOnly = False,
    *,
    changes: dict[str, Any],
    json: Json = False,
) -> None:
    """Train with other organisations over a network, or go on from an earlier run. Your site must be running.

    With --from RUN you go on from a finished run, on this machine or over a network. After Ctrl-C, go on with --resume.
    If the owner of a helper must consent first, the command ends with exit code 6. Give it again later to see the
    answer.
    """
    from assistlearn.reach.created_from import Onward, create_from
    from assistlearn.reach.opening import check_command
    from assistlearn.runs.folder import RunFolder

    onward = Onward(files or [], without or [], changes, require_kept, kept_only)
    if earlier is None:
        _refuse_alone(onward)
    if withdraw and (resume is not None or wait is not None):
        raise SettingsError("--withdraw needs a task file, and cannot be given with --resume or --wait.")
    if (bool(files) or earlier is not None) == (resume is not None):
        raise SettingsError(
            "Name a task file to start a run, or give --resume FOLDER to go on with an interrupted run; not both."
        )
    make: Callable[[], RunFolder]
    if resume is not None:
        if out is not None or run is not None:
            raise SettingsError("--out and --run cannot be given with --resume: the run keeps its folder and its name.")
        check_command(RunFolder(resume), "train")
        make = partial(RunFolder, resume)
    elif earlier is not None:
        name = run or new_name("run")
        make = partial(create_from, out or Path("runs") / name, name, RunFolder(earlier), onward)
    else:
        make = partial(new_run, files or [], run, out)
    if withdraw:
        withdrawn(make(), json)
        return
    here = earlier is not None and RunFolder(earlier).settings().reach == "processes"
    report_run(train_awaiting(make, wait, TIMEOUT if here else math.inf, quiet=json), json)


def _refuse_alone(onward: Onward) -> None:
    """Raise ``SettingsError`` if an option was given that is only for a run that goes on from an earlier one."""
    given = [*(flag_of(name) for name in onward.settings), *(["--without"] if onward.without else [])]
    flags = {"--require-kept": onward.require_kept, "--kept-only": onward.kept_only}
    given += [flag for flag, wanted in flags.items() if wanted]
    if given:
        raise SettingsError(
            f"{given[0]} can only be given with --from RUN. The settings of a new run are in its task file. A resumed "
            "run keeps its settings."
        )


def new_run(files: list[Path], run: str | None, out: Path | None) -> RunFolder:
    """Create the run that a task's file describes."""
    from assistlearn.reach.flare.reach_flare import create_run
    from assistlearn.reach.flare.task_file import load_task

    if len(files) > 1:
        raise SettingsError(
            f"{files[1]}: give only one task file. (For agents on this machine, use: assistlearn simulate)"
        )
    [file] = files
    name = run or load_task(file).run or new_name("run")
    return create_run(out or Path("runs") / name, name, file)
