"""``assistlearn check``: whether an agent's file and table are right, and what would leave it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from assistlearn.cli.output import Json, plain, say, say_json, say_table

if TYPE_CHECKING:
    from assistlearn.tables import AgentSummary

NO_SECRET = (
    "No secret is named, so that samples can be matched by private set intersection only (simulate --align psi)."  # noqa: S105
)


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The agent's TOML file.")],
    json: Json = False,
) -> None:
    """Check one agent's file and table, and show what would leave it. Nothing is sent or written."""
    from assistlearn.service.agent_from_file import from_loaded
    from assistlearn.tables import describe, load_agent

    agent = load_agent(file)
    from_loaded(agent)  # ids that cannot be aligned, or a secret that cannot be read, are found here
    summary = describe(agent, datetime.now(UTC))
    if agent.description.secret is None:
        summary = replace(summary, notes=(*summary.notes, NO_SECRET))
    if json:
        say_json(summary.to_dict())
    else:
        _show(summary)


def _show(summary: AgentSummary) -> None:
    say(f"[bold]{plain(summary.name)}[/] ({summary.role}): {summary.rows:,} rows from {plain(summary.source)}")
    say(f"learner: {plain(summary.learner)}")
    for step in summary.preprocessing:
        say(f"prepared: {plain(step)}")
    if summary.classes is not None:
        say("labels: " + ", ".join(f"{plain(label)} ({count:,})" for label, count in summary.classes.items()))
    view = Table("feature", "kind")
    view.add_column("missing", justify="right")
    view.add_column("different values", justify="right")
    for column in summary.columns:
        view.add_row(plain(column.name), column.kind, f"{column.missing:.1%}", f"{column.distinct:,}")
    say_table(view)
    for title, lines in (("What would leave this organisation", summary.leaves), ("What stays", summary.stays)):
        say(f"[bold]{title}[/]")
        for line in lines:
            say(f"  - {plain(line)}")
    for note in summary.notes:
        say(f"[yellow]Note:[/] {plain(note)}")
    say("[green]All is well.[/]")
