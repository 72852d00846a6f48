"""What a kit lets others do at a site: run our classes, and nothing else."""

from __future__ import annotations

from typing import Any

RELAY_CLASS = "assistlearn.reach.flare.site.apps.Relay"
SITE_CLASS = "assistlearn.reach.flare.site.apps.Site"
CONTROLLER_CLASS = "nvflare.collab.runtime.controller.CollabController"
EXECUTOR_CLASS = "nvflare.collab.runtime.executor.CollabExecutor"

CLASSES = (RELAY_CLASS, SITE_CLASS, CONTROLLER_CLASS, EXECUTOR_CLASS)
"""The only classes that a job may name. They are installed at every site; none comes with a job."""

ROLE = "lead"
"""The role of the initiator's admin kit."""

_NOTHING = {
    "submit_job": "none",
    "clone_job": "none",
    "manage_job": "none",
    "download_job": "none",
    "view": "none",
    "operate": "none",
    "shell_commands": "none",
    "byoc": "none",
    "server-predeployed-flwr": "none",
}

AUTHORIZATION: dict[str, Any] = {
    "format_version": "1.0",
    "permissions": {
        "project_admin": _NOTHING,
        "org_admin": _NOTHING,
        "member": _NOTHING,
        ROLE: _NOTHING | {"submit_job": "any", "manage_job": "n:submitter", "view": "any"},
    },
}
"""Who may do what at a site: the initiator's admin starts and ends its own jobs and sees who is connected.

Nobody brings code (``byoc``), looks into a site's files (``shell_commands``), or restarts it (``operate``).
"""
