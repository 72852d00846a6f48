"""The lock of a run's folder: a command that trains or forgets has the folder alone; commands that predict share it.

The lock is the operating system's, on the file ``lock`` in the folder. It ends with the process that has it, however
that ends. The file names that process, for error messages. It stays behind, and means nothing by itself.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from assistlearn.errors import RunError
from assistlearn.storage import appending
from assistlearn.storage.file_locks import take, taken_alone

NAME = "lock"


@contextmanager
def locked(folder: Path, *, alone: bool) -> Iterator[None]:
    """Lock a folder, which must exist, during a ``with`` block; raise ``RunError`` if another process has it.

    Parameters
    ----------
    folder : path
        The folder of a run.
    alone : bool
        Whether no other process may use it meanwhile; otherwise others may share it.
    """
    try:
        file = io.TextIOWrapper(appending(folder / NAME), encoding="utf-8", write_through=True)
    except OSError:
        if alone:
            raise
        yield  # where nobody may write, nobody trains
        return
    with file:
        if not take(file, alone=alone):
            raise RunError(
                f"{folder} is in use by {_holder(file)}. Two commands at once would spoil the run: wait until that one "
                "has ended, or stop it; then type this one again."
            )
        if alone:
            file.truncate(0)
        file.write(f"{os.getpid()} {_command()}\n")
        file.flush()
        yield


def somebody_works(folder: Path) -> bool:
    """Return whether another process has a folder alone, as training does; this locks nothing."""
    try:
        with (folder / NAME).open("rb") as file:
            return taken_alone(file)
    except OSError:  # there is no lock, or it may not be looked at
        return False


def _command() -> str:
    """Return the command of this program that runs, such as ``train``."""
    return sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].isalpha() else "python"


def _holder(file: TextIO) -> str:
    """Return who has the lock: the last process in the file that is still running."""
    file.seek(0)
    for line in reversed(file.read().splitlines()):
        pid, _, command = line.partition(" ")
        if pid.isdecimal() and _lives(int(pid)):
            return f"another command (assistlearn {command}, process {pid})"
    return "another process"


def _lives(pid: int) -> bool:
    if os.name == "nt":  # there, os.kill would interrupt the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
