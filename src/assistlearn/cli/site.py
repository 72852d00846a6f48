"""``assistlearn site``: an organisation's place in a network, and the relay."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from assistlearn.cli import site_membership
from assistlearn.cli.output import Json, command, counted, plain, say, say_json

if TYPE_CHECKING:
    from assistlearn.reach.flare.site.health import Health

app = typer.Typer(no_args_is_help=True, help="Join a network; run or check an organisation's site, or the relay.")
app.command("request")(site_membership.request)
app.command("join")(site_membership.join)
app.command("revoked")(site_membership.revoked)

Folder = Annotated[Path, typer.Argument(metavar="KIT", help="The startup kit's folder.")]
AgentFile = Annotated[
    Path | None,
    typer.Option("--agent", metavar="FILE", help="The organisation's agent file.", show_default="KIT/agent.toml"),
]

LAST_WORDS = 2.0
"""Seconds to wait at the end for a screen that accepts no output."""


@app.command("start")
def start(
    kit: Folder = Path(),
    agent: AgentFile = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", metavar="", help="Log to the file only, not to the screen.")
    ] = False,
) -> None:
    """Start a site or the relay. It runs until SIGTERM or Ctrl-C. The log is also in KIT/site.log."""
    from assistlearn.agent_files import load_description
    from assistlearn.reach.flare.installed import require_flare
    from assistlearn.reach.flare.provisioning.kit import load_kit
    from assistlearn.reach.flare.site.certificates import check_certificate
    from assistlearn.reach.flare.site.findings import check_described
    from assistlearn.reach.flare.site.log_pump import Screen
    from assistlearn.reach.flare.site.site_process import run_site

    require_flare()
    found = load_kit(kit, "site", "relay")
    check_certificate(found, datetime.now(UTC))
    file = None if found.kind == "relay" else (agent or found.agent_file)
    if file is not None:
        check_described(found, load_description(file))
    screen = Screen(sys.stdout.fileno())  # the site goes on if the screen is closed, or accepts no output
    screen.show(f"{_title(found.kind)} {found.name} of network {found.network}")
    screen.show(f"Log: {found.folder / 'site.log'}")
    screen.show("Stop it with Ctrl-C or SIGTERM.")
    run_site(found, file, None if quiet else screen.show)
    screen.show("Stopped.")
    screen.close(LAST_WORDS)


@app.command("check")
def check(kit: Folder = Path(), agent: AgentFile = None, json: Json = False) -> None:
    """Check a kit, its certificates, the relay, the clocks and the table. Nothing is shared.

    To see what would leave the organisation: assistlearn check KIT/agent.toml
    """
    from dataclasses import asdict

    from assistlearn.reach.flare.provisioning.kit import load_kit
    from assistlearn.reach.flare.site.findings import check_site

    found = load_kit(kit)
    findings = []
    for finding in check_site(found, agent):
        findings.append(finding)
        if not json:
            mark = "[green]ok[/]  " if finding.right else "[red]wrong[/]"
            say(f"{mark} {finding.what}: {plain(finding.words)}")
    right = all(finding.right for finding in findings)
    if json:
        say_json({"kit": str(kit), "name": found.name, "right": right, "findings": [asdict(f) for f in findings]})
    elif right and found.kind == "site":
        say("What would leave this organisation: " + command("check", agent or found.agent_file))
    wrong = {finding.what for finding in findings if not finding.right}
    if wrong:
        raise typer.Exit(3 if wrong <= {"relay", "clocks"} else 2)


@app.command("status")
def status(kit: Folder = Path(), json: Json = False) -> None:
    """Say whether the site or relay of this kit runs and is connected. Exit code 0 if so, 3 if not."""
    from assistlearn.reach.flare.provisioning.kit import load_kit
    from assistlearn.reach.flare.site.health import found

    asked = load_kit(kit, "site", "relay")
    well, words, health = found(asked)
    if json:
        said = {} if health is None else msgspec.to_builtins(health)
        say_json({"name": asked.name, "kit": str(asked.folder), "healthy": well, "words": words} | said)
    else:
        mark = "[green]ok[/]  " if well else "[red]wrong[/]"
        say(f"{mark} {_title(asked.kind)} [bold]{plain(asked.name)}[/]: {plain(words)}")
        if health is not None:
            _say_more(health)
    if not well:
        raise typer.Exit(3)


def _say_more(health: Health) -> None:
    say(f"  process {health.pid}, since {health.since:%d %B %Y %H:%M:%S} UTC")
    say(f"  FLARE's process {health.flare or '-'}, started {counted(health.starts, 'time')}")
    say(f"  jobs: {', '.join(health.jobs) or 'none'}")
    if health.lost_lines:
        say(f"  {counted(health.lost_lines, 'line')} of the log could not be written: is the disk full?")
    say(f"  last line of the log: {plain(health.last_line)}")


def _title(kind: str) -> str:
    return "The relay" if kind == "relay" else "Site"
