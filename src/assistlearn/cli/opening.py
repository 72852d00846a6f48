"""Open a run again, wherever its agents are."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistlearn.cli.progress import Asking
    from assistlearn.runs.folder import RunFolder
    from assistlearn.runs.leader import Leader
    from assistlearn.tables import LoadedAgent


def opened(folder: RunFolder, asking: Asking, timeout: float) -> AbstractContextManager[tuple[Leader, LoadedAgent]]:
    """Return the open run: its leader and the initiator's own agent."""
    if folder.settings().kits:
        from assistlearn.reach.flare import runs

        return runs.opened_run(folder, training=False, progress=asking.tell, tell=asking.say, watch=asking.watch)
    from assistlearn.reach.processes.opening import opened_run

    return opened_run(folder, training=False, timeout=timeout, progress=asking.tell)
