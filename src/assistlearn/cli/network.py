"""``assistlearn network``: make the kits of a network, or try one on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assistlearn.cli.output import Json, command, plain, say, say_json

app = typer.Typer(no_args_is_help=True, help="Make the startup kits of a network, or try one on this machine.")


@app.command("create")
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The network's TOML file.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the kits go.")] = Path("kits"),
    json: Json = False,
) -> None:
    """Make one startup kit per organisation, one for the relay, and one for the initiator's admin.

    Each holds a private key: hand it to its owner by a way that only the two of you can read.
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
        say(f"  {plain(path)}  for {_whose(name, network.initiator, network.relay)}")
    say("Each holds a private key: hand it to its owner alone, by a way that only the two of you can read.")
    say("Then, at the relay and at every organisation: " + command("site", "start", "KIT"))


@app.command("demo")
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where everything goes.")] = Path(
        "network-demo"
    ),
    rounds: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Rounds at the most.")] = 5,
    json: Json = False,
) -> None:
    """Try it on this machine: a relay and three sites with real certificates; train, predict, stop everything."""
    from assistlearn.cli.network_demo import run_demo

    run_demo(out, rounds, json)


def _whose(name: str, initiator: str, relay: str) -> str:
    if name == "relay":
        return f"the relay, {plain(relay)}"
    if name == "admin":
        return f"{plain(initiator)}, who starts runs with it"
    return f"organisation {plain(name)}"
