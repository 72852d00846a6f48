"""Locks on files where the system is Linux, macOS or another Unix. They end when the file is closed."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from typing import IO, Any


def wait_for(file: IO[Any] | int, *, alone: bool = True) -> None:
    """Lock a file, alone or together with others who share it. Wait until that is possible."""
    fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)


def take(file: IO[Any], *, alone: bool) -> bool:
    """Lock a file without waiting, and return whether that was possible.

    The system keeps these locks apart from those of :func:`wait_for`: for one file, use only one of the two.
    """
    try:
        fcntl.lockf(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise
    return True


def taken_alone(file: IO[Any]) -> bool:
    """Return whether another process has locked a file alone with :func:`take`; this locks nothing."""
    answer = fcntl.fcntl(file, fcntl.F_GETLK, record(sys.platform, fcntl.F_RDLCK))
    return kind_of(sys.platform, answer) != fcntl.F_UNLCK


def record(platform: str, kind: int) -> bytes:
    """Return the system's record of a lock on a whole file: its kind, from where, start and length, and whose it is."""
    if platform == "linux":
        return struct.pack("hhqqi", kind, os.SEEK_SET, 0, 0, 0)
    return struct.pack("qqihh", 0, 0, 0, kind, os.SEEK_SET)  # macOS and the BSDs put the kind last


def kind_of(platform: str, answer: bytes) -> int:
    """Return the kind of lock that a record holds.

    >>> [kind_of(platform, record(platform, 2)) for platform in ("linux", "darwin")]
    [2, 2]
    """
    kind: int = struct.unpack("hhqqi", answer)[0] if platform == "linux" else struct.unpack("qqihh", answer)[3]
    return kind
