"""``assistlearn recount``: rebuild counts of what was asked and told, where the ledger or ``told/`` was lost."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from assistlearn.cli.confirming import agreed
from assistlearn.cli.output import Json, plain, say, say_json


def recount(
    agent: Annotated[Path, typer.Argument(metavar="FILE", help="The agent's TOML file.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Rebuild without a question.")] = False,
    json: Json = False,
) -> None:
    """Rebuild the counts of an agent whose ledger or folder told/ was lost. Better restore a backup."""
    from assistlearn.agent_files import load_description
    from assistlearn.service.recounting import recount as rebuild
    from assistlearn.service.recounting import what_is_lost

    description = load_description(agent)
    lost = what_is_lost(description.models, description.name)
    facts: dict[str, Any] = {
        "agent": description.name,
        "lost": lost,
        "rebuilt": [],
        "new_ledger": False,
        "put_aside": [],
    }
    if lost is not None:
        question = "Rebuild the counts from what is left? What nothing shows counts as if all had been spent."
        agreed(f"{lost}\n{question}", yes)
        done = rebuild(description.models, description.name)
        facts["rebuilt"] = [asdict(each) for each in done.rebuilt]
        facts |= {"new_ledger": done.new_ledger, "put_aside": [str(path) for path in done.put_aside]}
    if json:
        say_json(facts)
    else:
        _show(facts)


def _show(facts: dict[str, Any]) -> None:
    if facts["lost"] is None:
        say("Nothing is missing: the ledger, told/ and the runs agree. Nothing was changed.")
        return
    say(plain(facts["lost"]))
    for each in facts["rebuilt"]:
        units = ", ".join(f"{n:,} {unit}" for unit, n in sorted(each["units"].items())) or "nothing"
        known = "nothing says how much, so all counts as spent" if each["all_spent"] else units
        people = " Every person counts as the one who was told most about." if each["people"] else ""
        say(f"Counted for {plain(each['initiator'])} from now on: {known}.{people}")
    for path in facts["put_aside"]:
        say(f"Put aside: {plain(path)}")
    if facts["new_ledger"]:
        say(plain("A new ledger has begun. It has no consent: initiators that [allow] does not name ask again."))
