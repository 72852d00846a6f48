"""The kinds of processes that FLARE has, and how each is started."""

from __future__ import annotations

import sys
from typing import Literal, TypeAlias

Process: TypeAlias = Literal["site", "job", "relay", "relay-job"]
"""A site's parent; its process in a job; the relay; the relay's process in a job."""

MODULE = "assistlearn.reach.flare.guard.behind_guard"
"""The module that is started for each of them."""


def command(process: Process) -> list[str]:
    """Return the command that starts a process, without its arguments. It imports nothing from the folder it starts in.

    >>> command("job")[1:]
    ['-u', '-P', '-m', 'assistlearn.reach.flare.guard.behind_guard', 'job']
    """
    return [sys.executable, "-u", "-P", "-m", MODULE, process]
