"""``assistlearn privacy``: what was released about a sample, compared with what the columns hold; and an attack."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistlearn.cli.output import Json, say_json
from assistlearn.cli.overwriting import Force, check_picture
from assistlearn.errors import SettingsError

if TYPE_CHECKING:
    from assistlearn.service.holdings import Holdings
    from assistlearn.tables import LoadedAgent


def privacy(
    place: Annotated[
        Path,
        typer.Argument(metavar="RUN|FILE", help="At the initiator: the run's folder. At a helper: its TOML file."),
    ],
    run: Annotated[str, typer.Option(metavar="NAME", help="Only this run of a helper.", show_default="all runs")] = "",
    attack: Annotated[
        bool,
        typer.Option(
            "--attack",
            metavar="",
            help="Try here how well this helper's columns can be guessed.",
        ),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the attack's result: a .png, .svg or .pdf file.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Show how many bits were told about a sample, and what is left of the limits. Try an attack with --attack."""
    helper = place.suffix == ".toml" or place.is_file()
    _check_options(place, helper, run, attack, plot)
    if plot is not None:
        check_picture(plot, force=force, quiet=json)
    facts = _of_helper(place, run, attack, plot, force, quiet=json) if helper else _of_run(place)
    drawn = [] if plot is None else _draw(facts, plot)
    if json:
        say_json(facts)
    else:
        from assistlearn.cli.privacy_report import show_helper, show_run

        if helper:
            show_helper(facts, drawn)
        else:
            show_run(facts)


def _check_options(place: Path, helper: bool, run: str, attack: bool, plot: Path | None) -> None:
    if attack and not helper:
        raise SettingsError(
            f"--attack needs a helper's own table, and {place} is not an agent's file. Name the helper's TOML file."
        )
    if run and not helper:
        raise SettingsError(f"--run chooses among a helper's runs; {place} is the folder of one run. Leave --run out.")
    if plot is not None and not attack:
        raise SettingsError("--plot draws the result of an attack. Add --attack.")


def _of_run(place: Path) -> dict[str, Any]:
    """Return what the initiator knows: what the agents released in a run, and what helpers were told about labels."""
    from assistlearn.cli.show import labels_told
    from assistlearn.runs.folder import RunFolder
    from assistlearn.runs.releases_of_run import refuse_incomplete, releases_of_run

    folder = RunFolder(place)
    refuse_incomplete(folder)
    settings, released, labels = folder.settings(), releases_of_run(folder), labels_told(folder)
    return {
        "run": settings.run,
        "initiator": settings.initiator,
        "method": settings.plan.method,
        "released": {agent: [asdict(each) for each in releases] for agent, releases in released.items()},
        "epsilon": None if labels is None else labels["epsilon"],
        "epsilon_spent": None if labels is None else labels["most_spent"],
        "true_labels_told": None if labels is None else labels["n_true"],
    }


def _of_helper(file: Path, run: str, attack: bool, plot: Path | None, force: bool, quiet: bool) -> dict[str, Any]:
    """Return what a helper knows: what it released in its runs, its limits, and what an attack finds."""
    from assistlearn.protocol.ledger import followed
    from assistlearn.protocol.ledger_of_run import entries_of
    from assistlearn.service.agent_from_file import from_loaded
    from assistlearn.service.own_releases import forgotten_runs, releases_of, runs_as_helper
    from assistlearn.service.privacy.standing import limits_at, told_at
    from assistlearn.tables import load_agent

    agent = load_agent(file)
    own, description = from_loaded(agent), agent.description
    runs = runs_as_helper(own.home, own.name, run)
    if description.is_initiator and not runs:
        raise SettingsError(
            f"{file} is the file of an initiator: it names a label, and has helped in no run. Name the folder of a "
            "run, to see what its helpers have released; or a helper's file."
        )
    ledger = own.home / "ledger.jsonl"
    followed(ledger)  # raises an error if the ledger was changed
    released = [releases_of(own.home, name, entries_of(ledger, name)) for name in runs]
    if plot is not None:
        for further in _pictures(plot, len({each.initiator for each in released}))[1:]:
            check_picture(further, force=force, quiet=quiet)
    return {
        "agent": own.name,
        "rows": len(agent.table),
        "columns": _columns(agent),
        "runs": [asdict(each) for each in released],
        "forgotten": {} if run else forgotten_runs(ledger, runs),
        "told": [] if own.privacy is None else [asdict(each) for each in told_at(own.privacy.book)],
        "limits": [asdict(each) for each in limits_at(own, datetime.now(UTC))],
        "attacks": _attacks(agent, own, {each.run: each.initiator for each in released}, quiet) if attack else None,
    }


def _columns(agent: LoadedAgent) -> list[dict[str, Any]]:
    """Return the entropy of every column, in bits."""
    from assistlearn.disclosure.entropy import column_entropy

    features = agent.table.features
    return [
        {"column": column.name, "kind": str(column.kind), "bits": column_entropy(features[column.name].to_numpy())}
        for column in agent.table.schema.columns
    ]


def _attacks(agent: LoadedAgent, own: Holdings, initiators: dict[str, str], quiet: bool) -> list[dict[str, Any]]:
    """Return what each initiator could guess of this agent's columns from what it was told in all its runs."""
    from assistlearn.cli.progress import CountingBar
    from assistlearn.service.own_attack import attack
    from assistlearn.service.own_transcript import transcript_of

    if not initiators:
        raise SettingsError(f"Agent {own.name!r} has helped in no run that it remembers: there is nothing to attack.")
    found = []
    with CountingBar(quiet, len(agent.table.schema.columns) * len(set(initiators.values()))) as bar:
        for initiator in sorted(set(initiators.values())):
            transcript = transcript_of(own, [run for run, whose in initiators.items() if whose == initiator])
            columns = []
            for column in attack(agent.table.features, transcript):
                columns.append(asdict(column))
                bar.count(f"guessing {column.column}")
            found.append(
                {
                    "initiator": initiator,
                    "runs": list(transcript.runs),
                    "left_out": list(transcript.left_out),
                    "people": len(transcript.rows),
                    "with_votes": transcript.with_votes,
                    "columns": columns,
                }
            )
    return found


def _pictures(plot: Path, n_initiators: int) -> list[Path]:
    """Return the file for each initiator's picture: the one that was named, then those beside it, numbered from 2."""
    return [plot, *(plot.with_stem(f"{plot.stem}-{number}") for number in range(2, n_initiators + 1))]


def _draw(facts: dict[str, Any], plot: Path) -> list[Path]:
    """Draw a picture for each initiator; return their files."""
    from assistlearn.display.attack_picture import draw_attack
    from assistlearn.storage import writing

    pictures = _pictures(plot, len(facts["attacks"]))
    for attack, picture in zip(facts["attacks"], pictures, strict=True):
        title = f"What {attack['initiator']} could guess of the columns of {facts['agent']}"
        with writing(picture):
            picture.parent.mkdir(parents=True, exist_ok=True)
            draw_attack(attack["columns"], title, picture)
    return pictures
