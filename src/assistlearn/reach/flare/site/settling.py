"""What ``site start`` writes into a kit before FLARE reads it: where things are kept, what is logged, signs of life.

Kits are made once and may be moved, or be older than this release; so it is written at every start.
"""

from __future__ import annotations

from typing import Any

from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.storage import read_json, write_json

SIGN_CLASS = "assistlearn.reach.flare.site.sign_of_life.SignOfLife"


def settle(kit: Kit) -> None:
    """Write a kit's configuration; each file is whole at any instant."""
    path = kit.folder / "local" / "resources.json"
    resources = read_json(path)
    settled = _with_signs(_with_storage(resources, kit) if kit.kind == "relay" else resources)
    write_json(path, settled)
    default = read_json(kit.folder / "local" / "log_config.json.default")
    write_json(kit.folder / "local" / "log_config.json", _to_the_screen_alone(default))


def _with_storage(resources: dict[str, Any], kit: Kit) -> dict[str, Any]:
    """Make the relay keep its jobs inside its own kit, wherever the kit is now."""
    resources["snapshot_persistor"]["args"]["storage"]["args"]["root_dir"] = str(kit.folder / "snapshots")
    for component in resources["components"]:
        if component["id"] == "job_manager":
            component["args"]["uri_root"] = str(kit.folder / "jobs")
    return resources


def _with_signs(resources: dict[str, Any]) -> dict[str, Any]:
    own = {"id": "sign_of_life", "path": SIGN_CLASS, "args": {}}
    others = [component for component in resources["components"] if component["id"] != own["id"]]
    return resources | {"components": [*others, own]}


def _to_the_screen_alone(config: dict[str, Any]) -> dict[str, Any]:
    """Make FLARE log to its screen alone, without colours, and write no log files of its own.

    What it shows on its screen goes to ``site.log``, which is kept small.
    """
    console = config["handlers"]["consoleHandler"] | {"formatter": "baseFormatter"}
    loggers = {name: logger | {"handlers": ["consoleHandler"]} for name, logger in config["loggers"].items()}
    return config | {"handlers": {"consoleHandler": console}, "loggers": loggers}
