"""``assistlearn network``: found a network and certify its members, or try one on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistlearn.cli import network_members
from assistlearn.cli.output import Json, command, plain, say, say_json

if TYPE_CHECKING:
    from assistlearn.reach.flare.provisioning.network_file import Network

app = typer.Typer(no_args_is_help=True, help="Found a network and certify its members, or try one on this machine.")
app.command("found")(network_members.found)
app.command("sign")(network_members.sign)
app.command("renew")(network_members.renew)
app.command("revoke")(network_members.revoke)
app.command("members")(network_members.members)


@app.command("create")
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

    network = load_network(file)
    kits = create_kits(network, out)
    if json:
        say_json({"network": network.name, "kits": {name: str(path) for name, path in kits.items()}})
        return
    days = network.valid_days
    say(f"Network [bold]{plain(network.name)}[/]: {len(kits)} kits in {plain(out)}, valid for {days} days.")
    for name, path in kits.items():
        say(f"  {plain(path)}  for {_whose(name, network)}")
    say("Each holds a private key. Hand it to its owner alone, over a channel that only the two of you can read.")
    say("Then, at the relay and at every organisation: " + command("site", "start", "KIT"))


@app.command("demo")
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="A new folder for all files.")] = Path(
        "network-demo"
    ),
    rounds: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="The largest number of rounds.")] = 5,
    json: Json = False,
) -> None:
    """Try a network on this machine: start a relay and three sites, train, predict, and stop everything."""
    from assistlearn.cli.network_demo import run_demo

    run_demo(out, rounds, json)


def _whose(name: str, network: Network) -> str:
    organisation, _, admin = name.rpartition("/")
    if name == "relay":
        return f"the relay, {plain(network.relay)}"
    if admin == "admin":
        return f"{plain(organisation or network.all_initiators[0])}, who starts runs with it"
    return f"organisation {plain(name)}"
