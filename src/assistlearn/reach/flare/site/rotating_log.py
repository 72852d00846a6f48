"""Log files that do not grow for ever: a full one is put aside, the last few are kept, the oldest goes."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from io import FileIO
from pathlib import Path

LIMIT = 4 * 2**20
"""Bytes of one log file."""

KEPT = 3
"""How many full ones are kept."""


class RotatingLog:
    """A log of whole lines: ``site.log`` and, before it, ``site.log.1``, ``site.log.2`` and so on.

    Parameters
    ----------
    path : path
        The file that is written.
    limit : int
        Bytes that it may have.
    kept : int
        How many full ones are kept.
    """

    def __init__(self, path: Path, limit: int = LIMIT, kept: int = KEPT) -> None:
        self._path = path
        self._limit = limit
        self._kept = kept
        self._file: FileIO | None = None

    def write(self, line: bytes) -> None:
        """Append a line; where the disk does not take all of it, remove its beginning and raise ``OSError``."""
        file = self._file or self._opened()
        size = os.fstat(file.fileno()).st_size
        if size and size + len(line) > self._limit:
            file = self._begun_anew()
            size = 0
        try:
            left = memoryview(line)
            while left:
                left = left[file.write(left) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(file.fileno(), size)
            raise

    def close(self) -> None:
        """Close the file; writing opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> FileIO:
        self._file = FileIO(
            self._path, "a", opener=_private
        )  # not buffered: a buffer would write a refused line again later
        return self._file

    def _begun_anew(self) -> FileIO:
        self.close()
        for number in range(self._kept, 0, -1):
            older = self._path if number == 1 else _numbered(self._path, number - 1)
            with suppress(FileNotFoundError):
                os.replace(older, _numbered(self._path, number))
        if not self._kept:
            self._path.unlink(missing_ok=True)
        return self._opened()


def cut_back(path: Path, limit: int = LIMIT) -> None:
    """Empty a log that another process appends to, if it is too large; its content is kept as one older part.

    The file itself stays, so that the other process goes on at its beginning. Where the disk has no room for the older
    part, the content is lost.
    """
    with suppress(OSError):
        if path.stat().st_size > limit:
            try:
                shutil.copyfile(path, _numbered(path, 1))
            except OSError:
                _numbered(path, 1).unlink(missing_ok=True)
            os.truncate(path, 0)


def _numbered(path: Path, number: int) -> Path:
    """Return the name of an older part of a log.

    >>> _numbered(Path("kit/site.log"), 2).name
    'site.log.2'
    """
    return path.with_name(f"{path.name}.{number}")


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read, and follow no link to it."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
