"""``assistlearn worth``: a pilot that tells whether others' data would help, and how much."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistlearn.cli import output
from assistlearn.cli.output import Json, command, plain, say, say_json, show_table
from assistlearn.cli.train import Name, Out, Resume, Timeout, follow, of_run, refuse_given, takes_changes
from assistlearn.errors import SettingsError
from assistlearn.evaluation.words import SampleLoss, Terms, alone_in_words, counted, loss_for, size
from assistlearn.plan import OF_METHOD, RUN, Plan
from assistlearn.reach import TIMEOUT

if TYPE_CHECKING:
    from assistlearn.evaluation.pilots import Worth
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.plan import Plan


_asked = partial(typer.Option, rich_help_panel="What is asked")


DEFAULTS = {
    "n_rounds": "1",
    "seed": "0, or the task's",
    "alignment": "hash, or the task's",
    "purpose": "the task's, or that it is a pilot",
}
"""Settings of a plan that a pilot takes, and what holds where they are not given, in words."""


# What a pilot has found, for people.


WORDS = {
    "yes": "[bold green]Yes[/]: help is worth it",
    "no": "[bold red]No[/]: help is not worth it",
    "undecided": "[bold yellow]Undecided[/]: these samples cannot tell whether help is worth it",
}


def show_pilot(folder: RunFolder) -> None:
    from assistlearn.evaluation.pilots import Worth
    from assistlearn.reach.opening import resuming

    name, facts = f"Pilot [bold]{plain(folder.settings().run)}[/]", folder.worth()
    if facts is None:
        say(f"{name} is not finished: {counted(folder.n_turns, 'turn')} taken, {_opened_so_far(folder)}.")
        say("Go on with it: " + plain(resuming(folder)))
        return
    say(f"{name} is finished.")
    show_worth(Worth.from_dict(facts))


def show_worth(found: Worth) -> None:
    terms, gain = found.terms, found.together
    what = "error rate" if terms.loss == "zero-one" else "log loss"
    asked = f"a gain of at least {terms.at_least:g}" if terms.at_least else "any gain"
    say(f"{WORDS[found.answer]} ({asked} was asked for).")
    by_labels = f" ({alone_in_words(what)})" if found.alone_by_labels else ""
    say(
        f"The {what} is {found.loss_alone:.3f} alone{by_labels} and {found.loss_assisted:.3f} with help, on "
        f"{counted(found.n_opened, 'opened sample')}. {counted(found.n_closed, 'sample')} stayed closed. "
        f"Trained on {found.n_training:,}."
    )
    say(
        f"For samples like these the gain is about {gain.estimate:+.3f}. It lies between {gain.lower:+.3f} and "
        f"{gain.upper:+.3f}. These limits are right with a chance of {1 - gain.alpha:.1%}, whenever you stop."
    )
    if found.answer == "undecided":
        say("For an answer, use more labelled samples, or train on fewer of them (--train-share).")
    rows = [
        (
            *(name, gain.answer, *(f"{value:+.3f}" for value in (gain.estimate, gain.lower, gain.upper))),
            *(f"{1 - gain.alpha:.2%}", "-" if found.n_bytes is None else size(found.n_bytes[name])),
        )
        for name, gain in found.helpers.items()
    ]
    numbers = ["worth it", "gain", "from", "to", "confidence", "exchanged"]
    show_table("Each helper alone with the initiator", ["helper"], numbers, rows)


@takes_changes(RUN, DEFAULTS)
def worth(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Two or more agent files, for a pilot on this machine; or one task file, for a network.",
        ),
    ] = None,
    at_least: Annotated[
        float, _asked(metavar="GAIN", help="The smallest gain that is worth it to you; 0.02 is 2 points of accuracy.")
    ] = Terms.at_least,
    loss: Annotated[
        SampleLoss | None,
        _asked(
            metavar="WHICH",
            help="How answers are scored. zero-one: right or wrong. log: log loss, if you need probabilities; none "
            "counts as less than 0.01.",
            show_default="zero-one; or what suits the task's metric",
        ),
    ] = None,
    alpha: Annotated[
        float, _asked(metavar="CHANCE", help="The largest chance that any of the answers is wrong.")
    ] = Terms.alpha,
    each_helper: Annotated[
        bool,
        _asked("--each-helper", metavar="", help="Go on until there is also an answer for each helper by itself."),
    ] = Terms.each_helper,
    train_share: Annotated[
        float,
        of_run(
            metavar="SHARE",
            help="The share of the labelled samples to train on, 5,000 at most. The others are for the test.",
        ),
    ] = Terms.train_size,
    block: Annotated[int, of_run(min=1, metavar="NUMBER", help="How many samples are tested at a time.")] = Terms.block,
    *,
    changes: dict[str, Any],
    out: Out = None,
    run: Name = "",
    resume: Resume = None,
    plot: Annotated[
        Path | None,
        of_run(metavar="FILE", help="Draw how the answer became clear: a file that ends in .png, .svg or .pdf."),
    ] = None,
    timeout: Timeout = TIMEOUT,
    force: output.Force = False,
    json: Json = False,
) -> None:
    """Find out whether others' data would help you, before you agree on anything: yes, no or undecided.

    This pilot trains on a part of your labelled samples. It then tests on the others, block by block, until the answer
    is clear. You may stop at any time: the answer is wrong with a chance of at most --alpha. After Ctrl-C, go on with
    --resume.
    """
    from assistlearn.cli.progress import WorthBar
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.reach.opening import check_command, pilot

    if plot is not None:
        output.check_picture(plot, force=force, quiet=json)
    if resume is not None:
        refuse_given(context, {"resume", "timeout", "json", "plot", "force"}, "pilot")
        folder = RunFolder(resume)
        check_command(folder, "worth")
    else:
        if not 0.0 < train_share < 1.0:
            raise SettingsError(f"--train-share {train_share:g} must lie between 0 and 1. Use 0.5, say.")
        terms: dict[str, Any] = {"at_least": at_least, "alpha": alpha, "block": block, "train_size": train_share}
        terms |= {"each_helper": each_helper} | ({} if loss is None else {"loss": loss})
        name = run or output.new_name("pilot")
        folder = _new_pilot(files or [], name, out or Path("runs") / name, terms, {"n_rounds": 1} | changes)
    if folder.worth() is None:
        bar, done = WorthBar(folder.settings(), quiet=json), partial(_opened_so_far, folder)
        follow(folder, bar, lambda log: pilot(folder, log, timeout), done, "pilot")
    report_pilot(folder, json, plot)


def _new_pilot(files: list[Path], name: str, folder: Path, terms: dict[str, Any], changed: dict[str, Any]) -> RunFolder:
    """Create a pilot: from agent files, on this machine; or from a task file, over a network."""
    from assistlearn.reach.flare import reach_flare
    from assistlearn.reach.flare.task_file import load_task
    from assistlearn.reach.processes import reach_processes
    from assistlearn.toml import read_toml

    if not files:
        raise SettingsError(
            "Name the files of at least two agents, or a task's file. (To go on with a pilot: --resume FOLDER. For "
            "files to start from: assistlearn init demo --example)"
        )
    if len(files) > 1:
        return reach_processes.create_run(folder, name, files, _plan(Plan(), changed), **_asked_by(terms, Plan.metric))
    if {"learner", "label"} & read_toml(files[0], "task")[1].keys():
        raise SettingsError(
            f"{files[0]} is an agent's file. Name its helpers' files, too, for a pilot on this machine; or a task's "
            "file, for one over a network."
        )
    plan = _plan(load_task(files[0]).plan, changed)
    return reach_flare.create_run(folder, name, files[0], plan, **_asked_by(terms, plan.metric))


def _asked_by(terms: dict[str, Any], metric: str) -> dict[str, Any]:
    """Return the question for a run's settings; where no loss is named, it is the one that suits the metric."""
    from assistlearn.initiator.folder import asked

    try:
        return asked(Terms(**{"loss": loss_for(metric)} | terms))
    except SettingsError as error:
        raise SettingsError(f"--{str(error).replace('_', '-', 1)}") from None


def _plan(plan: Plan, changed: dict[str, Any]) -> Plan:
    """Return the plan of a pilot. Its method is the recommended one, or the task's if that keeps labels private."""
    from assistlearn.initiator.pilots import PURPOSE

    own: dict[str, Any] = {} if plan.make_method().keeps_labels else {"method": Plan.method, **dict.fromkeys(OF_METHOD)}
    own |= {"holdout": None, "absent": Plan.absent, "purpose": plan.purpose or PURPOSE}
    return replace(plan, **own | changed)


def _opened_so_far(folder: RunFolder) -> str:
    return f"{sum(block.shape[1] for block in folder.opened()):,} opened samples"


def report_pilot(folder: RunFolder, as_json: bool, plot: Path | None = None) -> None:
    from assistlearn.evaluation.pilots import Worth

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

    from assistlearn.report.displays import WORTH_SIZE, WorthDisplay
    from assistlearn.storage import write_bytes

    figure = Figure(figsize=WORTH_SIZE, layout="constrained")
    WorthDisplay(found).plot(ax=figure.subplots())
    picture = io.BytesIO()
    figure.savefig(picture, format=plot.suffix.lstrip("."), dpi=150)
    write_bytes(plot, picture.getvalue())
