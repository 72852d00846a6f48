"""Networks of organisations: ``network`` founds one and certifies its members; ``site`` is a member's place in it."""

from __future__ import annotations

import json as json_format
import os
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from assistlearn.cli import output
from assistlearn.cli.begin import write_example
from assistlearn.cli.output import Json, answer, command, flag, plain, say, say_json, show_table
from assistlearn.cli.predict import predicted, show_predicted
from assistlearn.cli.report import outcome, show_result
from assistlearn.cli.train import new_run, train_run
from assistlearn.errors import SettingsError
from assistlearn.evaluation.words import counted

if TYPE_CHECKING:
    from assistlearn.reach.flare.provisioning.authority_record import Standing
    from assistlearn.reach.flare.provisioning.membership import Membership
    from assistlearn.reach.flare.provisioning.network_file import Network
    from assistlearn.reach.flare.site.health import Health


# What a command asks its user: a passphrase, and whether a fingerprint is right.


VARIABLE = "ASSISTLEARN_PASSPHRASE"
"""The environment variable that a passphrase may come from."""

PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        help=f"A file with the passphrase. Without it, {VARIABLE} is read, or you are asked.",
    ),
]
Fingerprint = Annotated[
    str | None, typer.Option("--fingerprint", metavar="TEXT", help="The expected fingerprint; then nothing is asked.")
]
Yes = Annotated[bool, flag("--yes", "Accept any fingerprint. For tests only.", "-y")]


def passphrase(file: Path | None, new: bool = False) -> str:
    """Return the passphrase of an authority's key: from a file, from the environment, or typed."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"The passphrase cannot be read from {file}: {error}. Check --passphrase-file."
            ) from None
    if VARIABLE in os.environ:
        return os.environ[VARIABLE]
    if not sys.stdin.isatty():
        raise SettingsError(
            f"The authority's passphrase cannot be asked for here. Use --passphrase-file or {VARIABLE}."
        )
    words = "Passphrase of the authority's key, at least 12 characters" if new else "Passphrase of the authority's key"
    return str(typer.prompt(words, hide_input=True, confirmation_prompt=new, err=True))


def confirm(what: str, shown: str, wanted: str | None, yes: bool) -> None:
    """Raise ``SettingsError`` unless a fingerprint is the expected one, or the user confirms it."""
    from assistlearn.reach.flare.provisioning.fingerprint import same

    if wanted is not None:
        if not same(wanted, shown):
            raise SettingsError(f"{what} Its fingerprint is {shown}, not {wanted}. Somebody may have changed it.")
        return
    if yes:
        return
    if not sys.stdin.isatty():
        raise SettingsError(f"{what} The fingerprint, {shown}, cannot be confirmed here. Give it with --fingerprint.")
    output.complaints().print(f"{plain(what)}\nFingerprint: [bold]{shown}[/]")
    if not typer.confirm("Is it the same as its owner reads to you, by telephone or face to face?", err=True):
        raise SettingsError("Nothing was done: the fingerprint was not confirmed.")


# ``assistlearn network``: an authority, and the certificates that it signs.


network = typer.Typer(no_args_is_help=True, help="Found a network and certify its members, or try one on this machine.")

Folder = Annotated[Path, typer.Argument(metavar="AUTHORITY", help="The authority's folder.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The organisation's name, or the relay's host name.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="The file to write, for the member.", show_default="NAME.member"),
]


@network.command()
def found(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The network's TOML file.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="A new folder for the authority.")] = Path(
        "authority"
    ),
    passphrase_file: PassphraseFile = None,
    json: Json = False,
) -> None:
    """Found a network: make its authority, the key that signs the certificates of all members.

    A passphrase encrypts the key. Keep the folder offline, and a copy in another place.
    """
    from assistlearn.reach.flare.provisioning.authority import found
    from assistlearn.reach.flare.provisioning.fingerprint import fingerprint

    made = found(file, out, passphrase(passphrase_file, new=True))
    print_ = fingerprint(made.certificate.public_key())
    answer(
        json,
        {"network": made.network.name, "authority": str(out), "fingerprint": print_},
        f"The authority of network [bold]{plain(made.network.name)}[/] is in {plain(out)}. Keep it offline.",
        f"Its fingerprint, for every member to compare: [bold]{print_}[/]",
        "Every member, and the relay, sends a request: " + command("site", "request", "NAME", "--out", "KIT"),
        "Then, for each: " + command("network", "sign", out, "NAME.csr"),
    )


@network.command()
def sign(
    authority: Folder,
    request: Annotated[Path, typer.Argument(metavar="REQUEST", help="The request that a member has sent (.csr).")],
    out: Out = None,
    renew: Annotated[bool, flag("--renew", "Sign a new key although the member has a valid certificate.")] = False,
    fingerprint: Fingerprint = None,
    yes: Yes = False,
    passphrase_file: PassphraseFile = None,
    force: output.Force = False,
    json: Json = False,
) -> None:
    """Check a member's request and sign it. The file that is written holds no secret: send it back by mail.

    Compare the fingerprint with the sender by telephone first. Whoever has the signed key is that organisation.
    """
    from assistlearn.reach.flare.provisioning.admission import admitted
    from assistlearn.reach.flare.provisioning.authority import Authority
    from assistlearn.reach.flare.provisioning.fingerprint import fingerprint as fingerprint_of
    from assistlearn.reach.flare.provisioning.signing_request import read_request

    found = Authority(authority)
    requested = read_request(request)
    asked = admitted(found.network, found.record.standings(), requested, renew, datetime.now(UTC))
    names = ", ".join(f"{one.name} ({kind})" for kind, one in asked.items())
    confirm(f"{request} asks for {names}.", fingerprint_of(*(one.key for one in requested)), fingerprint, yes)
    target = _target(authority, requested[0].name, out, force, json)
    membership = found.sign(found.opened(passphrase(passphrase_file)), asked)
    _hand_out(membership, requested[0].name, target, json)


@network.command()
def renew(
    authority: Folder,
    name: Name,
    out: Out = None,
    passphrase_file: PassphraseFile = None,
    force: output.Force = False,
    json: Json = False,
) -> None:
    """Sign new certificates for a member that keeps its keys, before the old ones end."""
    from assistlearn.reach.flare.provisioning.authority import Authority

    found = Authority(authority)
    opened = found.opened(passphrase(passphrase_file))
    target = _target(authority, name, out, force, json)
    _hand_out(found.renew(opened, name), name, target, json)


@network.command()
def revoke(
    authority: Folder,
    name: Name,
    replaced: Annotated[bool, flag("--replaced", "Revoke only those that a newer certificate has replaced.")] = False,
    passphrase_file: PassphraseFile = None,
    json: Json = False,
) -> None:
    """Revoke a member's certificates. Send the new list to the relay and to every site."""
    from assistlearn.reach.flare.provisioning.authority import Authority

    found = Authority(authority)
    gone = found.revoke(found.opened(passphrase(passphrase_file)), name, replaced)
    signed = [one.signed for one in gone]
    answer(
        json,
        {"revoked": [one.name for one in signed], "list": str(found.revoked)},
        *(f"Revoked: [bold]{plain(one.name)}[/] ({one.kind}), signed on {one.at:%d %B %Y}." for one in signed),
        f"Send {plain(found.revoked)} to the relay and to every member; it is no secret. Each of them, while it runs:",
        "  " + command("site", "revoked", "KIT", found.revoked.name),
    )


@network.command()
def members(authority: Folder, json: Json = False) -> None:
    """List who was certified: name, kind, until when, and when it was revoked. Needs no passphrase."""
    from assistlearn.reach.flare.provisioning.authority import Authority

    standings = Authority(authority).record.standings()
    if json:
        say_json({"members": [_member(one) for one in standings]})
        return
    rows = [
        (one.signed.name, one.signed.kind, *("" if day is None else f"{day:%d %B %Y}" for day in days))
        for one in standings
        for days in [(one.signed.at, one.signed.until, one.revoked)]
    ]
    show_table("", ["name", "kind", "signed", "valid until", "revoked"], [], rows)


def _member(one: Standing) -> dict[str, Any]:
    signed = one.signed
    facts = {"name": signed.name, "kind": signed.kind, "serial": signed.serial, "signed": signed.at}
    return facts | {"until": signed.until, "revoked": one.revoked, "key": signed.key}


def _target(authority: Path, name: str, out: Path | None, force: bool, quiet: bool) -> Path:
    path = out or Path(f"{name}.member")
    output.check_target(path, {authority: "a file of the authority"}, force=force, quiet=quiet)
    return path


def _hand_out(membership: Membership, name: str, path: Path, json: bool) -> None:
    from assistlearn.storage import write_bytes

    write_bytes(path, msgspec.json.format(msgspec.json.encode(membership)) + b"\n")
    answer(
        json,
        {"member": name, "file": str(path), "kinds": sorted(membership.certificates)},
        f"[bold]{plain(path)}[/] is for {plain(name)}; it holds no secret. There:",
        "  " + command("site", "join", "KIT", path.name),
    )


@network.command()
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The network's TOML file.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="A new folder for them.")] = Path("kits"),
    json: Json = False,
) -> None:
    """Make all kits of a network at once, with all private keys. Use it to try a network, or if you own all machines.

    Whoever runs this could act as any of the members. No authority is kept, so nobody can be added, renewed or revoked.
    Between organisations use 'network found': there each makes its own key.
    """
    from assistlearn.reach.flare.provisioning.network_file import load_network
    from assistlearn.reach.flare.provisioning.provision import create_kits

    described = load_network(file)
    kits = create_kits(described, out)
    valid = f"{len(kits)} kits in {plain(out)}, valid for {described.valid_days} days"
    answer(
        json,
        {"network": described.name, "kits": {name: str(path) for name, path in kits.items()}},
        f"Network [bold]{plain(described.name)}[/]: {valid}.",
        *(f"  {plain(path)}  for {_whose(name, described)}" for name, path in kits.items()),
        "Each holds a private key. Hand it to its owner alone, over a channel that only the two of you can read.",
        "Then, at the relay and at every organisation: " + command("site", "start", "KIT"),
    )


def _whose(name: str, network: Network) -> str:
    organisation, _, admin = name.rpartition("/")
    if name == "relay":
        return f"the relay, {plain(network.relay)}"
    if admin == "admin":
        return f"{plain(organisation or network.all_initiators[0])}, who starts runs with it"
    return f"organisation {plain(name)}"


# ``assistlearn network demo``: a relay and three sites on this machine, from kits to predictions.


PURPOSE = "try assistlearn on one machine"
HELPERS = ("lab", "scans")

_ALLOW = f"""
[allow]
initiators = ["clinic"]
purpose = "{PURPOSE}"
max_runs = 100
"""

_TASK = """\
# What to train, with whom. Paths are relative to this file.
run = "demo"
purpose = {purpose}
site = "kits/clinic"
agent = "data/clinic.toml"
helpers = {helpers}

[training]
method = "ascii"
rounds = {rounds}
"""


@network.command()
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="A new folder for all files.")] = Path(
        "network-demo"
    ),
    rounds: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="The largest number of rounds.")] = 5,
    json: Json = False,
) -> None:
    """Try a network on this machine: start a relay and three sites, train, predict, and stop everything."""
    from assistlearn.reach import TIMEOUT
    from assistlearn.reach.flare.installed import require_flare
    from assistlearn.reach.flare.local import LocalNetwork

    require_flare()
    if out.exists():
        raise SettingsError(f"{out} is there already. Remove it, or name another folder with --out.")
    begun = time.monotonic()

    def tell(words: str) -> None:
        if not json:
            say(f"[dim]{time.monotonic() - begun:5.1f} s[/]  {words}")

    task = write_demo(out, rounds)
    tell("Three organisations' tables and agent files are in " + plain(out / "data"))
    agent_files = {name: out / "data" / f"{name}.toml" for name in ("clinic", *HELPERS)}
    local = LocalNetwork(out, agent_files)
    tell(f"Kits with certificates for a relay, three organisations and an admin: {plain(out / 'kits')}")
    with local:
        processes = ", ".join(f"{name} {each.pid}" for name, each in local.processes.items())
        tell("The relay and three sites run, each in its own processes: " + processes)
        tell("Training: " + command("train", task))
        run = new_run([task], "", out / "run")
        train_run(run, quiet=json, timeout=TIMEOUT)
        if not json:
            show_result(run)
        tell("Predicting patients without a diagnosis: " + command("predict", out / "run"))
        facts = predicted(run.path, out / "data" / "new-patients.csv", out / "predictions.csv", TIMEOUT, quiet=json)
        if not json:
            show_predicted(facts)
    tell("Everything is stopped. Look around: " + command("show", out / "run"))
    if json:
        seconds = round(time.monotonic() - begun, 1)
        say_json({"folder": str(out), "seconds": seconds, "predictions": facts} | outcome(run))


def write_demo(out: Path, rounds: int) -> Path:
    from assistlearn.storage import write_bytes

    write_example(out / "data")
    for name in HELPERS:
        with (out / "data" / f"{name}.toml").open("a", encoding="utf-8") as file:
            file.write(_ALLOW)
    task = out / "task.toml"
    helpers, purpose = json_format.dumps(list(HELPERS)), json_format.dumps(PURPOSE)
    write_bytes(task, _TASK.format(purpose=purpose, helpers=helpers, rounds=rounds).encode())
    return task


# ``assistlearn site``: an organisation's place in a network, and the relay.


site = typer.Typer(no_args_is_help=True, help="Join a network; run or check an organisation's site, or the relay.")

Kit = Annotated[Path, typer.Argument(metavar="KIT", help="The kit's folder.")]
AgentFile = Annotated[
    Path | None,
    typer.Option("--agent", metavar="FILE", help="The organisation's agent file.", show_default="KIT/agent.toml"),
]

LAST_WORDS = 2.0
"""Seconds to wait at the end for a screen that accepts no output."""


@site.command()
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
    answer(
        json,
        {"name": name, "kit": str(out), "request": str(file), "fingerprint": fingerprint},
        f"A private key was made in {plain(out)}. It never leaves this machine.",
        f"Send this file to the network's authority; it is no secret: [bold]{plain(file)}[/]",
        f"Fingerprint, to read to them by telephone: [bold]{fingerprint}[/]",
        "When the answer has come: " + command("site", "join", out, f"{name}.member"),
    )


@site.command()
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
    answer(
        json,
        {"name": made.name, "kind": made.kind, "network": made.network, "kit": str(kit)},
        f"The kit of [bold]{plain(made.name)}[/] in network {plain(made.network)} is complete: {plain(kit)}",
        "Next: " + command("site", "check", kit),
    )


@site.command()
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
    known = f"{counted(number, 'revoked certificate')} in the list of {plain(kit)}"
    answer(
        json,
        {"kit": str(kit), "revoked": number, "new": new},
        known + ("." if new else ", which was there already."),
    )


@site.command()
def start(
    kit: Kit = Path(),
    agent: AgentFile = None,
    quiet: Annotated[bool, flag("--quiet", "Log to the file only, not to the screen.", "-q")] = False,
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
    screen.show(f"{_title_of(found.kind)} {found.name} of network {found.network}")
    screen.show(f"Log: {found.folder / 'site.log'}")
    screen.show("Stop it with Ctrl-C or SIGTERM.")
    run_site(found, file, None if quiet else screen.show)
    screen.show("Stopped.")
    screen.close(LAST_WORDS)


@site.command()
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


@site.command()
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
        say(f"{mark} {_title_of(asked.kind)} [bold]{plain(asked.name)}[/]: {plain(words)}")
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


def _title_of(kind: str) -> str:
    return "The relay" if kind == "relay" else "Site"
