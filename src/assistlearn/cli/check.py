"""``assistlearn check``: whether an agent's file and table are right, and what would leave it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from assistlearn.cli.output import Json, counted, plain, say, say_json, say_table
from assistlearn.cli.told import told_in_words
from assistlearn.errors import AssistLearnError, Problems, TableError

if TYPE_CHECKING:
    from assistlearn.agent_files import AgentDescription
    from assistlearn.service.holdings import Holdings
    from assistlearn.tables import LoadedAgent

NO_SECRET = "The file names no secret. Ids can be matched by private set intersection only (simulate --align psi)."  # noqa: S105


def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Agent files (TOML), one or more.")],
    json: Json = False,
) -> None:
    """Check agent files and their tables, and show what would leave each organisation. Nothing is sent or written.

    All that is wrong in any of the files is said at once. With several files of one run it also checks whether they fit
    together: how many ids match, and whether a helper holds the label.
    """
    problems = Problems()
    checked = [_checked(file, problems) for file in files]
    together = None if len(files) == 1 else _together(checked, problems)
    problems.settle()
    shown = [each.facts for each in checked]
    if json:
        say_json(shown[0] if together is None else {"agents": shown, "together": together})
        return
    for facts in shown:
        _show(facts)
    if together is not None:
        _show_together(together)
    say("[green]All is well.[/]")


@dataclass
class _Checked:
    """What is known of an agent: as much as could be read, and the facts to show about it."""

    description: AgentDescription | None = None
    agent: LoadedAgent | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def _checked(file: Path, problems: Problems) -> _Checked:
    """Check an agent by itself. Whatever is wrong is added to the problems."""
    from assistlearn.agent_files import load_description
    from assistlearn.service.agent_from_file import from_loaded, secret_of
    from assistlearn.tables import describe, load_agent

    known, now = _Checked(), datetime.now(UTC)
    with problems.gathered():
        known.description = load_description(file)
    if known.description is None:
        return known
    with problems.gathered():
        secret_of(known.description)
    with problems.gathered():
        try:
            known.agent = load_agent(known.description)
        except OSError as error:
            if isinstance(error, AssistLearnError):
                raise
            raise TableError(f"{file}: the table cannot be read: {error}. Correct its rights.") from None
    if known.agent is None:
        return known
    if problems.found:
        return known
    holdings = from_loaded(known.agent)  # raises if ids cannot be aligned
    summary = describe(known.agent, now)
    if known.description.secret is None:
        summary = replace(summary, notes=(*summary.notes, NO_SECRET))
    more = {"limits": _limits(holdings, now), "privacy": _privacy(known.description, holdings, now)}
    known.facts = summary.to_dict() | more
    return known


def _together(checked: Sequence[_Checked], problems: Problems) -> dict[str, Any] | None:
    """Return how agents fit together: how many of the initiator's samples each helper holds, and what to look at.

    Whatever is wrong is added to the problems; an agent that could not be read is left out.
    """
    from assistlearn.reach.processes.reach_processes import check_together
    from assistlearn.tables.side_by_side import notes_together, overlap

    described = [each.description for each in checked if each.description is not None]
    if len(described) < len(checked):
        return None
    with problems.gathered():
        check_together(described)
    agents = [each.agent for each in checked if each.agent is not None]
    initiators = [agent for agent in agents if agent.description.is_initiator]
    if len(initiators) != 1:
        return None
    helpers, shared = [agent for agent in agents if agent is not initiators[0]], dict[str, int]()
    for helper in helpers:
        with problems.gathered():
            shared[helper.description.name] = overlap(initiators[0], helper)
    return {
        "initiator": initiators[0].description.name,
        "samples": len(initiators[0].table),
        "shared": shared,
        "notes": [note for helper in helpers for note in notes_together(initiators[0], helper)],
    }


def _show_together(together: dict[str, Any]) -> None:
    for name, shared in together["shared"].items():
        say(f"{plain(name)} holds {shared:,} of the {together['samples']:,} samples of {plain(together['initiator'])}.")
    for note in together["notes"]:
        say(f"[yellow]Note:[/] {plain(note)}")


def _limits(holdings: Holdings, now: datetime) -> dict[str, Any] | None:
    """Return how much each initiator has used of the limits under ``[allow]``; None if the file has no such table."""
    from assistlearn.protocol.ledger import counted

    if holdings.limits is None:
        return None
    tally, day = counted(holdings.home / "ledger.jsonl"), now.date().isoformat()
    used = [
        row
        for initiator in dict.fromkeys([*holdings.limits.initiators, *tally.consented(now)])
        for row in holdings.limits.standing(initiator, tally.of(initiator), day)
    ]
    return {"used": used, "of_one_run": holdings.limits.of_one_run()}


def _labels(description: AgentDescription) -> list[dict[str, Any]]:
    """Return how much of ``max_label_epsilon`` is spent and left; an empty list if the owner does not set it."""
    import numpy as np

    from assistlearn.runs.label_ledger import LabelLedger

    most = None if description.privacy is None else description.privacy.max_label_epsilon
    if most is None:
        return []
    rules = description.privacy
    name = description.label if rules is None or rules.label_name is None else rules.label_name
    spent = LabelLedger(description.models, name or "", []).spent()
    known = int(np.count_nonzero(np.isinf(spent)))
    largest = float(spent[np.isfinite(spent)].max(initial=0.0))
    return [
        {
            "key": "privacy.max_label_epsilon",
            "initiator": description.name,
            "counts": "epsilon of a person's label, all helpers, in all",
            "allowed": most,
            "spent": largest,
            "left": 0.0 if known else max(most - largest, 0.0),
            "true_labels_told": known,
        }
    ]


def _privacy(description: AgentDescription, holdings: Holdings, now: datetime) -> dict[str, Any] | None:
    """Return what is left of the limits under ``[privacy]``, and what was told; None if the file has no such table."""
    from assistlearn.service.privacy.standing import limits_at, told_at

    if holdings.privacy is None:
        return None
    limits = [asdict(each) for each in limits_at(holdings, now) if each.key.startswith("privacy.")]
    limits += _labels(description)
    return {"limits": limits, "told": [asdict(each) for each in told_at(holdings.privacy.book)]}


def _show(facts: dict[str, Any]) -> None:
    say(f"[bold]{plain(facts['name'])}[/] ({facts['role']}): {facts['rows']:,} rows from {plain(facts['source'])}")
    say(f"learner: {plain(facts['learner'])}")
    for step in facts["preprocessing"]:
        say(f"prepared: {plain(step)}")
    if facts["classes"] is not None:
        say("labels: " + ", ".join(f"{plain(label)} ({count:,})" for label, count in facts["classes"].items()))
    if facts["weights"] is not None:
        say(_in_words(facts["weights"]))
    _show_columns(facts["columns"])
    for title, key in (("What would leave this organisation", "leaves"), ("What stays", "stays")):
        say(f"[bold]{title}[/]")
        for line in facts[key]:
            say(f"  - {plain(line)}")
    if facts["limits"] is not None:
        _show_limits(facts["limits"])
    if facts["privacy"] is not None:
        _show_privacy(facts["privacy"])
    for note in facts["notes"]:
        say(f"[yellow]Note:[/] {plain(note)}")


def _show_columns(columns: list[dict[str, Any]]) -> None:
    if not columns:  # an initiator with labels alone
        return
    view = Table("feature", "kind")
    view.add_column("missing", justify="right")
    view.add_column("different values", justify="right")
    for column in columns:
        view.add_row(plain(column["name"]), column["kind"], f"{column['missing']:.1%}", f"{column['distinct']:,}")
    say_table(view)


def _in_words(weights: dict[str, Any]) -> str:
    zero = f"; not trained on, with weight 0: {counted(weights['zero'], 'row')}" if weights["zero"] else ""
    return (
        f"weights: column {plain(repr(weights['column']))}, from {weights['least']:g} to {weights['greatest']:g}{zero}"
    )


def _show_limits(limits: dict[str, Any]) -> None:
    view = Table(
        "initiator", "limit", "counts", title="What others may ask for, and what they have used", title_justify="left"
    )
    for title in ("used", "allowed", "left"):
        view.add_column(title, justify="right")
    for row in limits["used"]:
        numbers = (f"{row[name]:,}" for name in ("used", "allowed", "left"))
        view.add_row(plain(row["initiator"]), row["limit"], row["counts"], *numbers)
    say_table(view)
    each = ", ".join(f"{key} {'none' if most is None else f'{most:,}'}" for key, most in limits["of_one_run"].items())
    say(f"In each run: {each}. The limits are keys under {plain('[allow]')}.")


def _show_privacy(privacy: dict[str, Any]) -> None:
    view = Table(
        "initiator",
        "limit",
        "counts",
        title="What may be told about each person, and what was told",
        title_justify="left",
    )
    for title in ("spent", "allowed", "left"):
        view.add_column(title, justify="right")
    for row in privacy["limits"]:
        allowed = ", ".join(row["allowed"]) if isinstance(row["allowed"], tuple) else f"{row['allowed']:,g}"
        spent, left = ("" if row[name] is None else f"{row[name]:,g}" for name in ("spent", "left"))
        view.add_row(plain(row["initiator"] or "any"), row["key"], row["counts"], spent, plain(allowed), left)
    say_table(view)
    for row in privacy["limits"]:
        if row.get("true_labels_told"):
            say(f"Of {row['true_labels_told']:,} people helpers were told the true label: no epsilon limits that.")
    for row in privacy["told"]:
        say(told_in_words(row))
