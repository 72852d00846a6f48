"""Files that are written whole or not at all, digests that show whether one has changed since, and locks."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import DiskError, RunError

try:
    import fcntl
except ImportError:  # this is Windows
    fcntl = None  # type: ignore[assignment]

# Files: whole or not there, known by their digests, read while they grow, removed without following a link.

# A file is written aside, synced, then renamed. Whatever is written is for its owner alone: files have the mode 0600
# and new folders 0700, whatever the umask. Labels, models, rewards and ledgers are among it. Names of files that are
# written aside cannot be guessed, and links are not followed: another user of the machine cannot lead what is written
# somewhere else.

NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""How files are opened: not through a link, not for programs that are started, and byte by byte on Windows."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` in the block into a ``DiskError`` that names the file and what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise DiskError(
            f"{path} cannot be written: {why}. Make room on the disk of {path.parent} or correct its access rights; "
            "then go on: what was written before is whole."
        ) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically: a crash at any instant leaves the old content or the new, never half of it."""
    with writing(path):
        private_folder(path.parent)
        replace(path, content)


def replace(path: Path, content: bytes, *, lasting: bool = True) -> None:
    """Write a file atomically into a folder that is there; an error of the system is raised as it is.

    If ``lasting``, wait until the content would outlast a power cut.
    """
    number, fresh = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")  # 0600, not a link
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)  # half of it would only take room
        raise


def private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing; nobody but their owner can enter them.

    A folder that is there already keeps its rights.
    """
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def appending(path: Path) -> BinaryIO:
    """Open a file to read it and append to it; where it is not there yet, make one that only its owner can read."""
    try:
        number = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_LINK, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            error.strerror = "it is a link, which is not followed; put the file itself in its place"
        raise
    return os.fdopen(number, "a+b")


def write_json(path: Path, content: Any) -> None:
    write_bytes(path, json_bytes(content))


def json_bytes(content: Any) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def drop_cut_line(file: BinaryIO) -> None:
    """Remove a last line that a crash cut short, and go to the end of the file."""
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return
    file.seek(end - 1)
    if file.read(1) != b"\n":
        file.seek(0)
        file.truncate(file.read(end).rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)


def read_json(path: Path) -> dict[str, Any]:
    try:
        return json_of(path.read_bytes(), path)
    except FileNotFoundError:
        raise RunError(f"{path} is missing.") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}. Restore it from a backup.") from error


def json_of(content: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except ValueError as error:
        raise RunError(f"{path} is not readable as JSON ({error}). It was changed or damaged.") from None
    if not isinstance(value, dict):
        raise RunError(f"{path} holds no JSON object, but {type(value).__name__}. It was changed or damaged.")
    return value


def array_bytes(values: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def array_of(content: bytes, path: Path) -> NDArray[Any]:
    """Return the array that a file of this content holds; nothing in it is executed."""
    try:
        values: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise RunError(f"{path} is not a numpy array ({error}). It was changed or damaged.") from None
    return values


# The digests of the files in a folder, kept beside them, to find a file that has changed since it was written.
#
# They are in ``digests.txt``, in the form of ``sha256sum``, so that anybody can check them. A line is added before its
# file is written. Where a file was written again, the last line counts, and the one before it: a crash may have come
# between the line and the file. A file without a line is not read. The digests show what a disk, a copy or an old
# backup has done to a file. They do not show a change on purpose: whoever changes a file can change its digest, too.
# But the digests of messages are also in the agent's ledger, which is chained.


REMEDY = "Restore it from a backup, or start a new run."

DIGESTS = "digests.txt"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class FileDigests:
    """Writes files of a folder with their digests, and reads them back if they have not changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, list[str]] = {}
        self._size = -1

    def write(self, files: Mapping[Path, bytes]) -> None:
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
        known = self._digests().get(self._name(path))
        if known is None:
            raise RunError(
                f"{path} has no digest in {self._folder / DIGESTS}: either that file lost a line, or this one was not "
                f"written by the run. {REMEDY}"
            )
        if digest_of(content) not in known[-2:]:
            raise RunError(
                f"{path} is not what was written ({len(content):,} bytes; its digest differs from that in {DIGESTS}): "
                f"it was changed, cut off or damaged. {REMEDY}"
            )

    def noted(self, path: Path) -> bool:
        """Return whether a digest of this file is kept: it was written, or a crash came just before."""
        return self._name(path) in self._digests()

    def _name(self, path: Path) -> str:
        return path.relative_to(self._folder).as_posix()

    def _digests(self) -> dict[str, list[str]]:
        """Return the digests of each file, the last one last; read again when another process has added some."""
        path = self._folder / DIGESTS
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
        path = self._folder / DIGESTS
        with writing(path):
            private_folder(self._folder)
            with appending(path) as file:
                drop_cut_line(file)  # its file was not written: that comes after the line
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
        self._size = -1


# A file of lines that others append to. A last line without a line end is not read: it is being written, or a crash cut
# it short and the next line takes its place.

PIECE = 1_000_000
"""Bytes that are read at a time, so that a long file needs no more memory than a short one."""

BEGINNING = 256
"""How many bytes at the start are compared, to notice that another file has replaced the one that was read."""


class GrowingFile:
    r"""Reads a file of lines while others append to it, each time from where the last reading ended.

    ``number`` counts the lines that were read, and ``place`` is the byte after the last of them. ``generation`` is how
    often another file has taken the place of the one that was read: then reading begins anew. The file may be
    ``missing``.
    """

    def __init__(self, path: Path, piece: int = PIECE) -> None:
        self.path = path
        self.place = self.number = self.generation = 0
        self.missing = False
        self._piece = piece
        self._beginning = b""

    def lines(self) -> list[tuple[int, bytes]]:
        try:
            with self.path.open("rb") as file:
                self.missing = False
                if file.read(len(self._beginning)) != self._beginning:
                    self._begin_anew()
                return self._whole_lines(file)
        except FileNotFoundError:
            self.missing = True
            return []

    def _begin_anew(self) -> None:
        self.place = self.number = 0
        self.generation += 1
        self._beginning = b""

    def _whole_lines(self, file: BinaryIO) -> list[tuple[int, bytes]]:
        size = file.seek(0, 2)
        if size < self.place:
            self._begin_anew()
        file.seek(self.place)
        content = file.read(self._piece)
        while b"\n" not in content and (more := file.read(self._piece)):
            content += more
        whole = content[: content.rfind(b"\n") + 1]
        if self.place < BEGINNING:
            file.seek(0)
            self._beginning = file.read(min(BEGINNING, self.place + len(whole)))
        found = []
        for line in whole[:-1].split(b"\n") if whole else ():
            self.place += len(line) + 1
            found.append((self.place, line))
        self.number += len(found)
        return found


def remove_tree(path: Path) -> str | None:
    """Remove a file, a folder with all that is in it, or a link; return what is left behind, in words, or None.

    What a link points to is never touched: it may be anywhere, and others may need it.
    """
    try:
        if path.is_symlink():
            target = os.readlink(path)
            path.unlink()
            return f"{path} was a link. It is removed; what it points to, {target}, is not: remove that by hand."
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        return f"{path} cannot be removed: {error.strerror or error}. Remove it by hand."
    return None


# Locks on files, by which processes wait for each other. A lock ends with the process, however that ends.

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
