"""Startup kits: FLARE writes its files, we write what the sites allow; the quick way makes all keys at once."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from assistlearn.errors import NetworkError, SettingsError
from assistlearn.reach.flare.installed import require_flare
from assistlearn.reach.flare.provisioning import policy
from assistlearn.reach.flare.provisioning.issuing import Issuer, key_bytes, new_key, org_of
from assistlearn.reach.flare.provisioning.kit import ADMIN, Kind, key_in, revoked_in
from assistlearn.reach.flare.provisioning.network_file import Network, admin_name
from assistlearn.storage import private_folder, write_bytes

RELAY = "relay"
"""The folder of the relay's kit; the others are named after the organisations."""

HEARTBEAT_TIMEOUT = 40
"""Seconds after which the relay counts a site as gone; sites send a sign of life every ten."""


@dataclass(frozen=True)
class Place:
    """A network and the place of its relay, which every kit contains.

    Attributes
    ----------
    network : str
        The network's name.
    relay, port : str, int
        Where the relay is.
    """

    network: str
    relay: str
    port: int


def create_kits(network: Network, out: Path) -> dict[str, Path]:
    """Make all kits of a network, with all keys, and return their folders by name.

    The first initiator's admin kit is called ``admin``; it lies inside of its site kit, as every admin kit does.

    Parameters
    ----------
    network : Network
        Who takes part.
    out : path
        A folder that does not exist yet, or is empty.
    """
    require_flare()
    if out.exists() and any(out.iterdir()):
        raise SettingsError(
            f"{out} is not empty. New kits have other certificates than the kits that were handed out before: name "
            "another folder, or remove this one first."
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".kits-") as work:
        ready = Path(work) / "ready"
        private_folder(ready)
        _fill(network, Path(work), ready)
        write_bytes(ready / "README.txt", _readme(network).encode())
        if out.exists():
            out.rmdir()
        os.replace(ready, out)
    kits = {RELAY: out / RELAY, ADMIN: out / network.all_initiators[0] / ADMIN}
    kits |= {f"{name}/{ADMIN}": out / name / ADMIN for name in network.all_initiators[1:]}
    return kits | {name: out / name for name in network.organisations}


def _fill(network: Network, work: Path, ready: Path) -> None:
    """Make kits, each with a key and a certificate; the authority's key is not kept."""
    from cryptography.hazmat.primitives.serialization import Encoding

    place = Place(network.name, network.relay, network.port)
    issuer = Issuer.new(network.name, network.valid_days)
    nobody = issuer.revocation_list({}, 1).public_bytes(Encoding.PEM)
    made = _provision(place, network.organisations, network.all_initiators, work)
    kits: list[tuple[Kind, str, str, Path]] = [("relay", network.relay, RELAY, ready / RELAY)]
    kits += [("site", name, name, ready / name) for name in network.organisations]
    kits += [("admin", admin_name(name), name, ready / name / ADMIN) for name in network.all_initiators]
    for kind, name, owner, folder in kits:
        shutil.copytree(made / name, folder)
        _finish(folder, kind)
        key = new_key()
        certificate = issuer.issue(kind, name, org_of(owner), key.public_key(), network.valid_days)
        write_bytes(key_in(folder, kind), key_bytes(key))
        write_bytes(key_in(folder, kind).with_suffix(".crt"), certificate.public_bytes(Encoding.PEM))
        write_bytes(folder / "startup" / "rootCA.pem", issuer.certificate.public_bytes(Encoding.PEM))
        write_bytes(revoked_in(folder), nobody)


def blank_kit(place: Place, kind: Kind, organisation: str, work: Path) -> Path:
    """Make a kit without keys and certificates in a folder, and return where it is.

    Parameters
    ----------
    place : Place
        The network and its relay.
    kind : {"site", "relay", "admin"}
        What it is for.
    organisation : str
        Whose it is; empty for the relay's.
    work : path
        An empty folder.
    """
    made = _provision(place, [organisation or "nobody"], [organisation] if kind == "admin" else [], work)
    name = {"relay": place.relay, "site": organisation, "admin": admin_name(organisation)}[kind]
    _finish(made / name, kind)
    return made / name


def _provision(place: Place, organisations: Sequence[str], initiators: Sequence[str], work: Path) -> Path:
    """Have FLARE write its files of each kit; return the folder of the kits, named as in their certificates."""
    from nvflare.lighter.constants import CtxKey
    from nvflare.lighter.impl.static_file import StaticFileBuilder
    from nvflare.lighter.impl.workspace import WorkspaceBuilder
    from nvflare.lighter.provision import prepare_project
    from nvflare.lighter.provisioner import Provisioner

    builders = [WorkspaceBuilder(template_file=["master_template.yml"]), StaticFileBuilder(config_folder="config")]
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        project = prepare_project(_project(place, organisations, initiators))
        context = Provisioner(str(work), builders).provision(project)
    made = context.get(CtxKey.CURRENT_PROD_DIR)
    if context.get(CtxKey.BUILD_ERROR) or not made:
        raise NetworkError(f"NVIDIA FLARE could not make the kits. It said: {said.getvalue().strip()[-2000:]}")
    return Path(made)


def _project(place: Place, organisations: Sequence[str], initiators: Sequence[str]) -> dict[str, Any]:
    relay = {"name": place.relay, "type": "server", "org": "relay", "fed_learn_port": place.port}
    sites = [{"name": name, "type": "client", "org": org_of(name)} for name in organisations]
    admins = [
        {"name": admin_name(name), "type": "admin", "org": org_of(name), "role": policy.ROLE} for name in initiators
    ]
    return {
        "api_version": 3,
        "name": place.network,
        "description": "assistlearn",
        "participants": [relay, *sites, *admins],
    }


def _finish(kit: Path, kind: Kind) -> None:
    """Write the kit's policy, and keep its keys from other users of the machine."""
    local = kit / "local"
    if kind != "admin":
        _write_json(local / "authorization.json", policy.AUTHORIZATION)
        resources = json.loads((local / "resources.json.default").read_text())
        resources["class_list_enforcement_mode"] = "enforce"
        resources["class_allow_list"] = list(policy.CLASSES)
        resources["allow_log_streaming"] = False
        resources["components"] = [c for c in resources["components"] if c["id"] not in ("site_log_streamer",)]
        for server in resources.get("servers", ()):
            server["heart_beat_timeout"] = HEARTBEAT_TIMEOUT
        _write_json(local / "resources.json", resources)
    for sample in local.glob("privacy.json.sample"):
        sample.unlink()
    for folder, _, files in os.walk(kit):
        os.chmod(folder, 0o700)
        for file in files:
            os.chmod(Path(folder) / file, 0o600)


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _readme(network: Network) -> str:
    lines = [
        f"Startup kits of the network {network.name!r}. Each holds a private key. Hand it to its owner alone, over",
        "a channel that only the two of you can read, and remove it here afterwards.",
        "",
        f"{RELAY:16} the machine {network.relay}, port {network.port}:  assistlearn site start {RELAY}",
    ]
    lines += [
        f"{name:16} organisation {name}:  put its agent.toml into this folder, then  assistlearn site start {name}"
        for name in network.organisations
    ]
    lines += [
        f"{name + '/' + ADMIN:16} stays with {name}, an initiator: whoever has it can start runs."
        for name in network.all_initiators
    ]
    return "\n".join([*lines, ""])
