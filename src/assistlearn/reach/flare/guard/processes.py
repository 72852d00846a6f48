"""The kinds of processes that FLARE has, and how each is started."""

from __future__ import annotations

import sys
from typing import Literal, TypeAlias

Process: TypeAlias = Literal["site", "job", "relay", "relay-job"]
"""A site's parent; its process in a job; the relay; the relay's process in a job."""

MODULE = "assistlearn.reach.flare.guard.behind_guard"
"""What is started for every one of them."""


def command(process: Process) -> list[str]:
    """Return how a process is started; its own arguments follow. Nothing is imported from the folder it is started in.

    >>> command("job")[1:]
    ['-u', '-P', '-m', 'assistlearn.reach.flare.guard.behind_guard', 'job']
    """
    return [sys.executable, "-u", "-P", "-m", MODULE, process]
