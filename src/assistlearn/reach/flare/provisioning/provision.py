"""Startup kits: FLARE makes the certificates, we write what the sites allow."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from assistlearn.errors import NetworkError, SettingsError
from assistlearn.reach.flare.installed import require_flare
from assistlearn.reach.flare.provisioning import policy
from assistlearn.reach.flare.provisioning.network_file import Network

RELAY, ADMIN = "relay", "admin"
"""The folders of the relay's kit and of the initiator's admin kit; the others are named after the organisations."""

HEARTBEAT_TIMEOUT = 40
"""Seconds after which the relay counts a site as gone; sites send a sign of life every ten."""


def create_kits(network: Network, out: Path) -> dict[str, Path]:
    """Make all kits of a network, and return their folders by name.

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
            f"{out} is not empty. Kits made anew have other certificates than those handed out before: name another "
            "folder, or remove this one first."
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".kits-") as work:
        made = _provision(network, Path(work))
        ready = Path(work) / "ready"
        ready.mkdir()
        names = {network.relay: RELAY, admin_name(network): ADMIN} | {name: name for name in network.organisations}
        for flare_name, name in names.items():
            shutil.copytree(made / flare_name, ready / name)
            _finish(ready / name, name)
        (ready / "README.txt").write_text(_readme(network), encoding="utf-8")
        if out.exists():
            out.rmdir()
        os.replace(ready, out)
    return {name: out / name for name in names.values()}


def admin_name(network: Network) -> str:
    """Return the name in the admin kit's certificate, in the form of an address, as FLARE wants it."""
    return f"admin@{network.initiator.lower().replace('_', '-')}.org"


def _provision(network: Network, work: Path) -> Path:
    from nvflare.lighter.constants import CtxKey
    from nvflare.lighter.provision import prepare_project
    from nvflare.lighter.provisioner import Provisioner

    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        context = Provisioner(str(work), _builders(network)).provision(prepare_project(_project(network)))
    made = context.get(CtxKey.CURRENT_PROD_DIR)
    if context.get(CtxKey.BUILD_ERROR) or not made:
        raise NetworkError(f"NVIDIA FLARE could not make the kits. It said: {said.getvalue().strip()[-2000:]}")
    return Path(made)


def _builders(network: Network) -> list[Any]:
    from nvflare.lighter.impl.cert import CertBuilder
    from nvflare.lighter.impl.signature import SignatureBuilder
    from nvflare.lighter.impl.static_file import StaticFileBuilder
    from nvflare.lighter.impl.workspace import WorkspaceBuilder

    return [
        WorkspaceBuilder(template_file=["master_template.yml"]),
        StaticFileBuilder(config_folder="config"),
        CertBuilder(root_valid_days=network.valid_days),
        SignatureBuilder(),
    ]


def _project(network: Network) -> dict[str, Any]:
    relay = {"name": network.relay, "type": "server", "org": "relay", "fed_learn_port": network.port}
    sites = [{"name": name, "type": "client", "org": _org(name)} for name in network.organisations]
    admin = {"name": admin_name(network), "type": "admin", "org": _org(network.initiator), "role": policy.ROLE}
    return {
        "api_version": 3,
        "name": network.name,
        "description": "assistlearn",
        "participants": [relay, *sites, admin],
    }


def _org(name: str) -> str:
    return name.replace("-", "_")


def _finish(kit: Path, name: str) -> None:
    """Write the kit's policy, and keep its keys from other users of the machine."""
    local = kit / "local"
    if name != ADMIN:
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
        f"Startup kits of the network {network.name!r}. Each holds a private key: hand it to its owner alone, by a way",
        "that only the two of you can read, and remove it here afterwards.",
        "",
        f"{RELAY:16} the machine {network.relay}, port {network.port}:  assistlearn site start {RELAY}",
    ]
    lines += [
        f"{name:16} organisation {name}:  put its agent.toml into this folder, then  assistlearn site start {name}"
        for name in network.organisations
    ]
    lines += [f"{ADMIN:16} stays with {network.initiator}, the initiator: whoever has it can start runs.", ""]
    return "\n".join(lines)
