"""``assistlearn site request``, ``join``, ``revoked``: a member's key, its certificate, and the revoked ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from assistlearn.cli.confirming import Fingerprint, Yes, confirm
from assistlearn.cli.output import Json, command, counted, plain, say, say_json

Kit = Annotated[Path, typer.Argument(metavar="KIT", help="The kit's folder.")]


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
