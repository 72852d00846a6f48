"""The digests of the files in a folder, kept beside them, to find a file that has changed since it was written.

They are in ``digests.txt``, in the form of ``sha256sum``, so that anybody can check them. A line is added before its
file is written. Where a file was written again, the last line counts, and the one before it: a crash may have come
between the line and the file. A file without a line is not read. The digests show what a disk, a copy or an old backup
has done to a file. They do not show a change on purpose: whoever changes a file can change its digest, too. But the
digests of messages are also in the agent's ledger, which is chained.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from assistlearn.storage.whole_files import appending, private_folder, write_bytes, writing
from assistlearn.errors import RunError

NAME = "digests.txt"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


class FileDigests:
    """Writes files of a folder with their digests, and reads them back if they have not changed.

    Parameters
    ----------
    folder : path
        The folder of the files; it need not exist yet.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     files, file = FileDigests(Path(name)), Path(name, "secret.json")
    ...     files.write({file: b"[1, 0]"})
    ...     print(files.read(file))
    ...     _ = file.write_bytes(b"[0, 1]")
    ...     files.read(file)
    Traceback (most recent call last):
        ...
    assistlearn.errors.RunError: ...secret.json is not what was written (6 bytes; ...
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, list[str]] = {}
        self._size = -1

    def write(self, files: Mapping[Path, bytes]) -> None:
        """Write files, each whole or not at all, in this order."""
        known = self._digests()
        fresh = {self._name(path): digest_of(content) for path, content in files.items()}
        lines = "".join(f"{digest}  {name}\n" for name, digest in fresh.items() if known.get(name, [])[-1:] != [digest])
        if lines:
            self._append(lines.encode())
        for path, content in files.items():
            write_bytes(path, content)

    def read(self, path: Path) -> bytes:
        """Return what a file holds; raise ``RunError`` if it is not what was written, or is gone."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise RunError(f"{path} is missing. {REMEDY}") from None
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error}. {REMEDY}") from None
        self.check(path, content)
        return content

    def check(self, path: Path, content: bytes) -> None:
        """Raise ``RunError`` if ``content`` is not what was written to a file."""
        said = self._digests().get(self._name(path))
        if said is None:
            raise RunError(
                f"{path} has no digest in {self._folder / NAME}: either that file lost a line, or this one was not "
                f"written by the run. {REMEDY}"
            )
        if digest_of(content) not in said[-2:]:
            raise RunError(
                f"{path} is not what was written ({len(content):,} bytes; its digest differs from that in {NAME}): it "
                f"was changed, cut off or damaged. {REMEDY}"
            )

    def noted(self, path: Path) -> bool:
        """Return whether a digest of this file is kept: it was written, or a crash came just before."""
        return self._name(path) in self._digests()

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def _digests(self) -> dict[str, list[str]]:
        """Return the digests of each file, the last one last; read again when another process has added some."""
        path = self._folder / NAME
        size = path.stat().st_size if path.exists() else 0
        if size != self._size:
            text = path.read_text(encoding="utf-8", errors="replace") if size else ""
            found = map(_LINE.fullmatch, text.split("\n")[:-1])  # without a last line that a crash cut short
            self._known = {}
            for line in filter(None, found):
                self._known.setdefault(line[2], []).append(line[1])
            self._size = size
        return self._known

    def _append(self, lines: bytes) -> None:
        path = self._folder / NAME
        with writing(path):
            private_folder(self._folder)
            with appending(path) as file:
                _drop_cut_line(file)
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        self._size = -1


def _drop_cut_line(file: BinaryIO) -> None:
    """Remove a last line that a crash cut short. Its file was not written: that comes after the line."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    if file.read(1) not in (b"\n", b""):
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


REMEDY = "Restore it from a backup, or start a new run."


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of a content in hexadecimal digits, as in ledgers."""
    return hashlib.sha256(content).hexdigest()
