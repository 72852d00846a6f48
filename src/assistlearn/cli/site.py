"""``assistlearn site``: an organisation's place in a network, and the relay."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from assistlearn.cli import site_membership
from assistlearn.cli.output import Json, command, plain, say, say_json

app = typer.Typer(no_args_is_help=True, help="Join a network; run or check an organisation's site, or the relay.")
app.command("request")(site_membership.request)
app.command("join")(site_membership.join)
app.command("revoked")(site_membership.revoked)

Folder = Annotated[Path, typer.Argument(metavar="KIT", help="The startup kit's folder.")]
AgentFile = Annotated[
    Path | None,
    typer.Option("--agent", metavar="FILE", help="The organisation's agent file.", show_default="KIT/agent.toml"),
]


@app.command("start")
def start(
    kit: Folder = Path(),
    agent: AgentFile = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log to the file only, not to the screen.")] = False,
) -> None:
    """Start a site or the relay, and stay until SIGTERM or Ctrl-C. The log is in KIT/site.log, too."""
    from assistlearn.agent_files import load_description
    from assistlearn.reach.flare.installed import require_flare
    from assistlearn.reach.flare.provisioning.kit import load_kit
    from assistlearn.reach.flare.site.certificates import check_certificate
    from assistlearn.reach.flare.site.findings import check_described
    from assistlearn.reach.flare.site.site_process import run_site

    require_flare()
    found = load_kit(kit, "site", "relay")
    check_certificate(found, datetime.now(UTC))
    file = None if found.kind == "relay" else (agent or found.agent_file)
    if file is not None:
        check_described(found, load_description(file))
    say(f"{_title(found.kind)} [bold]{plain(found.name)}[/] of network {plain(found.network)}")
    say(f"Log: {plain(found.folder / 'site.log')}")
    say("Stop it with Ctrl-C or SIGTERM.")
    sys.stdout.flush()
    run_site(found, file, None if quiet else _pass_on)
    say("Stopped.")


@app.command("check")
def check(kit: Folder = Path(), agent: AgentFile = None, json: Json = False) -> None:
    """Check a kit, its certificates, the relay, the clocks and the table. Nothing is shared.

    What would leave the organisation is shown by: assistlearn check KIT/agent.toml
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


def _title(kind: str) -> str:
    return "The relay" if kind == "relay" else "Site"


def _pass_on(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
