"""``assistlearn check``: whether an agent's file and table are right, and what would leave it."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from assistlearn.cli.output import Json, counted, plain, say, say_json, say_table
from assistlearn.cli.told import told_in_words

if TYPE_CHECKING:
    from assistlearn.agent_files import AgentDescription
    from assistlearn.service.holdings import Holdings
    from assistlearn.tables import AgentSummary
    from assistlearn.tables.summary import WeightSummary

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
    holdings = from_loaded(agent)  # ids that cannot be aligned, or a secret that cannot be read, are found here
    summary = describe(agent, datetime.now(UTC))
    if agent.description.secret is None:
        summary = replace(summary, notes=(*summary.notes, NO_SECRET))
    limits, privacy = _limits(holdings, datetime.now(UTC)), _privacy(agent.description, holdings, datetime.now(UTC))
    if json:
        say_json(summary.to_dict() | {"limits": limits, "privacy": privacy})
    else:
        _show(summary, limits, privacy)


def _limits(holdings: Holdings, now: datetime) -> dict[str, Any] | None:
    """Return what each initiator has used of what the owner allows; None where the owner says nothing about it."""
    from assistlearn.protocol.ledger import counted

    if holdings.limits is None:
        return None
    tally, day = counted(holdings.home / "ledger.jsonl"), now.date().isoformat()
    used = [
        row
        for initiator in holdings.limits.initiators
        for row in holdings.limits.standing(initiator, tally.of(initiator), day)
    ]
    return {"used": used, "of_one_run": holdings.limits.of_one_run()}


def _labels(description: AgentDescription) -> list[dict[str, Any]]:
    """Return how the limit on what helpers are told of labels stands, where an initiator's owner sets one."""
    from assistlearn.runs.label_ledger import LabelLedger

    most = None if description.privacy is None else description.privacy.max_label_epsilon
    if most is None:
        return []
    spent = float(LabelLedger(description.models, description.label or "", []).spent().max(initial=0.0))
    return [
        {
            "key": "privacy.max_label_epsilon",
            "initiator": description.name,
            "counts": "epsilon of a person's label, all helpers, in all",
            "allowed": most,
            "spent": spent,
            "left": max(most - spent, 0.0),
        }
    ]


def _privacy(description: AgentDescription, holdings: Holdings, now: datetime) -> dict[str, Any] | None:
    """Return how the limits of ``[privacy]`` stand, and what was told; None where the owner says nothing about it."""
    from assistlearn.service.privacy.standing import limits_at, told_at

    if holdings.privacy is None:
        return None
    limits = [asdict(each) for each in limits_at(holdings, now) if each.key.startswith("privacy.")]
    limits += _labels(description)
    return {"limits": limits, "told": [asdict(each) for each in told_at(holdings.privacy.book)]}


def _show(summary: AgentSummary, limits: dict[str, Any] | None, privacy: dict[str, Any] | None) -> None:
    say(f"[bold]{plain(summary.name)}[/] ({summary.role}): {summary.rows:,} rows from {plain(summary.source)}")
    say(f"learner: {plain(summary.learner)}")
    for step in summary.preprocessing:
        say(f"prepared: {plain(step)}")
    if summary.classes is not None:
        say("labels: " + ", ".join(f"{plain(label)} ({count:,})" for label, count in summary.classes.items()))
    if summary.weights is not None:
        say(_in_words(summary.weights))
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
    if limits is not None:
        _show_limits(limits)
    if privacy is not None:
        _show_privacy(privacy)
    for note in summary.notes:
        say(f"[yellow]Note:[/] {plain(note)}")
    say("[green]All is well.[/]")


def _in_words(weights: WeightSummary) -> str:
    zero = f"; not trained on, with weight 0: {counted(weights.zero, 'row')}" if weights.zero else ""
    return f"weights: column {plain(repr(weights.column))}, from {weights.least:g} to {weights.greatest:g}{zero}"


def _show_limits(limits: dict[str, Any]) -> None:
    view = Table("initiator", "limit", "counts", title="What others may ask for, and have", title_justify="left")
    for title in ("used", "allowed", "left"):
        view.add_column(title, justify="right")
    for row in limits["used"]:
        numbers = (f"{row[name]:,}" for name in ("used", "allowed", "left"))
        view.add_row(plain(row["initiator"]), row["limit"], row["counts"], *numbers)
    say_table(view)
    each = ", ".join(f"{key} {'none' if most is None else f'{most:,}'}" for key, most in limits["of_one_run"].items())
    say(f"In each run: {each}. The limits are keys under {plain('[allow]')}.")


def _show_privacy(privacy: dict[str, Any]) -> None:
    view = Table("initiator", "limit", "counts", title="What may be told of each person, and was", title_justify="left")
    for title in ("spent", "allowed", "left"):
        view.add_column(title, justify="right")
    for row in privacy["limits"]:
        allowed = ", ".join(row["allowed"]) if isinstance(row["allowed"], tuple) else f"{row['allowed']:,g}"
        spent, left = ("" if row[name] is None else f"{row[name]:,g}" for name in ("spent", "left"))
        view.add_row(plain(row["initiator"] or "any"), row["key"], row["counts"], spent, plain(allowed), left)
    say_table(view)
    for row in privacy["told"]:
        say(told_in_words(row))
