"""``assistlearn forget``: remove a run's models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli.confirming import agreed
from assistlearn.cli.output import Json, counted, plain, say, say_json
from assistlearn.errors import RunError

if TYPE_CHECKING:
    from assistlearn.service.store import RunStore


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
    yes: Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Remove without a question.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", metavar="", help="Say what would be removed, and remove nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Remove the models and records of a run at every agent, or at some. Ledgers stay, as a proof that it existed.

    You are asked first. Where nobody can be asked, nothing is removed without --yes.
    """
    stores = _stores(agent, run) if agent else {}
    names, places = _concerned(stores, Path(run))
    if dry_run:
        _say_what_would_go(run, names, places, json)
        return
    listed = ", ".join(names)
    agreed(f"Remove the models and records of run {run} at {listed}? Nothing brings them back.", yes)
    removed, absent, others = _at_some(stores, run) if agent else _everywhere(Path(run))
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


def _concerned(stores: Mapping[str, RunStore], run: Path) -> tuple[list[str], list[Path]]:
    """Return the agents that would forget a run, and the folders of it that are known here."""
    from assistlearn.runs.folder import RunFolder

    if stores:
        return list(stores), [store.folder for store in stores.values()]
    return RunFolder(run).settings().agents, [run]


def _say_what_would_go(run: str, names: list[str], places: list[Path], json: bool) -> None:
    if json:
        say_json({"run": run, "would_ask": names, "folders": [str(place) for place in places]})
        return
    say(f"Nothing is removed. These agents would remove their models and records: {plain(', '.join(names))}")
    for place in places:
        say(f"With them would go {plain(place)}")


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


def _stores(files: list[Path], run: str) -> dict[str, RunStore]:
    """Return what the agents of these files keep of a run."""
    from assistlearn.agent_files import load_description
    from assistlearn.service.store import RunStore, run_folder, runs_at

    found = {}
    for file in files:
        description = load_description(file)
        memory = RunStore(run_folder(description.models, run))
        if not memory.folder.is_dir():  # a folder without opened.json may hold files, too
            known = ", ".join(runs_at(description.models)) or "none"
            raise RunError(f"Agent {description.name!r} knows no run {run!r}. The runs it knows: {known}.")
        found[description.name] = memory
    return found


def _at_some(stores: Mapping[str, RunStore], run: str) -> tuple[dict[str, int], dict[str, str], list[str]]:
    from assistlearn.service.store import runs_with_models_of

    others = {other for store in stores.values() for other in runs_with_models_of(store.folder.parents[1], run)}
    removed, absent = {}, {}
    for name, memory in stores.items():
        try:
            removed[name] = memory.forget()
        except RunError as error:  # a part of it is still there
            absent[name] = str(error)
    return removed, absent, sorted(others)
