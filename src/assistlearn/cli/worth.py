"""``assistlearn worth``: a pilot that tells whether others' data would help, and how much."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from assistlearn.cli import worth_options as o
from assistlearn.cli.output import Json, command, plain, say, say_json
from assistlearn.cli.overwriting import Force, check_picture
from assistlearn.cli.run_name import new_name
from assistlearn.cli.worth_report import show_worth
from assistlearn.errors import InterruptedRunError, SettingsError
from assistlearn.evaluation.terms import Terms, loss_for
from assistlearn.reach import TIMEOUT

if TYPE_CHECKING:
    from assistlearn.evaluation.gains import Worth
    from assistlearn.plan import Plan
    from assistlearn.runs.folder import RunFolder

OF_THE_PROGRAM = {"resume", "timeout", "json", "plot", "force"}
"""Options that may be given when a pilot is resumed."""


def worth(
    context: typer.Context,
    files: o.Files = None,
    at_least: o.AtLeast = Terms.at_least,
    loss: o.Loss = None,
    alpha: o.Alpha = Terms.alpha,
    each_helper: o.EachHelper = Terms.each_helper,
    rounds: o.Rounds = 1,
    train_share: o.TrainShare = Terms.train_size,
    block: o.Block = Terms.block,
    seed: o.Seed = None,
    align: o.Align = None,
    purpose: o.Purpose = None,
    out: o.Out = None,
    run: o.Run = "",
    resume: o.Resume = None,
    plot: o.Plot = None,
    timeout: o.Timeout = TIMEOUT,
    force: Force = False,
    json: Json = False,
) -> None:
    """Find out whether others' data would help you, before you agree on anything: yes, no or undecided.

    This pilot trains on a part of your labelled samples. It then tests on the others, block by block, until the answer
    is clear. You may stop at any time: the answer is wrong with a chance of at most --alpha. After Ctrl-C, go on with
    --resume.
    """
    from assistlearn.reach.opening import check_command
    from assistlearn.runs.folder import RunFolder

    if plot is not None:
        check_picture(plot, force=force, quiet=json)
    if resume is not None:
        _refuse_terms(context)
        folder = RunFolder(resume)
        check_command(folder, "worth")
    else:
        terms = partial(_terms, at_least, alpha, loss, block, train_share, each_helper)
        given = {"seed": seed, "alignment": None if align is None else str(align), "purpose": purpose}
        name = run or new_name("pilot")
        changed = {"n_rounds": rounds} | {key: value for key, value in given.items() if value is not None}
        folder = _new_pilot(files or [], name, out or Path("runs") / name, terms, changed)
    _make(folder, quiet=json, timeout=timeout)
    report_pilot(folder, json, plot)


def _refuse_terms(context: typer.Context) -> None:
    """Raise ``SettingsError`` if an option was given that would change the question of a pilot that has begun."""
    for name in context.params:  # in the order in which they were given
        source = None if name in OF_THE_PROGRAM else context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            given = "Files" if name == "files" else "--" + name.replace("_", "-")
            raise SettingsError(
                f"{given} cannot be given with --resume: a pilot goes on as it was begun. Leave it out, or start a new "
                "pilot without --resume."
            )


def _terms(
    at_least: float, alpha: float, loss: str | None, block: int, share: float, each_helper: bool, metric: str
) -> Terms:
    """Return the question; where no loss is named, it is the one that suits the metric."""
    if not 0.0 < share < 1.0:
        raise SettingsError(f"--train-share {share:g} must lie between 0 and 1. Use 0.5, say.")
    which: Any = loss_for(metric) if loss is None else str(loss)
    try:
        return Terms(at_least=at_least, alpha=alpha, loss=which, block=block, train_size=share, each_helper=each_helper)
    except SettingsError as error:
        raise SettingsError(f"--{str(error).replace('_', '-', 1)}") from None


def _new_pilot(
    files: list[Path], name: str, folder: Path, terms: Callable[[str], Terms], changed: dict[str, Any]
) -> RunFolder:
    """Create a pilot: from agent files, on this machine; or from a task file, over a network."""
    from assistlearn.plan import Plan
    from assistlearn.runs.pilot_terms import asked

    if not files:
        raise SettingsError(
            "Name the files of at least two agents, or a task's file. (To go on with a pilot: --resume FOLDER. For "
            "files to start from: assistlearn init demo --example)"
        )
    if len(files) > 1:
        from assistlearn.reach.processes import reach_processes

        about = asked(terms(Plan.metric))
        return reach_processes.create_run(folder, name, files, _plan(Plan(), changed), **about)
    from assistlearn.agent_files.toml_file import read_toml
    from assistlearn.reach.flare import reach_flare
    from assistlearn.reach.flare.task_file import load_task

    if {"learner", "label"} & read_toml(files[0], "task")[1].keys():
        raise SettingsError(
            f"{files[0]} is an agent's file. Name its helpers' files, too, for a pilot on this machine; or a task's "
            "file, for one over a network."
        )
    plan = _plan(load_task(files[0]).plan, changed)
    return reach_flare.create_run(folder, name, files[0], plan, **asked(terms(plan.metric)))


def _plan(plan: Plan, changed: dict[str, Any]) -> Plan:
    """Return the plan of a pilot. Its method is the recommended one, or the task's if that keeps labels private."""
    from dataclasses import replace

    from assistlearn.plan import OF_METHOD, Plan
    from assistlearn.runs.pilot_run import PURPOSE

    own: dict[str, Any] = {} if plan.make_method().keeps_labels else {"method": Plan.method, **dict.fromkeys(OF_METHOD)}
    own |= {"holdout": None, "absent": Plan.absent, "purpose": plan.purpose or PURPOSE}
    return replace(plan, **own | changed)


def _make(folder: RunFolder, quiet: bool, timeout: float) -> None:
    """Run the pilot, unless it is finished; a bar shows its events."""
    from assistlearn.cli.worth_bar import WorthBar
    from assistlearn.reach.opening import pilot, resuming

    if folder.worth() is not None:
        return
    log = folder.log()
    try:
        with WorthBar(folder.settings(), quiet) as bar:
            log.listen(bar.show)
            for _ in pilot(folder, log, timeout):
                pass
    except KeyboardInterrupt:
        n_opened = sum(block.shape[1] for block in folder.opened())
        interrupted = InterruptedRunError(
            f"Interrupted after {n_opened:,} opened samples. The pilot is kept in {folder.path}."
        )
        interrupted.add_note(f"Go on with it: {resuming(folder)}")
        raise interrupted from None


def report_pilot(folder: RunFolder, as_json: bool, plot: Path | None = None) -> None:
    """Print what a pilot has found, for people or for scripts, and draw it where that is wanted."""
    from assistlearn.evaluation.gains import Worth

    facts = folder.worth()
    assert facts is not None
    found = Worth.from_dict(facts)
    if plot is not None:
        _draw(found, plot)
    if as_json:
        say_json({"folder": str(folder.path), "run": folder.settings().run} | facts)
        return
    show_worth(found)
    say(f"The pilot is in {plain(folder.path)}. To remove it everywhere: " + command("forget", folder.path))


def _draw(found: Worth, plot: Path) -> None:
    from matplotlib.figure import Figure

    from assistlearn.display.worth_display import SIZE, WorthDisplay
    from assistlearn.storage import writing

    figure = Figure(figsize=SIZE, layout="constrained")
    WorthDisplay(found).plot(ax=figure.subplots())
    with writing(plot):
        plot.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(plot, dpi=150)
