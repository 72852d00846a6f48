"""``assistlearn forget``: remove a run's models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assistlearn.cli.output import Json, counted, plain, say, say_json
from assistlearn.errors import RunError


def forget(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The folder of the run; with --agent, the name of the run.")
    ],
    agent: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Forget only at the agent of this file, and ask no other agent. May be given several times.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Remove the models and records of a run at every agent, or at some. Ledgers stay, as a proof that it existed."""
    removed, absent, others = _at_some(agent, run) if agent else _everywhere(Path(run))
    if json:
        say_json({"run": run, "removed": removed, "absent": absent, "lives_on": others})
    else:
        for name, count in removed.items():
            say(f"{plain(name)}: {counted(count, 'model')} removed")
        for name, why in absent.items():
            say(f"[yellow]{plain(name)} still has the run:[/] {plain(why)}")
        for other in others:
            say(
                f"[yellow]Run {plain(other)}, which went on from this run, still has some of its models.[/] Forget "
                "that run, too."
            )
    if absent:
        raise typer.Exit(3)


def _everywhere(path: Path) -> tuple[dict[str, int], dict[str, str], list[str]]:
    """Ask all agents to forget a run. Its folder is removed only when all have, so that one can try again."""
    from assistlearn.cli.progress import AskingBar
    from assistlearn.reach.opening import opened_run
    from assistlearn.runs import forgetting
    from assistlearn.runs.folder import RunFolder
    from assistlearn.service.store import runs_with_models_of

    folder = RunFolder(path)
    log = folder.log()
    with AskingBar(quiet=False) as bar:
        log.listen(bar.show)
        with opened_run(folder, training=False, alone=True, log=log) as (run, _):
            forgotten = forgetting.forget(run)
            others = runs_with_models_of(run.holdings.home, run.name)
    return forgotten.removed, forgotten.absent, others


def _at_some(files: list[Path], run: str) -> tuple[dict[str, int], dict[str, str], list[str]]:
    from assistlearn.agent_files import load_description
    from assistlearn.service.store import RunStore, run_folder, runs_at, runs_with_models_of

    found, others = {}, set()
    for file in files:
        description = load_description(file)
        memory = RunStore(run_folder(description.models, run))
        if not memory.folder.is_dir():  # a folder without opened.json may hold files, too
            known = ", ".join(runs_at(description.models)) or "none"
            raise RunError(f"Agent {description.name!r} knows no run {run!r}. The runs it knows: {known}.")
        found[description.name] = memory
        others |= {*runs_with_models_of(description.models, run)}
    removed, absent = {}, {}
    for name, memory in found.items():
        try:
            removed[name] = memory.forget()
        except RunError as error:  # a part of it is still there
            absent[name] = str(error)
    return removed, absent, sorted(others)
