"""What is submitted as a job: a little JSON that names classes which every site has installed, and no code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assistlearn.reach.flare.provisioning import policy
from assistlearn.storage import write_json

SITE_APP, SITE_FILE = "site", "config/config_fed_client.json"
"""A site's part of a job, and the only file in it."""

COMMAND = re.compile(r"[0-9a-f]{32}")
"""The form of a command's name: the random name of its socket."""

SYNC = 30
"""Seconds that the sites have to say hello when a job starts."""


def write_job(folder: Path, command: str, initiator: str, sites: Sequence[str]) -> Path:
    """Write a job into a folder and return where it is.

    Parameters
    ----------
    folder : path
        Where to write; the folder need not exist yet.
    command : str
        The name of the socket at which the initiator's command waits.
    initiator : str
        The site that leads.
    sites : sequence of str
        All sites that take part, the initiator among them.
    """
    _write(folder / "meta.json", meta(initiator, sites))
    _write(folder / "relay" / "config" / "config_fed_server.json", _relay(initiator))
    _write(folder / SITE_APP / SITE_FILE, _site(command))
    return folder


def meta(initiator: str, sites: Sequence[str]) -> dict[str, Any]:
    """Return the content of a job's ``meta.json``."""
    return {
        "name": "assistlearn",
        "resource_spec": {},
        "min_clients": 1,
        "mandatory_clients": [initiator],
        "deploy_map": {"relay": ["server"], SITE_APP: list(sites)},
    }


def is_site_part(values: Any) -> bool:
    """Return whether these values are a site's part of one of our jobs, for any command.

    >>> is_site_part(_site("0" * 32))
    True
    >>> is_site_part(_site("../agent.toml"))
    False
    """
    try:
        command = values["components"][0]["args"]["command"]
    except (TypeError, KeyError, IndexError):
        return False
    return isinstance(command, str) and COMMAND.fullmatch(command) is not None and bool(values == _site(command))


def _relay(initiator: str) -> dict[str, Any]:
    controller = {
        "id": "controller",
        "path": policy.CONTROLLER_CLASS,
        "args": {"server_obj_id": "relay", "collab_obj_ids": [], "sync_task_timeout": SYNC},
    }
    relay = {"id": "relay", "path": policy.RELAY_CLASS, "args": {"initiator": initiator}}
    return {"format_version": 2, "workflows": [controller], "components": [relay]}


def _site(command: str) -> dict[str, Any]:
    executor = {"path": policy.EXECUTOR_CLASS, "args": {"client_obj_id": "site", "collab_obj_ids": []}}
    site = {"id": "site", "path": policy.SITE_CLASS, "args": {"command": command}}
    return {
        "format_version": 2,
        "executors": [{"tasks": ["*"], "executor": executor}],
        "components": [site],
    }


def _write(path: Path, values: dict[str, Any]) -> None:
    write_json(path, values)
