"""``assistlearn check``: whether an agent's file and table are right, and what would leave it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as View

from assistlearn.cli.output import Json, console, say_json
from assistlearn.deployment.household import from_loaded
from assistlearn.tables import AgentSummary, describe, load_agent


def check(
    file: Annotated[Path, typer.Argument(help="The agent's TOML file.")],
    json: Json = False,
) -> None:
    """Check one agent's file and table, and show what would leave it. Nothing is sent or written."""
    agent = load_agent(file)
    from_loaded(agent)  # ids that cannot be aligned, or a secret that cannot be read, are found here
    summary = describe(agent, datetime.now(UTC))
    if json:
        say_json(summary.to_dict())
        return
    _show(summary)


def _show(summary: AgentSummary) -> None:
    out = console()
    out.print(f"[bold]{summary.name}[/] ({summary.role}): {summary.rows:,} rows from {summary.source}")
    out.print(f"learner: {summary.learner}")
    for step in summary.preprocessing:
        out.print(f"prepared: {step}")
    if summary.classes is not None:
        out.print("labels: " + ", ".join(f"{label} ({count:,})" for label, count in summary.classes.items()))
    view = View("feature", "kind", "missing", "different values")
    for column in summary.columns:
        view.add_row(column.name, column.kind, f"{column.missing:.1%}", f"{column.distinct:,}")
    out.print(view)
    out.print("[bold]What would leave this organisation[/]")
    for line in summary.leaves:
        out.print(f"  - {line}")
    out.print("[bold]What stays[/]")
    for line in summary.stays:
        out.print(f"  - {line}")
    for note in summary.notes:
        out.print(f"[yellow]note:[/] {note}")
