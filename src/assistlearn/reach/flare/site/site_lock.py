"""A kit is used by one site at a time: two with the same name would take each other's messages."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.storage import writing

PATIENCE = 1.0
"""Seconds to try: ``site status`` holds the lock for a moment, to see whether a site holds it."""


class SiteLock:
    """Locks a kit while the block runs. The kernel releases the lock when the process ends, for whatever reason.

    Parameters
    ----------
    kit : Kit
        The kit of a site or of the relay.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._file = -1

    def __enter__(self) -> Self:
        path = lock_file(self._kit.folder)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + PATIENCE
        while not _locked(self._file):
            if time.monotonic() > until:
                os.close(self._file)
                raise NetworkError(
                    f"{self._kit.name!r} is already running with this kit, as process {_pid(path) or 'unknown'}. Look "
                    f"at its state: 'assistlearn site status {self._kit.folder}'. To start it again, stop that "
                    "process first."
                )
            time.sleep(0.05)
        with writing(path):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)


def holder(folder: Path) -> int | None:
    """Return the process that runs a kit; None where none does, 0 where its number is not known."""
    try:
        file = os.open(lock_file(folder), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return None if _locked(file) else _pid(lock_file(folder))
    finally:
        os.close(file)


def lock_file(folder: Path) -> Path:
    """Return the file that is locked while a kit is in use."""
    return folder / "site.lock"


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pid(path: Path) -> int:
    said = path.read_text(encoding="ascii", errors="replace").strip()
    return int(said) if said.isdecimal() else 0
