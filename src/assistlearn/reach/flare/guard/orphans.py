"""A job's process does not outlive the process that started it.

FLARE starts jobs in a session of their own. Where a site or the relay is killed, nobody is left who would end them, and
they would try to reach it for ever.
"""

from __future__ import annotations

import os
import threading
import time

LOOK = 2.0
"""Seconds between two looks."""


def end_with_parent() -> None:
    """Make this process end when its parent has ended, even during work; an agent's work can be repeated."""
    threading.Thread(target=_watch, args=(os.getppid(),), name="orphans", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)
