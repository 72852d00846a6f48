"""Locks on files, by which processes wait for each other. A lock ends with the process, however that ends."""

from __future__ import annotations

import errno
import os
import struct
import sys
import time
from importlib import import_module
from typing import IO, Any

try:
    import fcntl
except ImportError:  # this is Windows
    fcntl = None  # type: ignore[assignment]

# Windows locks bytes, and keeps others from reading them. So a byte far behind the end of the file is locked there. Its
# plain locks cannot be shared: those who could share a file on other systems wait for each other.
FAR_BYTE = 1 << 40
PAUSE = 0.05


def wait_for(file: IO[Any] | int, *, alone: bool = True) -> None:
    """Lock a file, alone or together with others who share it. Wait until that is possible."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        return
    while not _lock_byte(file, "LK_NBLCK"):
        time.sleep(PAUSE)


def take(file: IO[Any], *, alone: bool) -> bool:
    """Lock a file without waiting, and return whether that was possible.

    Unix keeps these locks apart from those of :func:`wait_for`: for one file, use only one of the two.
    """
    if fcntl is None:
        return _lock_byte(file, "LK_NBLCK")
    try:
        fcntl.lockf(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise
    return True


def taken_alone(file: IO[Any]) -> bool:
    """Return whether another process has locked a file alone with :func:`take`; no lock stays."""
    if fcntl is not None:
        answer = fcntl.fcntl(file, fcntl.F_GETLK, lock_record(sys.platform, fcntl.F_RDLCK))
        return kind_of_lock(sys.platform, answer) != fcntl.F_UNLCK
    if not _lock_byte(file, "LK_NBLCK"):
        return True
    _lock_byte(file, "LK_UNLCK")
    return False


def lock_record(platform: str, kind: int) -> bytes:
    """Return Unix's record of a lock on a whole file: its kind, from where, start and length, and whose it is."""
    if platform == "linux":
        return struct.pack("hhqqi", kind, os.SEEK_SET, 0, 0, 0)
    return struct.pack("qqihh", 0, 0, 0, kind, os.SEEK_SET)  # macOS and the BSDs put the kind last


def kind_of_lock(platform: str, record: bytes) -> int:
    """Return the kind of lock that a record holds.

    >>> [kind_of_lock(platform, lock_record(platform, 2)) for platform in ("linux", "darwin")]
    [2, 2]
    """
    kind: int = struct.unpack("hhqqi", record)[0] if platform == "linux" else struct.unpack("qqihh", record)[3]
    return kind


def _lock_byte(file: IO[Any] | int, how: str) -> bool:
    msvcrt: Any = import_module("msvcrt")  # exists on Windows only
    number = file if isinstance(file, int) else file.fileno()
    place = os.lseek(number, 0, os.SEEK_CUR)
    try:
        os.lseek(number, FAR_BYTE, os.SEEK_SET)
        msvcrt.locking(number, getattr(msvcrt, how), 1)
    except PermissionError:  # another process has it
        return False
    finally:
        os.lseek(number, place, os.SEEK_SET)
    return True
