"""Starts a process of FLARE: ``python -P -m assistlearn.reach.flare.guard.behind_guard site -m KIT``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, cast

from assistlearn.reach.flare.guard.installing import install
from assistlearn.reach.flare.guard.orphans import end_with_parent
from assistlearn.reach.flare.guard.processes import Process

MODULES = {
    "site": "nvflare.private.fed.app.client.client_train",
    "job": "nvflare.private.fed.app.client.worker_process",
    "relay": "nvflare.private.fed.app.server.server_train",
    "relay-job": "nvflare.private.fed.app.server.runner_process",
}
"""FLARE's own program for each kind of process."""


def main() -> int:
    """Run FLARE's program for the kind of process that the first argument names, behind the guard."""
    process = sys.argv.pop(1)
    end_with_parent()
    flare: Any = importlib.import_module(MODULES[process])
    arguments = flare.parse_arguments()
    install(cast(Process, process), Path(arguments.workspace))
    folder = Path(arguments.workspace, getattr(arguments, "job_id", None) or "")
    return int(flare.mpm.run(main_func=flare.main, run_dir=str(folder), args=arguments) or 0)


if __name__ == "__main__":
    sys.exit(main())
