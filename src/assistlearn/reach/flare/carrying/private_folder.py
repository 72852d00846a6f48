"""A command's private folder for its socket: with a short path, and removed by others if the command was killed.

The owner holds a lock in it. The kernel releases the lock when the process ends, for whatever reason. So a folder whose
lock is free has no owner any more.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from assistlearn.errors import NetworkError
from assistlearn.storage import writing

PREFIX = "assistlearn-"

LONGEST = 107
"""Bytes of the address of a Unix socket; Linux has room for 108, the last of which is a zero."""

YOUNG = 60.0
"""Seconds for which a folder without a lock is kept: its owner may be about to make the lock."""

_OURS = re.compile(PREFIX + r"[a-z0-9_]{8}")
_IN_IT = {"socket", "lock", "job"}


class PrivateFolder:
    """A fresh folder that only its user can enter.

    Attributes
    ----------
    path : path
        Where it is.
    """

    def __init__(self) -> None:
        self.path = _made()
        self._lock = (self.path / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @property
    def socket(self) -> Path:
        """Where the socket is."""
        return self.path / "socket"

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep_folders() -> None:
    """Remove private folders whose owners are gone."""
    for root in _roots():
        with suppress(OSError):
            for folder in root.iterdir():
                if _OURS.fullmatch(folder.name) and _is_left(folder):
                    shutil.rmtree(folder, ignore_errors=True)


def sweep_notes(notes: Path) -> None:
    """Remove notes that lead to sockets of commands which are gone."""
    with suppress(FileNotFoundError):
        for note in notes.iterdir():
            if re.fullmatch(r"[0-9a-f]{32}", note.name) and note.is_file():
                with suppress(OSError):
                    folder = Path(note.read_text(encoding="utf-8")).parent
                    if not folder.exists() or _is_left(folder):
                        note.unlink()


def _made() -> Path:
    too_long = []
    for root in _roots():
        length = len(os.fsencode(root)) + len("/assistlearn-12345678/socket")
        if length > LONGEST:
            too_long.append(f"{root}/{PREFIX}12345678/socket ({length} bytes)")
            continue
        try:
            return Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        except OSError as error:
            failed = error
    if len(too_long) < len(list(_roots())):
        with writing(Path(failed.filename)):
            raise failed
    raise NetworkError(
        f"The path of a socket may have at most {LONGEST} bytes, but here it would be {' or '.join(too_long)}. Name a "
        "folder with a shorter path that the site can see, too: TMPDIR=/tmp"
    )


def _roots() -> Iterator[Path]:
    """Yield where private folders may be: the first that is short enough, and can be written, is taken."""
    named = (tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp")  # noqa: S108  mkdtemp makes it private
    yield from dict.fromkeys(Path(os.path.abspath(root)) for root in named if root)


def _is_left(folder: Path) -> bool:
    """Return whether a private folder is this user's, and its owner is gone."""
    try:
        entry = folder.lstat()
        if entry.st_uid != os.getuid() or folder.is_symlink() or set(os.listdir(folder)) - _IN_IT:
            return False
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return folder.exists() and time.time() - entry.st_mtime > YOUNG
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
