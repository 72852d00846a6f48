"""``assistlearn network found``, ``sign``, ``renew``, ``revoke``, ``members``: what the network's authority does."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from assistlearn.cli.confirming import Fingerprint, PassphraseFile, Yes, confirm, passphrase
from assistlearn.cli.output import Json, command, plain, say, say_json, say_table
from assistlearn.cli.overwriting import Force, check_target

if TYPE_CHECKING:
    from assistlearn.reach.flare.provisioning.membership import Membership

Folder = Annotated[Path, typer.Argument(metavar="AUTHORITY", help="The authority's folder.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The organisation's name, or the relay's host name.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="The file to write, for the member.", show_default="NAME.member"),
]


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
    if json:
        say_json({"network": made.network.name, "authority": str(out), "fingerprint": print_})
        return
    say(f"The authority of network [bold]{plain(made.network.name)}[/] is in {plain(out)}. Keep it offline.")
    say(f"Its fingerprint, for every member to compare: [bold]{print_}[/]")
    say("Every member, and the relay, sends a request: " + command("site", "request", "NAME", "--out", "KIT"))
    say("Then, for each: " + command("network", "sign", out, "NAME.csr"))


def sign(
    authority: Folder,
    request: Annotated[Path, typer.Argument(metavar="REQUEST", help="The request that a member has sent (.csr).")],
    out: Out = None,
    renew: Annotated[
        bool, typer.Option("--renew", metavar="", help="Sign a new key although the member has a valid certificate.")
    ] = False,
    fingerprint: Fingerprint = None,
    yes: Yes = False,
    passphrase_file: PassphraseFile = None,
    force: Force = False,
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


def renew(
    authority: Folder,
    name: Name,
    out: Out = None,
    passphrase_file: PassphraseFile = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Sign new certificates for a member that keeps its keys, before the old ones end."""
    from assistlearn.reach.flare.provisioning.authority import Authority

    found = Authority(authority)
    opened = found.opened(passphrase(passphrase_file))
    target = _target(authority, name, out, force, json)
    _hand_out(found.renew(opened, name), name, target, json)


def revoke(
    authority: Folder,
    name: Name,
    replaced: Annotated[
        bool, typer.Option("--replaced", metavar="", help="Revoke only those that a newer certificate has replaced.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    json: Json = False,
) -> None:
    """Revoke a member's certificates. Send the new list to the relay and to every site."""
    from assistlearn.reach.flare.provisioning.authority import Authority

    found = Authority(authority)
    gone = found.revoke(found.opened(passphrase(passphrase_file)), name, replaced)
    if json:
        say_json({"revoked": [one.signed.name for one in gone], "list": str(found.revoked)})
        return
    for one in gone:
        say(f"Revoked: [bold]{plain(one.signed.name)}[/] ({one.signed.kind}), signed on {one.signed.at:%d %B %Y}.")
    say(f"Send {plain(found.revoked)} to the relay and to every member; it is no secret. Each of them, while it runs:")
    say("  " + command("site", "revoked", "KIT", found.revoked.name))


def members(authority: Folder, json: Json = False) -> None:
    """List who was certified: name, kind, until when, and when it was revoked. Needs no passphrase."""
    from assistlearn.reach.flare.provisioning.authority import Authority

    standings = Authority(authority).record.standings()
    if json:
        facts = [
            {
                **{"name": one.signed.name, "kind": one.signed.kind, "serial": one.signed.serial},
                **{"signed": one.signed.at, "until": one.signed.until, "revoked": one.revoked, "key": one.signed.key},
            }
            for one in standings
        ]
        say_json({"members": facts})
        return
    table = Table("name", "kind", "signed", "valid until", "revoked")
    for one in standings:
        revoked = "" if one.revoked is None else f"{one.revoked:%d %B %Y}"
        days = f"{one.signed.at:%d %B %Y}", f"{one.signed.until:%d %B %Y}"
        table.add_row(plain(one.signed.name), one.signed.kind, *days, revoked)
    say_table(table)


def _target(authority: Path, name: str, out: Path | None, force: bool, quiet: bool) -> Path:
    """Return the file to write a membership to; raise an error if it must not be written."""
    path = out or Path(f"{name}.member")
    check_target(path, {authority: "a file of the authority"}, force=force, quiet=quiet)
    return path


def _hand_out(membership: Membership, name: str, path: Path, json: bool) -> None:
    import msgspec

    from assistlearn.storage import write_bytes

    write_bytes(path, msgspec.json.format(msgspec.json.encode(membership)) + b"\n")
    if json:
        say_json({"member": name, "file": str(path), "kinds": sorted(membership.certificates)})
        return
    say(f"[bold]{plain(path)}[/] is for {plain(name)}; it holds no secret. There:")
    say("  " + command("site", "join", "KIT", path.name))
