"""``assistlearn doctor``: whether the program has all that it needs. Users paste the answer into reports of faults."""

from __future__ import annotations

import sys
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn import __version__
from assistlearn.cli.output import Json, plain, say, say_json

if TYPE_CHECKING:
    from assistlearn.cli.diagnosis import HealthFinding

UNWELL = 2
COLOURS = {"ok": "green", "missing": "dim", "look": "yellow", "wrong": "bold red"}


def doctor(
    agent: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="An agent's TOML file, to look at as well.", show_default=False),
    ] = None,
    json: Json = False,
) -> int:
    """Look whether all that is needed is there: versions, extras, ports, folders, disk and clock.

    Use it when something does not work, and paste what it prints into your report. It shows no secrets, no user names
    and no home folders. Nothing is sent. The exit code is 0 if all is there and 2 if something is wrong; an extra that
    is not installed is not wrong.
    """
    from assistlearn.cli.diagnosis import examine

    findings = examine(agent)
    wrong = [each for each in findings if each.state == "wrong"]
    if json:
        say_json({"version": __version__, "healthy": not wrong, "findings": [asdict(each) for each in findings]})
    else:
        _show(findings)
        say(_summary(wrong))
    sys.stdout.flush()
    return UNWELL if wrong else 0


def _show(findings: list[HealthFinding]) -> None:
    for topic, group in groupby(findings, key=lambda each: each.topic):
        say(f"[bold]{plain(topic)}[/]")
        for each in group:
            state = f"[{COLOURS[each.state]}]{each.state:<8}[/]"
            say(f"  {state}{plain(each.name):<22}{plain(each.says)}")
            if each.remedy:
                say(f"          [bold]->[/] {plain(each.remedy)}")


def _summary(wrong: list[HealthFinding]) -> str:
    if not wrong:
        return "[green]All that is needed is there.[/]"
    return f"[bold red]Something is wrong:[/] {plain(', '.join(each.name for each in wrong))}. See above."
