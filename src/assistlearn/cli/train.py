"""Commands that train: ``simulate`` and ``train``, and the options of a plan."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from assistlearn.cli.output import Json, command, complaints, flag, new_name, plain, say, say_json
from assistlearn.errors import ConsentAwaitedError, InterruptedRunError, SettingsError
from assistlearn.evaluation.words import counted
from assistlearn.plan import DEFAULTS_OF_RUNS, RUN, SETTINGS, Plan, Setting
from assistlearn.reach import A_YEAR, TIMEOUT

if TYPE_CHECKING:
    from assistlearn.cli.progress import TrainingBar
    from assistlearn.events import Event, EventLog
    from assistlearn.initiator.folder import RunFolder


# The options of a command that takes settings of a run. They are made from the plan's settings.


OF_RUNS = {name: setting for name, setting in SETTINGS.items() if setting.runs}


def takes_plan(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every setting of a run in place of its parameter ``plan``, which gets the plan."""
    options = {name: _option(name, setting) for name, setting in OF_RUNS.items()}
    return _with_options(command, "plan", options, lambda context, values: Plan(**_checked(values)))


def takes_changes(panel: str, defaults: Mapping[str, str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options in place of its parameter ``changes``, which gets the settings that were given.

    Help shows them under the heading ``panel``, and ``defaults`` says what holds where a setting is not given.
    """
    options = {name: _option(name, SETTINGS[name], panel, default) for name, default in defaults.items()}

    def changes(context: typer.Context, values: dict[str, Any]) -> dict[str, Any]:
        return _checked({name: value for name, value in values.items() if is_given(context, name)})

    return lambda command: _with_options(command, "changes", options, changes)


def _with_options(
    command: Callable[..., None],
    place: str,
    options: Mapping[str, inspect.Parameter],
    made: Callable[[Any, dict[str, Any]], object],
) -> Callable[..., None]:
    def with_options(**given: Any) -> None:
        values = {name: given.pop(name) for name in options}
        command(**given, **{place: made(given.get("context"), values)})

    # typer reads the signature: the command's own, with the options in place of the parameter
    own = inspect.signature(command, eval_str=True)
    parameters = [
        shown.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in own.parameters.values()
        for shown in (options.values() if parameter.name == place else [parameter])
    ]
    out: Any = with_options
    out.__signature__ = own.replace(parameters=parameters)
    out.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    out.__name__, out.__doc__ = command.__name__, command.__doc__
    return cast(Callable[..., None], out)


def is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def refuse_given(context: typer.Context, allowed: Container[str], noun: str) -> None:
    """Raise ``SettingsError`` if an option was given that cannot change a run, or a pilot, that has begun."""
    for name in context.params:  # in the order in which they were given
        if name not in allowed and is_given(context, name):
            given = "The agents' files" if name == "files" else flag_of(name)
            raise SettingsError(
                f"{given} cannot be given with --resume: a {noun} goes on as it was begun. Leave it out, or start a "
                f"new {noun} without --resume."
            )


def flag_of(name: str) -> str:
    """Return the name of the option for a setting, or for another parameter of a command.

    >>> flag_of("n_rounds"), flag_of("weak_agent"), flag_of("out")
    ('--rounds', '--weak-agent', '--out')
    """
    return "--" + ((name in SETTINGS and SETTINGS[name].option) or name).replace("_", "-")


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values, once each is checked; errors name the option."""
    for name, value in values.items():
        complaint = SETTINGS[name].complaint_of_runs(value)
        if complaint is not None:
            raise SettingsError(f"{flag_of(name)} {value} {complaint}")
    return values


def _option(name: str, known: Setting, panel: str = "", shown: str = "") -> inspect.Parameter:
    default = DEFAULTS_OF_RUNS.get(name, getattr(Plan, name))
    kind: Any = int if default is None else type(default)  # None: the method decides, and it is a number or a choice
    if known.choices is not None:
        kind = Literal[tuple(known.choices())]
    option = typer.Option(
        flag_of(name),
        metavar=known.metavar,
        help=_help(known),
        rich_help_panel=panel or known.panel,
        show_default=shown or known.goes_with_method or ("none" if default == "" else True),
        parser=_number_or(known) if known.off else None,
    )
    annotation = cast(Any, Annotated)[kind | None if default is None else kind, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _help(known: Setting) -> str:
    """Return the explanation of a setting, with the choices if it does not name them, and how to switch it off."""
    choices = [] if known.choices is None else list(known.choices())
    named = all(f"{choice}: " in known.explanation for choice in choices)
    words = known.explanation if named else f"{known.explanation} One of: {', '.join(choices)}."
    return f'{words} "{known.off}" switches this off.' if known.off else words


def _number_or(known: Setting) -> Callable[[Any], float | None]:
    """Return a parser for a number, or for the word that switches the setting off."""

    def number(text: Any) -> float | None:
        try:
            return cast(float | None, known.in_runs(text if known.in_runs(text) is None else float(text)))
        except ValueError:
            raise typer.BadParameter(f"{text!r} is neither a number nor {known.off!r}.") from None

    return number


# The options of every command that begins a run.


of_run = partial(typer.Option, rich_help_panel=RUN)

Out = Annotated[
    Path | None, of_run("--out", "-o", metavar="FOLDER", help="The folder for the run.", show_default="runs/NAME")
]
Name = Annotated[str, of_run("--run", metavar="NAME", help="The run's name.", show_default="the task's, or the time")]
Resume = Annotated[Path | None, of_run(metavar="FOLDER", help="Go on with the interrupted run in this folder.")]
Timeout = Annotated[
    float,
    of_run(
        min=1,
        max=A_YEAR,
        metavar="SECONDS",
        help="How long to wait for an answer of an agent on this machine. A slow learner needs more.",
    ),
]


# Train a run and report it, wherever its agents are.


def train_run(folder: RunFolder, quiet: bool, timeout: float, asks_first: bool = False) -> None:
    """Train a run, unless it is finished; a bar shows its events.

    With ``asks_first`` helpers are asked for their owners' consent before the run is opened anywhere.
    """
    from assistlearn.cli.progress import TrainingBar
    from assistlearn.reach.opening import train

    if folder.result() is None:
        bar = TrainingBar(folder.settings(), quiet)
        follow(
            folder, bar, lambda log: train(folder, log, timeout, asks_first), lambda: counted(folder.n_turns, "turn")
        )


def follow(
    folder: RunFolder,
    bar: TrainingBar,
    events: Callable[[EventLog], Iterator[Event]],
    done: Callable[[], str],
    noun: str = "run",
) -> None:
    """Show the events until they end. Ctrl-C becomes an error that says how much is ``done`` and how to go on."""
    from assistlearn.reach.opening import resuming

    log = folder.log()
    try:
        with bar:
            log.listen(bar.show)
            for _ in events(log):
                pass
    except KeyboardInterrupt:
        interrupted = InterruptedRunError(f"Interrupted after {done()}. The {noun} is kept in {folder.path}.")
        interrupted.add_note(f"Go on with it: {resuming(folder)}")
        raise interrupted from None


def report_run(folder: RunFolder, as_json: bool) -> None:
    from assistlearn.cli.report import outcome, show_result

    if as_json:
        say_json({"folder": str(folder.path), "run": folder.settings().run} | outcome(folder))
        return
    show_result(folder)
    say(f"The run is in {plain(folder.path)}.")
    say("Next, predict: " + command("predict", folder.path, "--out", "predictions.csv"))


# Waiting for the consent of helpers' owners: ask again, now and then, until they have answered or time is up.


LONGEST_WAIT = 60 * 24 * 31
"""The most minutes that a user may choose to wait."""

TIMES = 30
"""How often owners are asked at most, even if the wait is long. Each request adds entries to two ledgers."""

SHORTEST_PAUSE = 10.0
"""Seconds between two requests, at least."""


def train_awaiting(make: Callable[[], RunFolder], wait: float | None, timeout: float, quiet: bool) -> RunFolder:
    """Train a run and return its folder. If owners must consent first, ask them again until ``wait`` minutes are over.

    ``make`` returns the run's folder. It is called before each attempt, and makes the folder again if that was removed.
    With ``wait`` None they are not asked again.
    """
    end = time.monotonic() + 60 * (wait or 0)
    while True:
        folder = make()
        try:
            train_run(folder, quiet, timeout, asks_first=wait is not None and folder.samples() is None)
            return folder
        except ConsentAwaitedError as error:
            left = end - time.monotonic()
            if wait is None:
                error.add_note("Or let it ask again by itself: --wait MINUTES. To ask no longer: --withdraw.")
            if wait is None or left <= 0:
                raise
            pause = min(max(60 * wait / TIMES, SHORTEST_PAUSE), left)
            if not quiet:
                complaints().print(f"{plain(error)} Asks again in {pause:.0f} s.")
        time.sleep(pause)


def withdrawn(folder: RunFolder, as_json: bool) -> None:
    """Withdraw the request for consent at all helpers, print what they answer, and remove the run's folder."""
    from assistlearn.initiator.opening import withdraw
    from assistlearn.reach.opening import opened_run

    try:
        with opened_run(folder, training=True) as (run, _):
            answers = withdraw(run)
    finally:
        folder.remove()
    states = {name: "allowed" if answer is None else answer.state for name, answer in answers.items()}
    if as_json:
        say_json({"withdrawn": [name for name, state in states.items() if state == "withdrawn"]})
        return
    for name, state in states.items():
        says = "is asked no longer" if state == "withdrawn" else "has nothing that could be withdrawn"
        say(f"{plain(name)} {says}")


# ``assistlearn simulate``: a run in which every agent is a process on this machine.


@takes_plan
def simulate(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Two or more agent files. One of them, the initiator's, names a label."),
    ] = None,
    out: Out = None,
    run: Name = "",
    resume: Resume = None,
    timeout: Timeout = TIMEOUT,
    *,
    plan: Plan,
    json: Json = False,
) -> None:
    """Train with all agents on this machine. Each has its own process and table; only messages pass between them.

    Without options you get the recommended settings. After Ctrl-C, go on with --resume.
    """
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.reach.opening import check_command
    from assistlearn.reach.processes.reach_processes import create_run

    if resume is not None:
        refuse_given(context, {"resume", "timeout", "json"}, "run")
        folder = RunFolder(resume)
        check_command(folder, "simulate")
    elif files is None or len(files) < 2:
        named = f"only {files[0]} is named" if files else "none is named"
        raise SettingsError(
            f"A run needs the files of at least two agents; {named}. (To go on with a run: --resume FOLDER. "
            "For files to start from: assistlearn init demo --example)"
        )
    else:
        name = run or new_name("run")
        folder = create_run(out or Path("runs") / name, name, files, plan)
    train_run(folder, quiet=json, timeout=timeout)
    report_run(folder, json)


# ``assistlearn train``: a run with other organisations, or one that goes on from an earlier run.


_from = partial(typer.Option, rich_help_panel="Going on from an earlier run")

OF_FROM = {*OF_RUNS, "without", "require_kept", "kept_only"}
"""Options for runs that go on from an earlier one."""


@takes_changes("With --from: settings that you want to change", dict.fromkeys(OF_RUNS, "as before"))
def train(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="The task file. With --from, for a run on this machine: the agent files of new helpers, if any.",
        ),
    ] = None,
    out: Out = None,
    run: Name = "",
    resume: Resume = None,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=LONGEST_WAIT,
            metavar="MINUTES",
            help="How long to ask helpers' owners again and again for their consent.",
        ),
    ] = None,
    withdraw: Annotated[bool, flag("--withdraw", "Take back the request for consent. Nothing is trained.")] = False,
    earlier: Annotated[
        Path | None,
        _from(
            "--from",
            metavar="RUN",
            help="Start from this finished run, with today's rows and helpers. What the agents have learned is kept "
            "where it still helps.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        _from(metavar="HELPER", help="A helper that no longer takes part. May be given several times."),
    ] = None,
    require_kept: Annotated[
        bool,
        _from(
            "--require-kept",
            metavar="",
            help="Stop if an agent no longer has its models. Without this option, that agent trains anew.",
        ),
    ] = False,
    kept_only: Annotated[
        bool,
        _from(
            "--kept-only",
            metavar="",
            help="Add no new rounds. Only new helpers train, and nothing is sent about people whose data have not "
            "changed.",
        ),
    ] = False,
    *,
    changes: dict[str, Any],
    json: Json = False,
) -> None:
    """Train with other organisations over a network, or go on from an earlier run. Your site must be running.

    With --from RUN you go on from a finished run, on this machine or over a network. After Ctrl-C, go on with --resume.
    If the owner of a helper must consent first, the command ends with exit code 6. Give it again later to see the
    answer.
    """
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.reach.created_from import Onward, create_from
    from assistlearn.reach.opening import check_command

    early = [name for name in context.params if earlier is None and name in OF_FROM and is_given(context, name)]
    if early:
        raise SettingsError(
            f"{flag_of(early[0])} can only be given with --from RUN. The settings of a new run are in its task file. A "
            "resumed run keeps its settings."
        )
    if withdraw and (resume is not None or wait is not None):
        raise SettingsError("--withdraw needs a task file, and cannot be given with --resume or --wait.")
    if (bool(files) or earlier is not None) == (resume is not None):
        raise SettingsError(
            "Name a task file to start a run, or give --resume FOLDER to go on with an interrupted run; not both."
        )
    make: Callable[[], RunFolder]
    if resume is not None:
        refuse_given(context, {"resume", "wait", "json"}, "run")
        check_command(RunFolder(resume), "train")
        make = partial(RunFolder, resume)
    elif earlier is not None:
        name = run or new_name("run")
        onward = Onward(files or [], without or [], changes, require_kept, kept_only)
        make = partial(create_from, out or Path("runs") / name, name, RunFolder(earlier), onward)
    else:
        make = partial(new_run, files or [], run, out)
    if withdraw:
        withdrawn(make(), json)
        return
    here = earlier is not None and RunFolder(earlier).settings().reach == "processes"
    report_run(train_awaiting(make, wait, TIMEOUT if here else math.inf, quiet=json), json)


def new_run(files: list[Path], run: str, out: Path | None) -> RunFolder:
    from assistlearn.reach.flare.reach_flare import create_run
    from assistlearn.reach.flare.task_file import load_task

    if len(files) > 1:
        raise SettingsError(
            f"{files[1]}: give only one task file. (For agents on this machine, use: assistlearn simulate)"
        )
    [file] = files
    name = run or load_task(file).run or new_name("run")
    return create_run(out or Path("runs") / name, name, file)
