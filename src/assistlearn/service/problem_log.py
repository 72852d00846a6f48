"""An agent's ``problems.log``: what went wrong there, for its owner alone, in two files of bounded size."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from assistlearn.storage import appending

LARGEST_LOG = 1_000_000
"""When ``problems.log`` has more bytes than this, it is renamed ``problems.log.1``, and a new file begins."""


def note_problem(home: Path, text: str) -> None:
    """Write something to the log in an agent's home; where that is not possible, the request is answered all the same.

    Others decide how often an agent fails. So the log is bounded: the oldest problems are dropped.
    """
    path = home / "problems.log"
    with suppress(OSError):
        if path.exists() and path.stat().st_size > LARGEST_LOG:
            os.replace(path, path.with_name("problems.log.1"))
        with appending(path) as file:
            file.write(text.encode(errors="backslashreplace")[:LARGEST_LOG] + b"\n")
