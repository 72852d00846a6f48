"""``assistlearn site``: an organisation's place in a network, and the relay."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from assistlearn.cli.output import Fingerprint, Json, Yes, command, confirm, plain, say, say_json
from assistlearn.evaluation.words import counted

if TYPE_CHECKING:
    from assistlearn.reach.flare.site.health import Health


app = typer.Typer(no_args_is_help=True, help="Join a network; run or check an organisation's site, or the relay.")

Kit = Annotated[Path, typer.Argument(metavar="KIT", help="The kit's folder.")]
AgentFile = Annotated[
    Path | None,
    typer.Option("--agent", metavar="FILE", help="The organisation's agent file.", show_default="KIT/agent.toml"),
]

LAST_WORDS = 2.0
"""Seconds to wait at the end for a screen that accepts no output."""


@app.command()
def request(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The organisation's name, or the relay's host name.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="KIT", help="The folder that becomes the kit.")] = Path(
        "kit"
    ),
    role: Annotated[
        Literal["member", "initiator", "relay"],
        typer.Option("--role", metavar="ROLE", help="member, initiator (starts runs) or relay."),
    ] = "member",
    json: Json = False,
) -> None:
    """Make a private key, which stays here, and a request to send to the network's authority."""
    from assistlearn.reach.flare.installed import require_flare
    from assistlearn.reach.flare.provisioning.signing_request import make_request

    require_flare()
    file, fingerprint = make_request(out, name, role)
    if json:
        say_json({"name": name, "kit": str(out), "request": str(file), "fingerprint": fingerprint})
        return
    say(f"A private key was made in {plain(out)}. It never leaves this machine.")
    say(f"Send this file to the network's authority; it is no secret: [bold]{plain(file)}[/]")
    say(f"Fingerprint, to read to them by telephone: [bold]{fingerprint}[/]")
    say("When the answer has come: " + command("site", "join", out, f"{name}.member"))


@app.command()
def join(
    kit: Kit,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What the authority has sent (.member).")],
    fingerprint: Fingerprint = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Complete a kit with the certificates that the authority has signed, or renew them, also while the site runs."""
    from assistlearn.reach.flare.provisioning.completing import join as join_network
    from assistlearn.reach.flare.provisioning.completing import root_of
    from assistlearn.reach.flare.provisioning.fingerprint import fingerprint as fingerprint_of
    from assistlearn.reach.flare.provisioning.membership import read_membership

    membership = read_membership(file)
    shown = fingerprint_of(membership.loaded()[0].public_key())
    if root_of(kit) != shown or fingerprint is not None:  # an authority that the kit knows need not be confirmed again
        confirm(f"{file} is of the network {membership.network!r}.", shown, fingerprint, yes)
    made = join_network(kit, membership)
    if json:
        say_json({"name": made.name, "kind": made.kind, "network": made.network, "kit": str(kit)})
        return
    say(f"The kit of [bold]{plain(made.name)}[/] in network {plain(made.network)} is complete: {plain(kit)}")
    say("Next: " + command("site", "check", kit))


@app.command()
def revoked(
    kit: Kit,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The authority's list (revoked.crl).")],
    json: Json = False,
) -> None:
    """Install the authority's list of revoked certificates. A running site or relay needs no restart."""
    from cryptography import x509

    from assistlearn.reach.flare.provisioning.kit import ADMIN, load_kit
    from assistlearn.reach.flare.provisioning.revoked_list import LARGEST_LIST, install_list, read_list
    from assistlearn.reach.flare.provisioning.safe_files import read_small

    found = load_kit(kit)
    content = read_small(file, LARGEST_LIST)
    authority = x509.load_pem_x509_certificate(found.authority.read_bytes())
    new = install_list(content, authority, found.revoked, file)
    if (found.folder / ADMIN).is_dir():
        install_list(content, authority, load_kit(found.folder / ADMIN, "admin").revoked, file)
    number = len(read_list(content, authority, file))
    if json:
        say_json({"kit": str(kit), "revoked": number, "new": new})
        return
    known = f"{counted(number, 'revoked certificate')} in the list of {plain(kit)}"
    say(known + ("." if new else ", which was there already."))


@app.command()
def start(
    kit: Kit = Path(),
    agent: AgentFile = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", metavar="", help="Log to the file only, not to the screen.")
    ] = False,
) -> None:
    """Start a site or the relay. It runs until SIGTERM or Ctrl-C. The log is also in KIT/site.log."""
    from assistlearn.agent.file import load_description
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


@app.command()
def check(kit: Kit = Path(), agent: AgentFile = None, json: Json = False) -> None:
    """Check a kit, its certificates, the relay, the clocks and the table. Nothing is shared.

    To see what would leave the organisation: assistlearn check KIT/agent.toml
    """
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


@app.command()
def status(kit: Kit = Path(), json: Json = False) -> None:
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
            _show_health(health)
    if not well:
        raise typer.Exit(3)


def _show_health(health: Health) -> None:
    say(f"  process {health.pid}, since {health.since:%d %B %Y %H:%M:%S} UTC")
    say(f"  FLARE's process {health.flare or '-'}, started {counted(health.starts, 'time')}")
    say(f"  jobs: {', '.join(health.jobs) or 'none'}")
    if health.lost_lines:
        say(f"  {counted(health.lost_lines, 'line')} of the log could not be written: is the disk full?")
    say(f"  last line of the log: {plain(health.last_line)}")


def _title(kind: str) -> str:
    return "The relay" if kind == "relay" else "Site"
