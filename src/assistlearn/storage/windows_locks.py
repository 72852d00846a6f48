"""Locks on files where the system is Windows. They end when the file is closed.

Windows locks bytes, and keeps others from reading them. So a byte far behind the end of the file is locked. Its plain
locks cannot be shared: those who could share a file on other systems wait for each other here.
"""

from __future__ import annotations

import os
import time
from importlib import import_module
from typing import IO, Any

FAR = 1 << 40
"""The byte that is locked."""

PAUSE = 0.05
"""Seconds between two attempts."""


def wait_for(file: IO[Any] | int, *, alone: bool = True) -> None:
    """Lock a file, and wait until that is possible."""
    while not take(file, alone=alone):
        time.sleep(PAUSE)


def take(file: IO[Any] | int, *, alone: bool) -> bool:
    """Lock a file without waiting, and return whether that was possible."""
    return _lock(file, "LK_NBLCK")


def taken_alone(file: IO[Any]) -> bool:
    """Return whether another process has locked a file, by locking it for a moment."""
    if not _lock(file, "LK_NBLCK"):
        return True
    _lock(file, "LK_UNLCK")
    return False


def _lock(file: IO[Any] | int, how: str) -> bool:
    msvcrt: Any = import_module("msvcrt")  # exists on Windows only
    number = file if isinstance(file, int) else file.fileno()
    place = os.lseek(number, 0, os.SEEK_CUR)
    try:
        os.lseek(number, FAR, os.SEEK_SET)
        msvcrt.locking(number, getattr(msvcrt, how), 1)
    except PermissionError:  # another process has it
        return False
    finally:
        os.lseek(number, place, os.SEEK_SET)
    return True
